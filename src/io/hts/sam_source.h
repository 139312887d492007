#pragma once
/// SAM (SAMv1, section 1): lines of text.

#include <array>
#include <memory>
#include <span>

#include "io/hts/alignment_source.h"
#include "io/hts/bam_encoding.h"
#include "io/text/batch.h"

namespace warpmer::io {

/// Reads lines itself, because htslib makes room for as long a line as comes, and with threads for many. It
/// has htslib make the records of alignments that are kept; of others it takes the columns that a read has.
class SamSource final : public AlignmentSource {
 public:
  SamSource(std::unique_ptr<file::ByteFile> file, const InputOptions& options);

  [[nodiscard]] std::string bam_header(const ProgramLine& program) override;
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override { return file_->disk_bytes(); }

 private:
  static constexpr std::size_t kColumns = 11;  ///< number of columns that every record has
  using Columns = std::array<std::span<char>, kColumns>;

  bool read(bam1_t& record) override;
  void read_header(std::string* text);
  void parse_whole(std::span<char> line, bam1_t& record);
  void parse_read(std::span<char> line, bam1_t& record);
  [[nodiscard]] Columns split(std::span<char> line) const;
  std::span<char> take_bases(std::span<char> column) const;
  [[nodiscard]] std::uint16_t flag_in(std::span<const char> column) const;
  void take_quality(std::span<char> quality, std::size_t bases) const;
  bool find_line();
  bool read_more();
  std::span<char> take_line();

  const bool is_lenient_;  ///< what is no base is an N
  std::unique_ptr<file::ByteFile> file_;
  PaddedText text_;             ///< read, and not parsed from `begin_` on
  std::size_t begin_ = 0;       ///< begin of the next line
  std::size_t line_bytes_ = 0;  ///< bytes of it, once it was found, without its end
  bool is_at_end_ = false;
  bool is_at_records_ = false;                           ///< behind the header
  std::unique_ptr<sam_hdr_t, DestroyBamHeader> header_;  ///< null unless alignments are kept
};

}  // namespace warpmer::io
