#pragma once
/// Reads FASTA and FASTQ from any source of bytes into batches.

#include <memory>
#include <string>

#include "io/byte_source.h"
#include "io/record_parser.h"
#include "io/record_reader.h"

namespace warpmer::io {

/// Reads straight into the batch's text and parses it there; only the record that a batch ends in the
/// middle of is copied to the next one. A record that fits a batch is one piece. A FASTA sequence that
/// does not fit is handed over in pieces, unless whole records are wanted; for a FASTQ record that does not,
/// the batch grows, because its quality has to be seen before its bases can be trusted.
class TextReader final : public RecordReader {
 public:
  TextReader(std::unique_ptr<ByteSource> source, const std::string& file, const InputOptions& options);

  bool fill(Batch& batch) override;
  [[nodiscard]] std::uint64_t records() const noexcept override { return parser_.records(); }
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override { return source_->disk_bytes(); }

  /// Capacity of a batch's text for these options.
  static std::size_t batch_capacity(const InputOptions& options);

 private:
  void begin(Batch& batch);
  bool make_room(Batch& batch);
  void grow(Batch& batch);
  void read_more(Batch& batch);
  void keep_rest();

  std::unique_ptr<ByteSource> source_;
  std::string file_;
  std::size_t capacity_;
  std::size_t overlap_bases_;
  bool whole_records_;
  RecordParser parser_;
  Window window_;        ///< the current batch's text; between batches, what of `carried_` is parsed already
  std::string carried_;  ///< what the last batch leaves for the next
};

}  // namespace warpmer::io
