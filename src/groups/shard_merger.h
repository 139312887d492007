#pragma once
/// Shards into one, group by group: their counts are added.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "groups/flanked_kmer.h"
#include "groups/group_counter.h"
#include "groups/shard_encoder.h"
#include "groups/shard_reader.h"

namespace warpmer::groups {

/// One per thread; its memory is reused.
template <class Flanks>
class ShardMerger {
 public:
  explicit ShardMerger(std::uint32_t k) : counter_(GroupShape(k).flank_bases()), encoder_(k) {}

  /// Returns the k-mers of all shards, which have the same number in different indexes, with the sums of
  /// their counts.
  EncodedShard merge(std::span<const ShardView> shards) {
    std::vector<GroupCursor<Flanks>> cursors(shards.begin(), shards.end());
    encoder_.begin();
    for (;;) {
      std::optional<std::uint32_t> rest;
      for (const auto& cursor : cursors) {
        if (cursor.has_group() && (!rest || cursor.rest() < *rest)) rest = cursor.rest();
      }
      if (!rest) break;
      for (auto& cursor : cursors) {
        if (!cursor.has_group() || cursor.rest() != *rest) continue;
        cursor.for_each_string([&](FlankLengths lengths, Flanks left, Flanks right,
                                   const StringCounts& counts) {
          counter_.add_string(FlankedSuperKmer<Flanks>{0, lengths.left, lengths.right, left, right}, counts);
        });
        cursor.next();
      }
      encoder_.add_group(*rest,
                         [&](auto& strings, auto& counts) { return counter_.finish(strings, counts); });
    }
    return encoder_.finish();
  }

 private:
  GroupCounter<Flanks> counter_;
  ShardEncoder<Flanks> encoder_;
};

}  // namespace warpmer::groups
