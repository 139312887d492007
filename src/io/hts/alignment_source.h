#pragma once
/// A source of alignments: a file of BAM, CRAM or SAM, record by record.

#include <htslib/sam.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "file/byte_file.h"
#include "io/text/input_options.h"

namespace warpmer::io {

/// Records of any kind, as they are in the file. A record that is longer than may be is refused before there
/// is room made for it; of CRAM, a slice that has such records.
class AlignmentSource {
 public:
  virtual ~AlignmentSource() = default;
  AlignmentSource(const AlignmentSource&) = delete;
  AlignmentSource& operator=(const AlignmentSource&) = delete;

  /// Returns what precedes the records in a BAM file, with a line for `program`. To be called before the
  /// first `next`, and only if alignments are kept.
  [[nodiscard]] virtual std::string bam_header(const ProgramLine& program) = 0;
  /// Replaces `record` by the next one, of which, unless alignments are kept, only what reads have is valid:
  /// name, flag, bases and qualities. False at the end of the file, if that is as its format demands.
  bool next(bam1_t& record);

  /// Records read so far.
  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }
  [[nodiscard]] virtual std::uint64_t disk_bytes() const noexcept = 0;
  /// Returns the name of the file for messages.
  [[nodiscard]] const std::string& shown() const noexcept { return shown_; }

 protected:
  /// `format`: the name of the file's.
  AlignmentSource(const file::ByteFile& file, std::string_view format, const InputOptions& options);

  virtual bool read(bam1_t& record) = 0;
  /// Throws the InputError for what is wrong with the next record.
  [[noreturn]] void fail(std::string_view what) const;
  /// Throws if a record of so many bytes is not to be kept whole.
  void check_size(std::uint64_t bytes) const;
  /// The error for one of which only is known that it has more.
  [[noreturn]] void refuse_long() const;

  [[nodiscard]] std::size_t longest_record() const noexcept { return longest_record_; }

  static constexpr std::string_view kUndecodable =
      "the next record cannot be decoded: the file is damaged or truncated; copy or download it again";
  static constexpr std::string_view kDamagedHeader =
      "lines of its header are damaged; get the file again from where it was made";

 private:
  std::string shown_;
  std::string_view format_;
  std::size_t longest_record_;
  std::uint64_t records_ = 0;
};

}  // namespace warpmer::io
