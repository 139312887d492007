#pragma once
/// Headers and records, as htslib has them, as the bytes of a BAM file (SAMv1, section 4.2).

#include <htslib/sam.h>

#include <optional>
#include <string>

#include "io/text/batch.h"
#include "io/text/input_options.h"

namespace warpmer::io {

/// Frees a header that htslib made.
struct DestroyBamHeader {
  void operator()(sam_hdr_t* header) const { sam_hdr_destroy(header); }
};

/// Returns everything that precedes the records: the header's text, with a @PG line for `program` that goes
/// on from the last one, and the references. ResourceError when htslib has no memory; nothing when the text
/// is damaged, so that no line can be added.
std::optional<std::string> encode_bam_header(const sam_hdr_t& header, const ProgramLine& program);
/// Does the same for the header of a BAM file, which has its references beside the `text`; these stay as they
/// are.
std::optional<std::string> encode_bam_header(std::string text, std::string_view references,
                                             const ProgramLine& program);

/// Appends the record, its size first.
void append_bam_record(const bam1_t& record, PaddedText& to);

}  // namespace warpmer::io
