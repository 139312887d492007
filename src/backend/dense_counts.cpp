#include "backend/dense_counts.h"

#include <utility>

#include "index/shard_codec.h"
#include "kmer/hash.h"

namespace warpmer::backend {

void fold_strands(std::vector<std::uint64_t>& counts, std::uint32_t k) {
  for (Key64 kmer = 0; kmer < counts.size(); ++kmer) {
    if (const Key64 other = canonical(kmer, k); other != kmer)
      counts[other] += std::exchange(counts[kmer], 0);
  }
}

index::FrozenShard freeze_dense(std::vector<std::uint64_t>&& counts, std::uint32_t k, bool canonical,
                                Tally& tally) {
  if (canonical) fold_strands(counts, k);
  // In the order of the hash, which is a bijection on the same numbers.
  const KmerHash<Key64> hash(k);
  std::vector<Key64> keys;
  std::vector<std::uint64_t> kept_counts;
  for (Key64 h = 0; h < counts.size(); ++h) {
    const std::uint64_t count = counts[hash.inverse(h)];
    if (count == 0) continue;
    keys.push_back(h);
    kept_counts.push_back(count);
  }
  std::vector<std::uint64_t>().swap(counts);  // gives the memory back
  const std::size_t kept = tally.filter(keys.data(), kept_counts.data(), keys.size());
  return index::freeze(keys.data(), kept_counts.data(), kept, k);
}

}  // namespace warpmer::backend
