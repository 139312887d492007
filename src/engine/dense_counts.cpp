#include "engine/dense_counts.h"

#include <algorithm>
#include <utility>

#include "core/hash.h"
#include "engine/ranks.h"
#include "index/shard_codec.h"

namespace warpmer::engine {

namespace {

/// What one rank tells another at a time.
constexpr std::size_t kSumsInMessage = std::size_t{1} << 17;

void send_sums(Ranks& ranks, unsigned to, const std::vector<std::uint64_t>& sums) {
  // It may still be busy with another one's.
  ranks.receive_from(to, Channel::together);
  for (std::size_t at = 0; at < sums.size(); at += kSumsInMessage) {
    const auto* const bytes = reinterpret_cast<const char*>(sums.data() + at);
    const std::size_t size = std::min(kSumsInMessage, sums.size() - at) * sizeof sums[0];
    ranks.send(to, Channel::words, Message(bytes, bytes + size));
  }
}

void add_sums_from(Ranks& ranks, unsigned from, std::vector<std::uint64_t>& sums) {
  ranks.post(from, Channel::together, {});
  for (std::size_t at = 0; at < sums.size(); at += kSumsInMessage) {
    const Message message = ranks.receive_from(from, Channel::words);
    MessageReader in(message);
    for (std::size_t i = at; !in.is_at_end(); ++i) sums[i] += in.plain<std::uint64_t>();
  }
}

}  // namespace

bool add_up_over_ranks(Ranks& ranks, std::vector<std::uint64_t>& sums) {
  const unsigned last = ranks.size() - 1, place = last - ranks.rank();
  for (unsigned step = 1; step < ranks.size(); step *= 2) {
    if (place % (2 * step) != 0) {
      send_sums(ranks, last - (place - step), sums);
      return false;
    }
    if (place + step < ranks.size()) add_sums_from(ranks, last - (place + step), sums);
  }
  return true;
}

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

}  // namespace warpmer::engine
