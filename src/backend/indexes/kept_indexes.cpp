#include "backend/indexes/kept_indexes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>

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

void refuse_too_many(const index::IndexFile& first, const WorkingMemory& memory) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(first.path(), ignored)) return;
  const std::uint64_t kept = kept_bytes(first) * memory.inputs + memory.kept_bytes;
  if (host::resident_bytes() + kept < memory.cap || kept < std::max(kSmallBytes, memory.cap / kSmallPart))
    return;
  const WorkingMemory enough{.other_bytes = memory.other_bytes + working_bytes(memory.threads) + kept,
                             .writer_share = 16};
  throw ResourceError(fmt::format(
      "-m {} is too little for {} and {} inputs, for which {} are kept: {} would do; {}",
      mebibytes(memory.cap), number_of_threads(memory.threads), memory.inputs, mebibytes_needed(kept),
      mebibytes_needed(enough.cap_for(memory.threads * kMergeBytesOfThread)), memory_advice(memory.threads)));
}

}  // namespace warpmer::backend
