#pragma once
/// One open input, whatever its format: fills batches with its records, in order.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "io/text/batch.h"

namespace warpmer::io {

/// The part of a shared input that the batches of one of its readers account for.
struct ReaderShare {
  std::uint64_t records = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t batch = 0;  ///< number of the last one among all batches of the input, from 0
};

/// Used by one thread at a time.
class RecordReader {
 public:
  RecordReader() = default;
  virtual ~RecordReader() = default;
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  /// Replaces the batch's text and pieces by the next ones; false at the end, and then there are none.
  /// If alignments are kept and there are none, one batch without pieces has the header.
  virtual bool fill(Batch& batch) = 0;
  /// Records handed over so far, empty ones included.
  [[nodiscard]] virtual std::uint64_t records() const noexcept = 0;
  /// Returns the bytes of the file on disk that they account for.
  [[nodiscard]] virtual std::uint64_t disk_bytes() const noexcept = 0;
  /// Returns, for readers that share an input, the number of the batch that was filled last, among all
  /// batches of the input, from 0. Other readers fill batches in order.
  [[nodiscard]] virtual std::optional<std::uint64_t> batch_number() const { return std::nullopt; }
  /// Returns the text that messages add to the file's name, where records are not counted from its beginning.
  [[nodiscard]] virtual std::string place() const { return {}; }
  /// Returns one for another thread, which shares the input with this one; null if that cannot be.
  [[nodiscard]] virtual std::unique_ptr<RecordReader> another() const { return nullptr; }
};

/// One thread's share of an input that several threads read: `Input` fills batches for any of them at once,
/// and says what each accounts for (`SharedStreamReader`, `RawTextReader`).
template <class Input>
class SharedReader final : public RecordReader {
 public:
  explicit SharedReader(std::shared_ptr<Input> input) : input_(std::move(input)) {}

  bool fill(Batch& batch) override { return input_->fill(batch, share_); }
  [[nodiscard]] std::uint64_t records() const noexcept override { return share_.records; }
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override { return share_.disk_bytes; }
  [[nodiscard]] std::optional<std::uint64_t> batch_number() const override { return share_.batch; }

  [[nodiscard]] std::unique_ptr<RecordReader> another() const override {
    return std::make_unique<SharedReader>(input_);
  }

 private:
  std::shared_ptr<Input> input_;
  ReaderShare share_;
};

}  // namespace warpmer::io
