#pragma once
/// The super-k-mers of a shard into its strings: how counting makes a shard.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "groups/flanked_word.h"
#include "groups/group_counter.h"
#include "groups/shard_encoder.h"

namespace warpmer::groups {

/// Counts one shard after the other. One per thread; its memory is reused, and stays in the core's cache
/// where shards are small.
template <int Words>
class WordCounter {
 public:
  using Word = FlankedWord<Words>;
  using Flanks = typename FlankedWordFormat<Words>::Flanks;

  explicit WordCounter(std::uint32_t k)
      : rest_bits_(GroupShape(k).rest_bits()),
        format_(GroupShape(k)),
        counter_(GroupShape(k).flank_bases()),
        encoder_(k) {}

  /// Counts the k-mers of all super-k-mers of a shard. The words are put in another order.
  EncodedShard count(std::span<Word> words) {
    sort_by_group(words);
    encoder_.begin();
    for (std::size_t at = 0; at < words.size();) {
      const std::uint32_t rest = format_.rest(words[at]);
      for (; at < words.size() && format_.rest(words[at]) == rest; ++at)
        counter_.add(format_.super_kmer(words[at]), 1);
      encoder_.add_group(rest, [&](auto& strings, auto& counts) { return counter_.finish(strings, counts); });
    }
    return encoder_.finish();
  }

 private:
  /// Sorts by the id of the group: radix sort, two passes.
  void sort_by_group(std::span<Word> words) {
    other_.resize(words.size());
    const std::uint32_t low_bits = rest_bits_ / 2;
    scatter(words, other_, 0, low_bits);
    scatter(other_, words, low_bits, rest_bits_ - low_bits);
  }
  void scatter(std::span<const Word> from, std::span<Word> to, std::uint32_t shift, std::uint32_t bits) {
    const std::uint32_t mask = (1u << bits) - 1;
    begins_.assign(std::size_t{mask} + 2, 0);
    for (const Word& word : from) ++begins_[((format_.rest(word) >> shift) & mask) + 1];
    for (std::size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
    for (const Word& word : from) to[begins_[(format_.rest(word) >> shift) & mask]++] = word;
  }

  std::uint32_t rest_bits_;
  FlankedWordFormat<Words> format_;
  GroupCounter<Flanks> counter_;
  ShardEncoder<Flanks> encoder_;
  std::vector<Word> other_;
  std::vector<std::size_t> begins_;
};

}  // namespace warpmer::groups
