#pragma once
/// Reads FASTA and FASTQ from any source of bytes into batches.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "file/byte_source.h"
#include "io/fastx/record_parser.h"
#include "io/fastx/record_reader.h"

namespace warpmer::io {

/// Text in a batch, some records of which were parsed before it was known that they begin there.
struct SpeculativeParse {
  std::size_t begin = 0;      ///< begin of the text, in the batch's
  std::size_t first = 0;      ///< begin of the records, behind it
  std::uint64_t records = 0;  ///< number of records which the batch has pieces of
  std::uint64_t lines = 0;    ///< in them
  std::string_view unparsed;  ///< the text behind them, as it was read
};

/// Reads straight into the batch's text and parses it there; only the record that a batch ends in the
/// middle of is copied to the next one. A record that fits a batch is one piece. A FASTA sequence that
/// does not fit is handed over in pieces, unless whole records are wanted; for a FASTQ record that does not,
/// the batch grows, because its quality has to be seen before its bases can be trusted.
class TextReader final : public RecordReader {
 public:
  TextReader(std::unique_ptr<file::ByteSource> source, const std::string& file, const InputOptions& options);

  /// False, too, if the source is interrupted before a piece is found; what there is is kept. A record that
  /// began before may be found only when as much again has come, or all.
  bool fill(Batch& batch) override;
  /// Instead of reading `ahead`, which comes next, goes on behind it, if what is left of the text before and
  /// what is in front of the first record are whole records: then puts the former in front of the text, gives
  /// the pieces of these records to `joined`, and returns how many records are before those ahead. If not,
  /// nothing has happened but to the batch.
  std::optional<std::uint64_t> adopt(const SpeculativeParse& ahead, Batch& batch, std::vector<Piece>& joined);
  /// Returns the bytes that the last batch has left for the next.
  [[nodiscard]] std::size_t bytes_left() const noexcept { return carried_.size(); }
  [[nodiscard]] std::uint64_t records() const noexcept override { return parser_.records(); }
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override { return source_->disk_bytes(); }

  /// Returns the capacity of a batch's text for these options.
  static std::size_t batch_capacity(const InputOptions& options);
  /// A record of more bytes than this ends the reading; one of more than kLongestRecord, because it is
  /// damage.
  static std::size_t longest_record(const InputOptions& options);
  /// A record whose text is longer is no sequencing read, but damage that would eat all memory, or a sequence
  /// that is not to be kept whole (a chromosome of 250 million bases is a quarter of it).
  static constexpr std::size_t kLongestRecord = std::size_t{1} << 30;

 private:
  void begin(Batch& batch);
  void look(Batch& batch);
  void interrupt(Batch& batch);
  bool make_room(Batch& batch);
  void grow(Batch& batch);
  [[noreturn]] void refuse_record() const;
  bool read_more(Batch& batch);
  void keep_rest();

  std::unique_ptr<file::ByteSource> source_;
  std::string file_;
  std::size_t capacity_;
  std::size_t overlap_bases_;
  std::size_t longest_record_;  ///< length from which on a text is an error
  bool whole_records_;
  RecordParser parser_;
  Window window_;  ///< the current batch's text; between batches, what of `carried_` is parsed already
  std::size_t looked_at_ = 0;  ///< bytes of the record that the last look found no end of
  std::string carried_;        ///< text that the last batch leaves for the next
  bool is_interrupted_ = false;
  PaddedText interrupted_;  ///< the text of the batch that is to go on
};

}  // namespace warpmer::io
