#pragma once
/// Several indexes that are looked at together.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "index/index_file.h"

namespace warpmer::backend {

/// Pages of indexes that a thread has mapped at a time, about.
inline constexpr std::uint64_t kMappedBytesOfThread = std::uint64_t{8} << 20;

/// Returns the bytes that the process holds now, and those that are accounted for nowhere while `threads`
/// threads go through indexes.
std::uint64_t working_bytes(unsigned threads);

/// The memory of a job that goes through indexes, in bytes.
struct WorkingMemory {
  std::uint64_t cap = 0;          ///< on the whole process
  std::uint64_t kept_bytes = 0;   ///< bytes that the session keeps for all inputs together
  std::uint64_t other_bytes = 0;  ///< others that are held besides what threads work in, whatever the cap is;
                                  ///< open_alike adds those of the process
  std::uint64_t writer_share = 0;  ///< the index writer may keep such a part of the cap: 16 for a sixteenth
  unsigned threads = 1;
  std::size_t inputs = 1;

  /// Returns what all threads together may work in; 0 where the cap leaves nothing.
  [[nodiscard]] std::uint64_t bytes() const;
  /// Returns a cap that leaves so many bytes to work in, although what the process itself takes is not the
  /// same each time.
  [[nodiscard]] std::uint64_t cap_for(std::uint64_t bytes) const;
};

/// Opens indexes that are to be compared k-mer by k-mer; any may be "-". Each is opened once: a file that is
/// replaced later is read as it was. Then `working_bytes` are among the memory's other bytes. InputError for
/// one that cannot be read; UsageError for the first that differs from the first in k, strand, minimizers or
/// shards, saying how; ResourceError for pipes with more than the cap on the process leaves, and for files of
/// which more is kept than that.
std::vector<index::IndexFile> open_alike(const std::vector<std::string>& paths, WorkingMemory& memory);

}  // namespace warpmer::backend
