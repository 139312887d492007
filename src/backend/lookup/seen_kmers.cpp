#include "backend/lookup/seen_kmers.h"

#include <fmt/format.h>

#include <bit>

#include "base/error.h"
#include "base/memory_text.h"
#include "host/limits.h"
#include "kmer/minimizer.h"

namespace warpmer::backend {

namespace {

/// Returns how many numbers the k-mers of a shard may have: entries, or places among the bases of strings.
std::uint64_t numbers_in(const index::IndexFile& index, std::uint32_t shard) {
  if (index.params().k <= kMaxDenseK) return index.kmers(shard);
  return index.sizes(shard).words * (64 / 2);
}

}  // namespace

SeenKmers::SeenKmers(const index::IndexFile& index, std::uint64_t min_count) : min_count_(min_count) {
  std::size_t words = 0;
  for (std::uint32_t shard = 0; shard < index.params().shards(); ++shard) {
    first_word_.push_back(words);
    words += (numbers_in(index, shard) + 63) / 64;
  }
  const std::uint64_t bytes = words * sizeof(std::uint64_t), usable = host::usable_memory_bytes();
  if (bytes + host::resident_bytes() > usable) {
    throw ResourceError(fmt::format(
        "{}: a bit for each of its {} k-mers takes {}, and there are {}; give the job "
        "more memory, or count fewer reads",
        index.path(), index.totals().stored_distinct, mebibytes_needed(bytes), mebibytes(usable)));
  }
  bits_ = std::vector<std::atomic<std::uint64_t>>(words);
}

std::uint64_t SeenKmers::number() const {
  std::uint64_t number = 0;
  for (const auto& word : bits_)
    number += static_cast<std::uint64_t>(std::popcount(word.load(std::memory_order_relaxed)));
  return number;
}

void SeenKmers::add(const SeenKmers& other) {
  for (std::size_t i = 0; i < bits_.size(); ++i)
    bits_[i].fetch_or(other.bits_[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void SeenKmers::clear() {
  for (auto& word : bits_) word.store(0, std::memory_order_relaxed);
}

}  // namespace warpmer::backend
