#include "file/mapped_input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/memory_text.h"
#include "file/checksum.h"
#include "file/input_error.h"
#include "system/file_time.h"
#include "system/huge_pages.h"
#include "system/mapped_memory.h"

namespace warpmer::file {
namespace {

constexpr std::size_t kFirstReservation = std::size_t{1} << 20;

/// Bytes read at once of what is not mapped.
constexpr std::size_t kReadAtOnce = std::size_t{1} << 20;

/// A fault maps the pages around it, too: 64 KB by default (fault_around_bytes), or, as newer kernels do, all
/// of the page cache's folio, which may have megabytes.
constexpr std::uint64_t kMappedAtOnce = std::uint64_t{4} << 20;

/// By these last bytes a file is known to be the one that was opened: formats end in checksums, or in marks.
constexpr std::size_t kTailBytes = 4096;

bool is_standard_input(const std::string& path) { return path == "-" || path == "/dev/stdin"; }

[[noreturn]] void out_of_memory(const std::string& name, std::size_t bytes) {
  throw ResourceError(
      fmt::format("cannot get {} bytes of address space for {}: {}; raise the limit on memory", bytes, name,
                  std::strerror(errno)));
}

}  // namespace

MappedInput::MappedInput(const std::string& path, std::size_t early_bytes, const EarlyCheck& early_check,
                         std::uint64_t most_copied_bytes) {
  try {
    open(path);
    if (!map()) read_all(early_bytes, early_check, most_copied_bytes);
    if (!is_standard_input(path)) close_descriptor();
  } catch (...) {
    close();
    throw;
  }
}

MappedInput::~MappedInput() { close(); }

void MappedInput::close_descriptor() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void MappedInput::close() noexcept {
  registered_.reset();
  if (data_ != nullptr) ::munmap(data_, reserved_);
  close_descriptor();
}

void MappedInput::open(const std::string& path) {
  path_ = path;
  name_ = is_standard_input(path) ? std::string("standard input") : fmt::format("'{}'", path);
  fd_ = is_standard_input(path) ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) fail_opening(is_standard_input(path) ? name_ : path, errno);
  struct stat status {};
  if (::fstat(fd_, &status) != 0)
    throw InputError(fmt::format("cannot read {}: {}", name_, std::strerror(errno)));
  if (S_ISDIR(status.st_mode)) {
    throw InputError(fmt::format("{} is a directory, not a warpmer index: give the name of a file", name_));
  }
  device_ = status.st_dev;
  modified_ = system::changed_at(status);
  inode_ = status.st_ino;
  if (S_ISREG(status.st_mode)) size_ = static_cast<std::size_t>(status.st_size);
}

bool MappedInput::map() {
  // Files that claim to be empty (in /proc, say) may still have something to read.
  if (size_ == 0) return false;
  void* data = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd_, 0);
  if (data == MAP_FAILED) {
    if (errno == ENOMEM) out_of_memory(name_, size_);
    size_ = 0;
    return false;  // a file system that cannot map
  }
  data_ = static_cast<std::byte*>(data);
  reserved_ = size_;
  is_mapped_ = true;
  registered_.emplace(*this);
  tail_checksum_ = tail_checksum();
  is_tail_known_ = true;
  return true;
}

void MappedInput::read_all(std::size_t early_bytes, const EarlyCheck& early_check, std::uint64_t most_bytes) {
  bool checked = early_check == nullptr;
  for (;;) {
    if (size_ == reserved_) grow();
    const ssize_t n = ::read(fd_, data_ + size_, std::min(reserved_ - size_, kReadAtOnce));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw InputError(fmt::format("cannot read {}: {}", name_, std::strerror(errno)));
    size_ += static_cast<std::size_t>(n);
    if (!checked && (n == 0 || size_ >= early_bytes)) {
      early_check(bytes(), name_);
      checked = true;
    }
    if (n == 0) break;
    if (size_ > most_bytes) throw_too_large(most_bytes);
  }
}

void MappedInput::throw_too_large(std::uint64_t most_bytes) const {
  throw ResourceError(
      fmt::format("{} has more than {}, which is all that -m leaves for it: what comes through a pipe has to "
                  "be in memory; give the name of a file, or raise -m",
                  name_, mebibytes(most_bytes)));
}

void MappedInput::grow() {
  const std::size_t larger = std::max(kFirstReservation, reserved_ * 2);
  void* const data = system::grow_mapping(data_, reserved_, larger);
  if (data == nullptr) out_of_memory(name_, larger);
  data_ = static_cast<std::byte*>(data);
  reserved_ = larger;
}

void MappedInput::refuse(const std::string& what) const { throw InputError(name_ + ": " + what); }

void MappedInput::check_size() const {
  if (is_shorter()) throw_shorter();
}

bool MappedInput::is_shorter() const noexcept {
  struct stat status {};
  return is_mapped_ && look(status) && static_cast<std::uint64_t>(status.st_size) < size_;
}

const char* MappedInput::why_unreadable() const noexcept {
  struct stat status {};
  if (!look(status)) return kCannotBeRead;
  if (static_cast<std::uint64_t>(status.st_size) < size_) return kBecameShorter;
  const timespec now = system::changed_at(status);
  const bool is_written = now.tv_sec != modified_.tv_sec || now.tv_nsec != modified_.tv_nsec;
  return is_written ? kWasChanged : kCannotBeRead;
}

/// Looks at the file as it is now; false where there is none, or another one, under its name.
bool MappedInput::look(struct stat& status) const noexcept {
  const int failed = fd_ >= 0 ? ::fstat(fd_, &status) : ::stat(path_.c_str(), &status);
  return failed == 0 && is_of_this_file(status);
}

std::uint64_t MappedInput::tail_checksum() const noexcept {
  const std::size_t bytes = std::min(size_, kTailBytes);
  return file::checksum(data_ + size_ - bytes, bytes);
}

std::optional<std::string> MappedInput::change() const {
  if (is_shorter()) return name_ + kBecameShorter;
  if (is_tail_known_ && tail_checksum() != tail_checksum_) return name_ + kWasChanged;
  return std::nullopt;
}

/// Under the name may be another file by now; the one that is mapped then stays as it was.
bool MappedInput::is_of_this_file(const struct stat& status) const noexcept {
  return status.st_dev == device_ && status.st_ino == inode_;
}

void MappedInput::throw_shorter() const { throw InputError(name_ + kBecameShorter); }

void MappedInput::reopen() const noexcept {
  if (fd_ >= 0) return;
  const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  struct stat status {};
  if (::fstat(fd, &status) == 0 && is_of_this_file(status)) {
    fd_ = fd;
  } else {
    ::close(fd);
  }
}

void MappedInput::read(std::uint64_t offset, std::size_t bytes, std::byte* into) const {
  if (is_mapped_) std::call_once(reopened_, [this] { reopen(); });
  if (!is_mapped_ || fd_ < 0) {
    check_size();
    std::memcpy(into, data_ + offset, bytes);
    release(offset, bytes);
    return;
  }
  while (bytes > 0) {
    const ssize_t n = ::pread(fd_, into, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw InputError(fmt::format("cannot read {}: {}", name_, std::strerror(errno)));
    if (n == 0) throw_shorter();
    into += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
}

void MappedInput::will_need(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  if (is_mapped_) advise(offset, bytes, system::will_need_mapped);
}

void MappedInput::release(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  if (!is_mapped_) return;  // a copy has nowhere to come back from
  // And from a while before: faults have mapped pages again that were given back before.
  const std::uint64_t before = std::min(offset, kMappedAtOnce);
  advise(offset - before, bytes + before, system::release_mapped);
}

void MappedInput::advise(std::uint64_t offset, std::uint64_t bytes, Advice advice) const noexcept {
  if (bytes == 0) return;
  // Whole pages, neighbours' bytes included: they are the file's and come back on the next touch.
  const std::uint64_t page = system::page_bytes();
  const std::uint64_t begin = offset / page * page;
  advice(data_ + begin, offset + bytes - begin);
}

}  // namespace warpmer::file
