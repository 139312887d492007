#pragma once
/// All k-mers of an index with counts in a range, in no order that means anything: the fastest way through
/// it.

#include <cstdint>

#include "backend/count_bounds.h"
#include "base/thread_team.h"
#include "cpu/sets/shard_keys.h"
#include "cpu/sets/sorted_lists.h"
#include "groups/flanked_kmer.h"
#include "groups/shard_bits.h"
#include "groups/string_walk.h"
#include "index/index_file.h"
#include "kmer/kmer.h"

namespace warpmer::cpu {

/// Scans shards of strings. Strings of which no count is in the range, as of most errors, are passed over.
template <class Key>
class StringScan {
 public:
  StringScan(const index::IndexParams& params, const backend::CountBounds& bounds)
      : keys_(params), bounds_(bounds) {}

  /// Calls `visit(kmer, count)`.
  template <class Visit>
  void scan(const groups::ShardBits& strings, std::uint32_t shard, Visit&& visit) const {
    const auto& of_groups = keys_.of_groups();
    for (std::uint64_t bucket = 0; bucket < strings.layout.buckets; ++bucket) {
      groups::for_each_string_of_bucket(
          strings, bucket,
          [&](std::uint32_t rest, groups::FlankLengths lengths, groups::BitCursor bases,
              const groups::StringCounts& counts) {
            if (may_have_some(counts))
              scan_string(strings, of_groups.mmer(shard, rest), lengths, bases, counts, visit);
          },
          [&](std::uint32_t rest, std::uint32_t number) {
            const groups::LargeGroup large(strings, strings.part(strings.layout.buckets + number));
            const std::uint32_t mmer = of_groups.mmer(shard, rest);
            for (std::uint64_t mark = 0; mark < groups::marks_of(large); ++mark) {
              groups::for_each_string_of_mark(strings, large, mark,
                                              [&](groups::FlankLengths lengths, groups::BitCursor bases,
                                                  const groups::StringCounts& counts) {
                                                if (may_have_some(counts))
                                                  scan_string(strings, mmer, lengths, bases, counts, visit);
                                              });
            }
          });
    }
  }

 private:
  [[nodiscard]] bool may_have_some(const groups::StringCounts& counts) const {
    const std::uint64_t beyond =
        counts.bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << counts.bits) - 1;
    return counts.smallest <= bounds_.max &&
           (counts.smallest >= bounds_.min || beyond >= bounds_.min - counts.smallest);
  }
  template <class Visit>
  void scan_string(const groups::ShardBits& strings, std::uint32_t mmer, groups::FlankLengths lengths,
                   const groups::BitCursor& bases, const groups::StringCounts& counts, Visit& visit) const {
    const groups::GroupShape& shape = keys_.of_groups().shape();
    groups::for_each_kmer_of_string<Key>(
        strings, lengths, bases, counts, [&](std::uint32_t layer, Key flanks, std::uint64_t count) {
          if (!bounds_.contains(count)) return;
          const Key kmer = groups::kmer_of<Key>(groups::FlankedKmer<Key>{mmer, layer, flanks}, shape);
          visit(keys_.is_canonical() ? canonical(kmer, shape.k) : kmer, count);
        });
  }

  ShardKeys<Key> keys_;
  backend::CountBounds bounds_;
};

/// Calls `visit(thread, shard, kmer, count)` for all k-mers of an index with counts in bounds, on several
/// threads: a shard is one thread's, and its k-mers come in the same order each time.
template <class Key, class Visit>
void scan_kmers(const index::IndexFile& index, const backend::CountBounds& bounds, unsigned threads,
                Visit&& visit) {
  if (!ShardKeys<Key>(index.params()).are_of_groups()) {
    visit_kmers_of_shards<Key>(index, bounds, threads,
                               [&](unsigned thread, std::uint32_t shard, ListBuffer<Key>& list) {
                                 for (std::size_t i = 0; i < list.size; ++i)
                                   visit(thread, shard, list.hashes()[i], list.counts()[i]);
                               });
    return;
  }
  share_numbers(threads, 0, index.params().shards(), [&](unsigned thread, SharedNumbers& numbers) {
    const StringScan<Key> scan(index.params(), bounds);
    for (std::uint32_t shard; numbers.take(shard); index.release(shard)) {
      scan.scan(index.strings(shard), shard,
                [&](Key kmer, std::uint64_t count) { visit(thread, shard, kmer, count); });
    }
  });
}

}  // namespace warpmer::cpu
