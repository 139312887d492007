#include "io/batch.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "core/error.h"
#include "io/input_error.h"

namespace warpmer::io {

namespace {

class Heap final : public TextMemory {
 public:
  [[nodiscard]] char* allocate(std::size_t bytes) const override { return new (std::nothrow) char[bytes]; }
  void release(char* memory) const noexcept override { delete[] memory; }
};

}  // namespace

const TextMemory& heap_for_text() {
  static const Heap heap;
  return heap;
}

void TextBuffer::reserve(std::size_t capacity) {
  if (capacity <= capacity_) return;
  decltype(data_) grown(memory().allocate(capacity + kPadding), data_.get_deleter());
  if (!grown) {
    throw ResourceError(
        fmt::format("no memory for a text buffer of {} bytes; give warpmer more memory, or "
                    "fewer threads",
                    capacity));
  }
  if (size_ > 0) std::memcpy(grown.get(), data_.get(), size_);
  data_ = std::move(grown);
  capacity_ = capacity;
}

void TextBuffer::append(std::string_view bytes) {
  if (bytes.empty()) return;
  if (size_ + bytes.size() > capacity_) reserve(std::max(size_ + bytes.size(), 2 * capacity_));
  std::memcpy(data_.get() + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
}

void throw_bad_base(const Batch& batch, const Piece& piece, std::size_t offset) {
  const char bad = batch.text.data()[piece.offset + offset];
  fail_at({batch.file, piece.record, batch.name(piece), 0},
          fmt::format("position {} of the sequence is {}, which is no nucleotide code; leave the file out if "
                      "it is no DNA or RNA, or pass --lenient to treat such characters as N",
                      piece.first_base + offset + 1, quoted(bad)));
}

}  // namespace warpmer::io
