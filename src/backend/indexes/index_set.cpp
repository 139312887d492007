#include "backend/indexes/index_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/indexes/kept_indexes.h"
#include "base/error.h"
#include "host/limits.h"

namespace warpmer::backend {

namespace {

/// Stacks, allocator slack, the C++ runtime, and for each thread the pages of indexes that are mapped at the
/// time.
constexpr std::uint64_t kIndexSlackBytes = std::uint64_t{24} << 20;

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
