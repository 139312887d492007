#pragma once
/// Shards into one, group by group: their counts are added.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "groups/group_counter.h"
#include "groups/shard_encoder.h"
#include "groups/shard_reader.h"
#include "groups/word_counter.h"

namespace warpmer::groups {

/// One per thread; its memory is reused.
template <class Flanks>
class ShardMerger {
 public:
  explicit ShardMerger(std::uint32_t k) : counter_(GroupShape(k).flank_bases()), encoder_(k) {}

  /// Returns the k-mers of all shards, which have been checked and have the same number in different indexes,
  /// with the sums of their counts. InputError when the largest counts of a group, as far as their widths
  /// tell, add up to 2^64 or more, even if no single k-mer's do.
  EncodedShard merge(std::span<const ShardBits> shards) {
    std::vector<GroupCursor<Flanks>> cursors(shards.begin(), shards.end());
    encoder_.begin();
    counter_.begin();
    for (;;) {
      std::optional<std::uint32_t> rest;
      for (const auto& cursor : cursors) {
        if (cursor.has_group() && (!rest || cursor.rest() < *rest)) rest = cursor.rest();
      }
      if (!rest) return encoder_.finish();
      std::uint64_t most = 0;  // that a count can be
      for (auto& cursor : cursors) {
        if (!cursor.has_group() || cursor.rest() != *rest) continue;
        most = sum_or_refuse(most, add_strings(counter_, cursor));
        cursor.next();
      }
      encoder_.add_group(*rest,
                         [&](auto& strings, auto& counts) { return counter_.finish(strings, counts); });
    }
  }

 private:
  static std::uint64_t sum_or_refuse(std::uint64_t a, std::uint64_t b) {
    if (b > UINT64_MAX - a) throw InputError("a k-mer's counts may add up to more than 2^64 - 1");
    return a + b;
  }

  GroupCounter<Flanks> counter_;
  ShardEncoder<Flanks> encoder_;
};

}  // namespace warpmer::groups
