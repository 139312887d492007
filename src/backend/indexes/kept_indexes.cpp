#include "backend/indexes/kept_indexes.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "backend/indexes/index_set.h"
#include "base/error.h"
#include "base/memory_text.h"
#include "host/limits.h"
#include "index/index_layout.h"

namespace warpmer::backend {
namespace {

/// For each shard, its entry of the directory, and what was checked; for each count, a node of a map.
constexpr std::uint64_t kBytesOfShard = sizeof(index::layout::DirectoryEntry) + 8, kBytesOfCount = 64;
/// Bytes that a thread merges in, at most, about.
constexpr std::uint64_t kMergeBytesOfThread = std::uint64_t{16} << 20;
/// Less than this, or than such a part of the cap, is never too much by itself.
constexpr std::uint64_t kSmallBytes = std::uint64_t{1} << 20, kSmallPart = 8;

std::uint64_t kept_bytes(const index::IndexFile& file) {
  std::uint64_t bytes = file.params().shards() * kBytesOfShard + file.histogram().size() * kBytesOfCount;
  for (const std::string& input : file.provenance().inputs) bytes += sizeof(std::string) + input.size();
  return bytes;
}

}  // namespace

void refuse_too_many(const index::IndexFile& first, std::size_t inputs, std::uint64_t memory_cap,
                     unsigned threads, std::uint64_t table_bytes) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(first.path(), ignored)) return;
  const std::uint64_t of_each = kept_bytes(first);
  const std::uint64_t all = of_each * inputs + table_bytes;
  if (host::resident_bytes() + all < memory_cap || all < std::max(kSmallBytes, memory_cap / kSmallPart))
    return;
  const WorkingMemory enough{0, working_bytes(threads) + all + threads * kMergeBytesOfThread, 16, threads,
                             inputs};
  throw ResourceError(fmt::format(
      "-m {} is too little for {} and {} inputs, of each of which {} KiB are kept{}: {} would do; {}",
      mebibytes(memory_cap), number_of_threads(threads), inputs, (of_each + 1023) >> 10,
      table_bytes == 0 ? "" : fmt::format(", and whose tables take {}", mebibytes_needed(table_bytes)),
      mebibytes_needed(enough.cap_for(0)), memory_advice(threads)));
}

}  // namespace warpmer::backend
