#include "file/byte_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "file/input_error.h"
#include "system/descriptors.h"
#include "system/disk.h"

namespace warpmer::file {
namespace {

constexpr int kPollMilliseconds = 100;
/// Bytes that are read to look at a few. There are few of them because fresh memory, which a small file would
/// not fill, takes most of the time; more at once where more is wanted.
constexpr std::size_t kPeekStep = std::size_t{16} << 10, kMostPeekStep = std::size_t{64} << 10;

int open_descriptor(const std::string& path) {
  const int inherited = descriptor_in_path(path);
  if (inherited >= 0) return ::fcntl(inherited, F_DUPFD_CLOEXEC, 3);
  // Without O_NONBLOCK, opening a named pipe would wait for its writer, and not hear of a cancel.
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

}  // namespace

int descriptor_in_path(std::string_view path) {
  return path == "-" || path == "/dev/stdin" ? 0 : system::descriptor_named(path);
}

ByteFile::ByteFile(const std::string& path, std::string shown, const std::atomic<bool>& cancelled,
                   std::uint64_t known_bytes)
    : shown_(std::move(shown)), cancelled_(cancelled), descriptor_(open_descriptor(path)) {
  if (descriptor_ < 0) fail_opening(shown_, errno);
  struct stat status {};
  is_regular_ = ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  if (!is_regular_) return;
  file_bytes_ = static_cast<std::uint64_t>(status.st_size);
  if (file_bytes_ < known_bytes) {
    ::close(descriptor_);
    throw BecameShorter(shown_);
  }
  system::read_in_order(descriptor_);
}

ByteFile::ByteFile(std::unique_ptr<ByteSource> source, std::string shown, const std::atomic<bool>& cancelled)
    : shown_(std::move(shown)), cancelled_(cancelled), source_(std::move(source)) {}

ByteFile::~ByteFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void ByteFile::restrict_to(std::uint64_t begin, std::uint64_t end) {
  if (::lseek(descriptor_, static_cast<off_t>(begin), SEEK_SET) < 0)
    fail_at({shown_}, fmt::format("cannot be read from byte {} on: {}", begin, system_message(errno)));
  left_bytes_ = end - begin;
}

std::string_view ByteFile::peek(std::size_t size) {
  if (head_.size() - head_taken_ < size && head_taken_ > head_.size() / 2)
    head_.erase(0, std::exchange(head_taken_, 0));
  while (head_.size() - head_taken_ < size) {
    const std::size_t before = head_.size();
    const std::size_t step = std::clamp(size - (before - head_taken_), kPeekStep, kMostPeekStep);
    head_.resize(before + step);
    const std::size_t count = read_descriptor(head_.data() + before, step);
    head_.resize(before + count);
    if (count == 0) break;
  }
  return std::string_view(head_).substr(head_taken_, size);
}

std::size_t ByteFile::read(char* into, std::size_t size) {
  std::size_t count = std::min(size, head_.size() - head_taken_);
  if (count > 0) {
    std::memcpy(into, head_.data() + head_taken_, count);
    skip(count);
    return count;
  }
  count = read_descriptor(into, size);
  taken_bytes_.fetch_add(count, std::memory_order_relaxed);
  return count;
}

void ByteFile::skip(std::size_t size) {
  head_taken_ += size;
  if (head_taken_ == head_.size()) {
    head_ = std::string();
    head_taken_ = 0;
  }
  taken_bytes_.fetch_add(size, std::memory_order_relaxed);
}

std::size_t ByteFile::read_descriptor(char* into, std::size_t size) {
  while (true) {
    throw_if_stopped();
    if (source_) return source_->read(into, size);
    if (!is_regular_) wait_readable();
    const ssize_t count = ::read(descriptor_, into, std::min<std::uint64_t>(size, left_bytes_));
    if (count == 0 && left_bytes_ > 0) check_end();
    if (count >= 0) {
      left_bytes_ -= static_cast<std::uint64_t>(count);
      return static_cast<std::size_t>(count);
    }
    const int error = errno;
    if (error == EINTR || error == EAGAIN) continue;
    fail_at({shown_}, fmt::format("cannot be read any further, after {} bytes: {}", disk_bytes(),
                                  system_message(error)));
  }
}

/// Throws if the file has ended too soon. Reading may have begun anywhere, so the place says that, and not
/// how much was read.
void ByteFile::check_end() const {
  if (!is_regular_) return;
  const off_t place = ::lseek(descriptor_, 0, SEEK_CUR);
  if (place >= 0 && static_cast<std::uint64_t>(place) < file_bytes_) throw BecameShorter(shown_);
}

void ByteFile::throw_if_stopped() const {
  if (cancelled_.load(std::memory_order_relaxed) || stopped_.load(std::memory_order_relaxed))
    throw Cancelled{};
}

void ByteFile::wait_readable() {
  while (true) {
    struct pollfd waited = {descriptor_, POLLIN, 0};
    const int ready = ::poll(&waited, 1, kPollMilliseconds);
    throw_if_stopped();
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) return;  // let `read` say what is wrong
  }
}

}  // namespace warpmer::file
