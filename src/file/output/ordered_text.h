#pragma once
/// Text that several threads make, written in order.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "base/buffer_pool.h"
#include "base/ordered_stage.h"
#include "file/output/buffered_output.h"

namespace warpmer::file {

/// Text that grows at its end; its memory is not initialised and never given back.
class TextBuffer {
 public:
  /// Returns room for `bytes` more bytes; what is written there is taken in by `commit`.
  [[nodiscard]] char* reserve(std::size_t bytes) {
    if (bytes > capacity_ - size_) grow(size_ + bytes);
    return data_.get() + size_;
  }
  /// Says up to where the room is used.
  void commit(const char* end) noexcept { size_ = static_cast<std::size_t>(end - data_.get()); }
  void append(std::string_view text) {
    if (text.empty()) return;  // neither side need be anywhere
    std::memcpy(reserve(text.size()), text.data(), text.size());
    size_ += text.size();
  }

  /// The text stands for so many more of what the job consists of: k-mers, bytes of input.
  void add_done(std::uint64_t parts) noexcept { done_ += parts; }
  /// Returns how many these are; then there are none.
  [[nodiscard]] std::uint64_t take_done() noexcept { return std::exchange(done_, 0); }

  [[nodiscard]] std::string_view text() const noexcept { return {data_.get(), size_}; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  void clear() noexcept { size_ = 0; }

 private:
  void grow(std::size_t wanted) {
    const std::size_t capacity = std::max(wanted, 2 * capacity_);
    auto larger = std::make_unique_for_overwrite<char[]>(capacity);
    if (size_ > 0) std::memcpy(larger.get(), data_.get(), size_);
    data_ = std::move(larger);
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::uint64_t done_ = 0;
};

/// Takes texts 0, 1, 2, ... from any thread and writes them in order.
class OrderedText {
 public:
  /// A text in the making; its memory is used again.
  using Buffer = BufferPool<TextBuffer>::Lease;
  /// A text that is about to be longer is handed over in parts.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;

  /// `so_far`: with this text.
  using Write = std::function<void(std::string_view text, const Progress& so_far)>;
  /// Replaces a text by what is to be written for it.
  using Encode = std::function<void(TextBuffer&)>;

  /// `total` is what all texts stand for together (TextBuffer::add_done), 0 if that is not known. `write` is
  /// called by one thread at a time; `encode`, if there is one, by each that has a text to put.
  OrderedText(unsigned threads, std::uint64_t total, Write write, Encode encode = {})
      : so_far_{0, total},
        write_(std::move(write)),
        encode_(std::move(encode)),
        ordered_(kTextsOfThread * threads, [this](const Buffer& buffer) {
          so_far_.done += buffer->take_done();
          write_(buffer->text(), so_far_);
        }) {}

  /// Returns an empty buffer.
  [[nodiscard]] Buffer take() {
    Buffer buffer = buffers_.take();
    buffer->clear();
    return buffer;
  }
  /// Puts text `ordinal`, or what remains of it. Blocks while too many texts before it are missing.
  void put(std::uint64_t ordinal, Buffer&& buffer) {
    if (encode_) encode_(*buffer);
    ordered_.put(ordinal, std::move(buffer));
  }
  /// Empties a buffer that has become large: text `ordinal` goes on. Blocks until its turn has come. Returns
  /// false when writing has ended.
  bool put_part(std::uint64_t ordinal, TextBuffer& buffer) {
    if (encode_) encode_(buffer);
    Buffer part = take();
    std::swap(*part, buffer);
    return ordered_.put_part(ordinal, std::move(part));
  }
  /// Ends writing: nothing is written any more and no thread blocks.
  void stop() noexcept { ordered_.stop(); }

  /// Returns the memory that so many threads may hold, about.
  [[nodiscard]] static std::uint64_t memory_bytes(unsigned threads) {
    return std::uint64_t{threads} * (kTextsOfThread + 1) * kMostBytes;
  }

 private:
  static constexpr std::uint64_t kTextsOfThread = 3;

  Progress so_far_;  ///< progress with what is written
  Write write_;
  Encode encode_;
  BufferPool<TextBuffer> buffers_;
  OrderedStage<Buffer> ordered_;
};

}  // namespace warpmer::file
