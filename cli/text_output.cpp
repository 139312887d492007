#include "cli/text_output.h"

#include <cstring>

namespace warpmer::cli {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

}  // namespace

TextOutput::TextOutput(const std::string& path)
    : file_(path), capacity_(kBufferBytes), buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)) {}

void TextOutput::write(std::string_view text) {
  if (text.size() > capacity_ - used_) {
    flush();
    if (text.size() >= capacity_) {
      write_through(text.data(), text.size());
      return;
    }
  }
  std::memcpy(buffer_.get() + used_, text.data(), text.size());
  used_ += text.size();
}

char* TextOutput::reserve(std::size_t bytes) {
  if (bytes > capacity_ - used_) {
    flush();
    if (bytes > capacity_) {
      buffer_ = std::make_unique_for_overwrite<char[]>(bytes);
      capacity_ = bytes;
    }
  }
  return buffer_.get() + used_;
}

void TextOutput::finish() {
  flush();
  file_.commit();
}

void TextOutput::flush() { write_through(buffer_.get(), std::exchange(used_, 0)); }

void TextOutput::write_through(const char* data, std::size_t bytes) {
  const index::Piece piece{data, bytes};
  file_.write(offset_, {&piece, 1});
  offset_ += bytes;
}

}  // namespace warpmer::cli
