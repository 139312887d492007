#pragma once
/// Writing a file of a memory-backed file system (tmpfs) by many threads at once.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

#include "file/write_pieces.h"

namespace warpmer::file {

/// `pwrite` holds the lock of the file while it finds pages and copies, so that a tmpfs takes 2.5 GB/s from
/// one thread and no more from sixteen. Here one thread at a time asks for pages (10 GB/s: they are not
/// cleared yet), ahead of what is needed, and all threads copy into mappings of their parts: of a huge page
/// at a time, so that what is mapped, which counts as the process's memory, stays small.
class SharedMemoryFile {
 public:
  /// Fewer threads than this copy faster by `pwrite`: two threads reached 2.1 GB/s by mappings.
  static constexpr unsigned kLeastWriters = 4;
  /// Less than this is not worth a mapping.
  static constexpr std::size_t kLeastBytes = std::size_t{64} << 10;

  /// True when a file is on a tmpfs.
  static bool is_one(int descriptor);
  static bool is_one(const std::string& path);

  /// The file is open for reading and writing, and stays so.
  explicit SharedMemoryFile(int descriptor) : descriptor_(descriptor) {}

  /// Writes the pieces one after the other from `offset` on; different ranges by several threads at once.
  /// Returns 0 or what went wrong (errno). The file may be longer afterwards than what is written.
  int write(std::uint64_t offset, std::span<const WritePiece> pieces);

 private:
  class PieceReader;

  int allocate(std::uint64_t end);
  int write_window(std::uint64_t begin, std::uint64_t end, PieceReader& from) const;

  const int descriptor_;
  std::mutex mutex_;
  std::uint64_t allocated_ = 0;  ///< bytes from the beginning that have pages
};

}  // namespace warpmer::file
