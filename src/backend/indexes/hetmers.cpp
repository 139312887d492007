#include "backend/indexes/hetmers.h"

#include <atomic>
#include <numeric>

namespace warpmer::backend {

void PairFrequencies::add(std::uint32_t count, std::uint32_t other, std::uint64_t pairs) {
  const std::uint32_t smaller = std::min(count, other);
  if (smaller >= kSmallerCounts) return;
  std::atomic_ref(pairs_[place(count + other, smaller)]).fetch_add(pairs, std::memory_order_relaxed);
}

std::uint64_t PairFrequencies::total() const {
  return std::accumulate(pairs_.begin(), pairs_.end(), std::uint64_t{0});
}

}  // namespace warpmer::backend
