#include "file/output/shared_memory_file.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "system/huge_pages.h"
#include "system/memory_file.h"

namespace warpmer::file {

namespace {

/// Pages are asked for as far ahead as the file is long, within these bounds.
constexpr std::uint64_t kLeastAhead = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostAhead = std::uint64_t{64} << 20;

}  // namespace

/// Takes the bytes of pieces, one after the other.
class SharedMemoryFile::PieceReader {
 public:
  explicit PieceReader(std::span<const WritePiece> pieces) : left_(pieces) {}

  void copy(char* to, std::uint64_t bytes) {
    while (bytes > 0) {
      const WritePiece& piece = left_.front();
      const std::size_t n = std::min<std::uint64_t>(bytes, piece.bytes - taken_);
      if (n > 0) std::memcpy(to, static_cast<const char*>(piece.data) + taken_, n);
      to += n;
      bytes -= n;
      taken_ += n;
      if (taken_ < piece.bytes) return;
      left_ = left_.subspan(1);
      taken_ = 0;
    }
  }

 private:
  std::span<const WritePiece> left_;
  std::size_t taken_ = 0;  ///< bytes taken of the first of them
};

bool SharedMemoryFile::is_one(int descriptor) { return system::is_in_memory(descriptor); }
bool SharedMemoryFile::is_one(const std::string& path) { return system::is_in_memory(path); }

/// A thread that comes while another one asks for pages waits, and goes on asking where that one stopped: the
/// kernel is never without a request.
int SharedMemoryFile::allocate(std::uint64_t end) {
  const std::lock_guard lock(mutex_);
  if (end <= allocated_) return 0;
  const std::uint64_t ahead = end + std::clamp(end, kLeastAhead, kMostAhead);
  if (system::allocate_pages(descriptor_, allocated_, ahead) == 0) {
    allocated_ = ahead;
    return 0;
  }
  // There may be room for what is needed, if not for more.
  const int error = system::allocate_pages(descriptor_, allocated_, end);
  if (error == 0) allocated_ = end;
  return error;
}

int SharedMemoryFile::write(std::uint64_t offset, std::span<const WritePiece> pieces) {
  const std::uint64_t end = offset + bytes_of(pieces);
  if (end == offset) return 0;
  if (const int error = allocate(end); error != 0) return error;
  PieceReader reader(pieces);
  while (offset < end) {
    // Where the file has huge pages, these are mapped as such.
    const std::uint64_t next = std::min(end, (offset / system::kHugePageBytes + 1) * system::kHugePageBytes);
    if (const int error = write_window(offset, next, reader); error != 0) return error;
    offset = next;
  }
  return 0;
}

int SharedMemoryFile::write_window(std::uint64_t begin, std::uint64_t end, PieceReader& from) const {
  const std::uint64_t first = begin / system::page_bytes() * system::page_bytes();
  void* const mapping = ::mmap(nullptr, end - first, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_,
                               static_cast<off_t>(first));
  if (mapping == MAP_FAILED) return errno;
  from.copy(static_cast<char*>(mapping) + (begin - first), end - begin);
  // At once: the pages count as the process's memory as long as they are mapped.
  ::munmap(mapping, end - first);
  return 0;
}

}  // namespace warpmer::file
