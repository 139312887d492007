#include "backend/indexes/index_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/memory_text.h"
#include "host/limits.h"
#include "index/index_layout.h"

namespace warpmer::backend {

namespace {

/// Stacks, allocator slack, the C++ runtime, and for each thread the pages of indexes that are mapped at the
/// time.
constexpr std::uint64_t kIndexSlackBytes = std::uint64_t{24} << 20;
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

/// ResourceError, naming a cap that would do, where what is kept of so many indexes, and for them, is more
/// than a cap on the process leaves: when the first of them is open. The others are taken to be like it, if
/// it is a file. A small part of the cap is passed over, as the session says better what would do.
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

const char* strand_text(bool canonical) { return canonical ? "canonical k-mers" : "k-mers as read"; }

void check_alike(const index::IndexFile& first, const index::IndexFile& other) {
  const index::IndexParams& a = first.params();
  const index::IndexParams& b = other.params();
  std::string difference;
  if (a.k != b.k) {
    difference = fmt::format("k = {}, {} has k = {}", b.k, first.path(), a.k);
  } else if (a.canonical != b.canonical) {
    difference =
        fmt::format("{}, {} has {}", strand_text(b.canonical), first.path(), strand_text(a.canonical));
  } else if (a.hash_version != b.hash_version) {
    difference = fmt::format("hash functions of version {}, {} has version {}", b.hash_version, first.path(),
                             a.hash_version);
  } else if (a.minimizer_length != b.minimizer_length) {
    difference =
        fmt::format("minimizers of {}, {} has {}", b.minimizer_length, first.path(), a.minimizer_length);
  } else if (a.shard_bits != b.shard_bits) {
    difference = fmt::format("{} shards, {} has {}", b.shards(), first.path(), a.shards());
  }
  if (!difference.empty()) {
    throw UsageError(
        fmt::format("{} has {}: only indexes that are alike in this go together", other.path(), difference));
  }
}

}  // namespace

std::vector<index::IndexFile> open_alike(const std::vector<std::string>& paths, WorkingMemory& memory) {
  std::vector<index::IndexFile> files;
  files.reserve(paths.size());
  for (const std::string& path : paths) {
    files.emplace_back(path, host::memory_left(memory.cap));
    if (files.size() == 1) refuse_too_many(files.front(), memory);
    check_alike(files.front(), files.back());
  }
  memory.other_bytes += working_bytes(memory.threads);
  return files;
}

std::uint64_t working_bytes(unsigned threads) {
  return host::resident_bytes() + kIndexSlackBytes + threads * kMappedBytesOfThread;
}

std::uint64_t WorkingMemory::bytes() const {
  const std::uint64_t writer_bytes = writer_share > 0 ? cap / writer_share : 0;
  return cap - std::min(cap, kept_bytes + other_bytes + writer_bytes);
}

std::uint64_t WorkingMemory::cap_for(std::uint64_t bytes) const {
  const std::uint64_t all = kept_bytes + other_bytes + bytes + host::kResidentVariation;
  return writer_share > 0 ? all / (writer_share - 1) * writer_share + writer_share : all;
}

}  // namespace warpmer::backend
