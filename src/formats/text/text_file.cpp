#include "formats/text/text_file.h"

#include <algorithm>
#include <exception>
#include <thread>

#include "base/thread_without_signals.h"
#include "formats/text/ending.h"
#include "io/compress/bgzf_writer.h"

namespace warpmer::formats {
namespace {

/// Number of blocks that a thread compresses at once: some milliseconds of work.
constexpr std::size_t kBlocksAtOnce = 4;
/// Most bytes of a compressed block.
constexpr std::size_t kMostPackedBytes = std::size_t{64} << 10;
/// K-mers are mostly noise to compression: 6, the usual level, takes three times as long for a sixth less.
constexpr int kCompressionLevel = 4;

}  // namespace

TextFile::TextFile(const std::string& path, unsigned threads)
    : output_(path), threads_(std::max(threads, 1U)) {
  if (!is_compressed_name(path)) return;
  capacity_ = threads_ * kBlocksAtOnce * io::kBgzfBlockText;
  text_.resize(capacity_);
  packed_.resize(threads_);
  // Held from the beginning, so that it counts when it is asked how much memory is left.
  for (std::string& packed : packed_) {
    packed.resize(kBlocksAtOnce * kMostPackedBytes);
    packed.clear();
  }
}

void TextFile::write(std::string_view text, const Progress& so_far) {
  if (capacity_ == 0) {
    output_.write(text, so_far);
    return;
  }
  so_far_ = so_far;
  while (!text.empty()) {
    if (used_ >= capacity_) pack(capacity_);
    const std::size_t bytes = std::min(text.size(), capacity_ - used_);
    text.copy(text_.data() + used_, bytes);
    used_ += bytes;
    text.remove_prefix(bytes);
  }
}

char* TextFile::reserve(std::size_t bytes) {
  if (capacity_ == 0) return output_.reserve(bytes);
  while (used_ >= capacity_) pack(capacity_);
  text_.resize(std::max(text_.size(), used_ + bytes));
  return text_.data() + used_;
}

void TextFile::commit(std::size_t bytes, const Progress& so_far) {
  if (capacity_ == 0) {
    output_.commit(bytes, so_far);
    return;
  }
  so_far_ = so_far;
  used_ += bytes;
}

/// Compresses the first `bytes` of the text, a whole number of blocks unless it is all that is left.
void TextFile::pack(std::size_t bytes) {
  const std::size_t blocks = (bytes + io::kBgzfBlockText - 1) / io::kBgzfBlockText;
  const std::size_t blocks_each = (blocks + threads_ - 1) / threads_;
  const std::string_view text(text_.data(), bytes);
  std::vector<std::exception_ptr> errors(threads_);
  const auto work = [&](unsigned thread) {
    const std::size_t first = std::min(thread * blocks_each * io::kBgzfBlockText, text.size());
    packed_[thread].clear();
    try {
      io::append_bgzf(text.substr(first, blocks_each * io::kBgzfBlockText), kCompressionLevel,
                      packed_[thread]);
    } catch (...) {
      errors[thread] = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  const auto join = [&] {
    for (std::thread& other : others) other.join();
  };
  try {
    for (unsigned thread = 1; thread * blocks_each < blocks; ++thread) {
      others.push_back(start_thread_without_signals([&work, thread] { work(thread); }));
    }
  } catch (...) {
    join();
    throw;
  }
  work(0);
  join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  for (unsigned thread = 0; thread * blocks_each < blocks; ++thread) output_.write(packed_[thread], so_far_);
  std::copy(text_.begin() + static_cast<std::ptrdiff_t>(bytes),
            text_.begin() + static_cast<std::ptrdiff_t>(used_), text_.begin());
  used_ -= bytes;
}

void TextFile::complete() {
  if (capacity_ > 0 && !is_complete_) {
    while (used_ > 0) pack(std::min(used_, capacity_));
    output_.write(io::kBgzfEnd, so_far_);
  }
  is_complete_ = true;
  output_.complete();
}

void TextFile::finish() {
  if (!is_complete_) complete();
  output_.finish();
}

}  // namespace warpmer::formats
