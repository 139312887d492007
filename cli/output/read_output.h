#pragma once
/// Where reads are written to: text or BAM, compressed or not, whichever the reads are and the user wants.

#include <memory>
#include <string>
#include <string_view>

#include "file/buffered_output.h"
#include "formats/ending.h"
#include "io/compress/bgzf_writer.h"
#include "io/text/batch.h"

namespace warpmer::cli {

/// What is written of a read.
struct KeptBases {
  std::string_view bases;  ///< perhaps masked
  std::size_t first = 0;   ///< position in the read of the first one
  bool is_whole = true;    ///< all of the read's bases, as they were
};

/// Appends a read in the form it came in: FASTQ as four lines with a bare '+', FASTA with its sequence in
/// one line, both with their whole header; an alignment as BAM. InputError for one whose tags are damaged,
/// when it is changed.
void append_read(const io::Batch& batch, const io::Piece& piece, const KeptBases& kept, std::string& to);

struct ReadOutputOptions {
  bool names_only = false;
  bool bgzf = false;  ///< even where the name does not end in .gz
  int compression_level = io::kDefaultCompressionLevel;
};

/// UsageError when the output's name ends as nothing does that could be written of reads or, with
/// `names_only`, of their names.
void check_read_output(const std::string& path, const ReadOutputOptions& options);

/// Reads of one batch on their way into an output.
struct ReadBlock {
  std::string bytes;                                     ///< packed
  std::string file;                                      ///< that they come from
  std::shared_ptr<const std::string> bam_header;         ///< null unless it has alignments
  formats::Content content = formats::Content::unknown;  ///< FASTA, FASTQ or BAM; unknown without any read
};

/// A file of reads, or of their names.
class ReadOutput {
 public:
  /// "-" is standard output.
  ReadOutput(const std::string& path, const ReadOutputOptions& options);

  /// Turns text, or BAM records, into the bytes to write: by any thread.
  [[nodiscard]] std::string pack(std::string&& reads, bool are_alignments) const;
  /// One after the other, in order; `so_far` is the share of all reads that is there with these. The first
  /// says what kind of reads these are. UsageError when the output's name says another kind or a terminal
  /// would get binary data; InputError when files of several kinds, or alignments with several headers, would
  /// be mixed.
  void write(const ReadBlock& block, const Share& so_far);
  /// As BufferedOutput has them.
  void complete();
  void finish() { output_.finish(); }

 private:
  void begin(const ReadBlock& block);
  void check_content(const ReadBlock& block) const;
  [[nodiscard]] bool is_bam(bool are_alignments) const { return are_alignments && !options_.names_only; }
  [[nodiscard]] bool is_compressed(bool are_alignments) const {
    return options_.bgzf || is_bam(are_alignments);
  }

  std::string path_;
  formats::Content named_;  ///< by the path
  ReadOutputOptions options_;
  file::BufferedOutput output_;
  bool is_begun_ = false;
  std::string first_file_;
  std::shared_ptr<const std::string> bam_header_;
};

}  // namespace warpmer::cli
