#pragma once
/// The output for reads: text or BAM, compressed or not, as the reads are and as the user wants.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "file/output/buffered_output.h"
#include "formats/text/ending.h"
#include "io/text/batch.h"

namespace warpmer::cli {

/// The part of a read that is written.
struct KeptBases {
  std::string_view bases;  ///< the bases, perhaps masked
  std::size_t first = 0;   ///< position in the read of the first one
  bool is_whole = true;    ///< all of the read's bases, as they were
};

/// Appends a read in its input's form: FASTQ as four lines with a bare '+', FASTA with its sequence in one
/// line, both with their whole header; an alignment as BAM. Throws an InputError for an alignment with
/// damaged tags, when it is changed.
void append_read(const io::Batch& batch, const io::Piece& piece, const KeptBases& kept, std::string& to);

struct ReadOutputOptions {
  bool names_only = false;
  bool bgzf = false;  ///< even if the name does not end in .gz
  std::optional<int> compression_level;
};

/// Throws a UsageError when the output's name has no ending of a format in which reads or, with `names_only`,
/// their names can be written.
void check_read_output(const std::string& path, const ReadOutputOptions& options);

/// Reads of one batch on their way into an output.
struct ReadBlock {
  std::string bytes;                                     ///< packed
  std::string file;                                      ///< file that they come from
  std::shared_ptr<const std::string> bam_header;         ///< null unless it has alignments
  formats::Content content = formats::Content::unknown;  ///< FASTA, FASTQ or BAM; unknown without any read
};

/// A file of reads, or of their names.
class ReadOutput {
 public:
  /// "-" is standard output.
  ReadOutput(const std::string& path, const ReadOutputOptions& options);

  /// True when text is compressed. Then the bytes written depend on which reads come together.
  [[nodiscard]] bool is_compressed() const { return options_.bgzf; }
  /// Turns text, or BAM records, into the bytes to write. UsageError where these have a level of compression,
  /// and are not compressed. Any thread may call it.
  [[nodiscard]] std::string pack(std::string&& reads, bool are_alignments) const;
  /// Writes blocks one after the other, in order; `so_far` is the share of all reads that is there with this
  /// one. The first block decides the kind of reads. Throws a UsageError when the output's name says another
  /// kind, or a terminal would get binary data, and an InputError when files of several kinds, or alignments
  /// with several headers, would be mixed.
  void write(const ReadBlock& block, const Progress& so_far);
  /// These are as in BufferedOutput.
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
  formats::Content named_;  ///< content that the path names
  ReadOutputOptions options_;
  file::BufferedOutput output_;
  bool is_begun_ = false;
  std::string first_file_;
  std::shared_ptr<const std::string> bam_header_;
};

}  // namespace warpmer::cli
