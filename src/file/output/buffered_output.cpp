#include "file/output/buffered_output.h"

#include <utility>

#include "file/mapped_inputs.h"
#include "file/output/output_group.h"

namespace warpmer::file {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
/// From this size on a system call costs less than a copy.
constexpr std::size_t kLargeBytes = std::size_t{64} << 10;

}  // namespace

BufferedOutput::BufferedOutput(const std::string& path)
    : file_(path), capacity_(kBufferBytes), buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)) {}

void BufferedOutput::write(std::string_view bytes, const Progress& so_far) {
  expect_more(bytes.size(), so_far);
  if (bytes.size() >= kLargeBytes || bytes.size() > capacity_ - used_) flush();
  if (bytes.size() >= kLargeBytes) {
    write_through(bytes.data(), bytes.size());
    return;
  }
  bytes.copy(buffer_.get() + used_, bytes.size());
  used_ += bytes.size();
}

/// Tells the file that `so_far` is done when `bytes` more have been taken.
void BufferedOutput::expect_more(std::size_t bytes, const Progress& so_far) noexcept {
  is_share_known_ = is_share_known_ || so_far.total > 0;
  if (!is_share_known_) header_bytes_ = bytes_written() + bytes;
  if (so_far.done == 0 || so_far.total == 0) return;
  const auto scaled = static_cast<double>(bytes_written() + bytes - header_bytes_) *
                      (static_cast<double>(so_far.total) / static_cast<double>(so_far.done));
  expect(header_bytes_ + static_cast<std::uint64_t>(scaled));
}

char* BufferedOutput::reserve(std::size_t bytes) {
  if (bytes > capacity_ - used_) {
    flush();
    if (bytes > capacity_) {
      buffer_ = std::make_unique_for_overwrite<char[]>(bytes);
      capacity_ = bytes;
    }
  }
  return buffer_.get() + used_;
}

void BufferedOutput::rewrite(std::uint64_t offset, std::string_view bytes) {
  flush();
  const WritePiece piece{bytes.data(), bytes.size()};
  file_.write(offset, {&piece, 1});
}

void BufferedOutput::complete() {
  MappedInputs::check();  // before a stream gets the rest
  flush();
  file_.complete();
}

void BufferedOutput::finish() {
  MappedInputs::check();
  flush();
  file_.commit();
}

void BufferedOutput::flush() {
  if (used_ > 0) write_through(buffer_.get(), std::exchange(used_, 0));
}

void BufferedOutput::write_through(const char* data, std::size_t bytes) {
  const WritePiece piece{data, bytes};
  file_.write(offset_, {&piece, 1});
  offset_ += bytes;
}

void finish_together(std::span<BufferedOutput* const> files) {
  for (BufferedOutput* const file : files) file->complete();
  OutputGroup all;
  for (BufferedOutput* const file : files) file->finish();
  all.name_all();
}

}  // namespace warpmer::file
