#pragma once
/// A lookup table (table/lookup_table.h) of all k-mers of an index in host memory. It consists of independent
/// child tables (Starfish: Xiong et al. 2022, section 4.3), each for a range of hashes, with a stash and a
/// hash function of its own: a thread builds a child alone, without atomic operations, and a build that fails
/// is repeated for that child. In a frozen shard a range of hashes is a range of buckets.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/memory_text.h"
#include "base/thread_team.h"
#include "cpu/memory/huge_array.h"
#include "host/limits.h"
#include "index/index_file.h"
#include "index/shard_codec.h"
#include "table/lookup_table.h"
#include "table/rebuild.h"

namespace warpmer::cpu {

template <template <class> class LookupOf, class KeyType>
class HostLookupTable {
 public:
  using Key = KeyType;

  /// Builds it with so many threads. `index` need not outlive it. ResourceError when a child was built in
  /// vain as often as the plan allows, or when there is no memory.
  HostLookupTable(const index::IndexFile& index, unsigned threads, const table::LookupTablePlan& plan = {})
      : hash_bits_(2 * index.params().k),
        child_bits_(std::min(kMostChildBits, hash_bits_)),
        children_(std::size_t{1} << child_bits_) {
    require_memory(index, plan);
    std::atomic<std::size_t> next{0};
    const auto work = [&](unsigned /*thread*/) {
      for (std::size_t c = 0; (c = next.fetch_add(1)) < children_.size();) build(index, c, plan);
    };
    run_team(static_cast<unsigned>(std::min<std::size_t>(threads, children_.size())), work,
             [&] { next = children_.size(); });
  }

  /// Number of k-mers whose cache misses overlap.
  static constexpr std::size_t kAtOnce = 64;

  /// The counts of the k-mers with these hashes, at most kAtOnce; 0 for those that are not there.
  void find(const Key* hashes, std::size_t n, std::uint64_t* counts) const {
    std::ptrdiff_t slots[kAtOnce];
    for (std::size_t i = 0; i < n; ++i) prefetch_bucket(hashes[i]);
    for (std::size_t i = 0; i < n; ++i) {
      const Partition& child = child_of(hashes[i]);
      // The mark of empty slots would be found in any of them.
      slots[i] = hashes[i] == table::kEmptyKey<Key> ? -1 : child.scheme->find(Tile{}, hashes[i]);
      if (slots[i] >= 0) __builtin_prefetch(child.slots.counts + slots[i]);
    }
    for (std::size_t i = 0; i < n; ++i) counts[i] = count_in(hashes[i], slots[i]);
  }

 private:
  using Lookup = LookupOf<Key>;
  using Tile = table::SerialTile<Key, Lookup::kBucket>;
  using Scheme = typename Lookup::template Scheme<Tile>;
  static_assert(Lookup::template kPasses<Tile> == 1);

  static constexpr std::uint32_t kMostChildBits = 6;
  static constexpr std::uint32_t kLargeCount = UINT32_MAX;  ///< the count is this or more
  static constexpr std::size_t kLineBytes = 64;

  struct Partition {
    HugeArray<std::byte> memory;
    table::Slots<Key> slots{};
    std::optional<Scheme> scheme;
    std::map<Key, std::uint64_t> large;  ///< counts that a slot does not hold
  };

  [[nodiscard]] std::size_t number_of_child(Key hash) const {
    return static_cast<std::size_t>(hash >> (hash_bits_ - child_bits_));
  }
  [[nodiscard]] const Partition& child_of(Key hash) const { return children_[number_of_child(hash)]; }

  void prefetch_bucket(Key hash) const {
    const Scheme& scheme = *child_of(hash).scheme;
    const auto* bucket = reinterpret_cast<const char*>(scheme.bucket(scheme.bucket_of(hash, 0)).keys);
    for (std::size_t at = 0; at < Lookup::kBucket * sizeof(Key); at += kLineBytes)
      __builtin_prefetch(bucket + at);
  }

  [[nodiscard]] std::uint64_t count_in(Key hash, std::ptrdiff_t slot) const {
    if (hash == table::kEmptyKey<Key>) return marker_count_;
    if (slot < 0) return 0;
    const Partition& child = child_of(hash);
    const std::uint32_t count = child.slots.counts[slot];
    return count < kLargeCount ? count : child.large.at(hash);
  }

  void require_memory(const index::IndexFile& index, const table::LookupTablePlan& plan) const {
    const std::uint64_t bytes =
        table::lookup_slot_bytes<Lookup, Key>(index.totals().stored_distinct, plan) +
        children_.size() * (table::kStashSlots + Lookup::kBucket) * table::Slots<Key>::kBytes;
    if (const std::uint64_t usable = host::usable_memory_bytes(); bytes > usable) {
      throw ResourceError("a lookup table for " + index.path() + " needs " + mebibytes_needed(bytes) +
                          " of memory, and " + mebibytes(usable) + " can be had; use --table index");
    }
  }

  /// Calls `visit(hash, reader, number)` with the entries of a child.
  template <class Visit>
  void for_each_entry(const index::IndexFile& index, std::size_t child, Visit&& visit) const {
    for (std::uint32_t s = 0; s < index.params().shards(); ++s) {
      if (index.kmers(s) == 0) continue;
      const index::ShardReader<Key> reader(index.shard(s), index.params().k);
      const auto bucket_bits = static_cast<std::uint32_t>(std::countr_zero(reader.buckets()));
      const bool has_several = bucket_bits >= child_bits_;
      const std::uint32_t more = has_several ? bucket_bits - child_bits_ : child_bits_ - bucket_bits;
      const std::size_t begin = has_several ? child << more : child >> more;
      const std::size_t end = has_several ? (child + 1) << more : begin + 1;
      for (std::size_t b = begin; b < end; ++b) {
        const auto [first, last] = reader.bucket(b);
        for (std::uint64_t i = first; i < last; ++i) {
          const Key hash = reader.hash_at(b, i);
          if (number_of_child(hash) == child) visit(hash, reader, i);
        }
      }
    }
  }

  void build(const index::IndexFile& index, std::size_t number, const table::LookupTablePlan& plan) {
    Partition& child = children_[number];
    std::uint64_t entries = 0;
    for_each_entry(index, number, [&](Key, const index::ShardReader<Key>&, std::uint64_t) { ++entries; });
    const std::uint32_t buckets = table::lookup_buckets<Lookup>(entries, plan);
    child.memory = HugeArray<std::byte>(table::lookup_slot_bytes<Lookup, Key>(entries, plan));
    std::uint32_t builds = 0;
    const auto seed = table::first_seed_that_builds(plan.first_seed, plan.attempts, [&](std::uint32_t one) {
      return fill(index, number, buckets, one) && builds++ >= plan.discarded;
    });
    if (!seed) {
      throw ResourceError(
          "no lookup table for " + index.path() + " came about: in " + std::to_string(plan.attempts) +
          " builds with different hash functions some k-mer found no place; use --table index");
    }
  }

  /// Fills a child with one hash function; false: some key found no place.
  bool fill(const index::IndexFile& index, std::size_t number, std::uint32_t buckets, std::uint32_t seed) {
    Partition& child = children_[number];
    const std::size_t size = Scheme::slots_for(buckets);
    const auto slots = child.slots = table::Slots<Key>::in(child.memory.data(), size);
    std::memset(slots.keys, 0xFF, size * sizeof(Key));
    std::memset(slots.counts, 0, size * sizeof(std::uint32_t));
    child.large.clear();
    child.scheme.emplace(slots, buckets, seed);
    bool all_placed = true;
    for_each_entry(index, number, [&](Key hash, const index::ShardReader<Key>& reader, std::uint64_t i) {
      const std::uint64_t count = reader.count_at(i);
      if (hash == table::kEmptyKey<Key>) {
        marker_count_ = count;
        return;
      }
      if (count >= kLargeCount) child.large[hash] = count;
      const auto kept = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, kLargeCount));
      all_placed = all_placed && Lookup::template fill<0>(*child.scheme, Tile{}, {hash, kept});
    });
    if (all_placed && child.scheme->stash_is_empty({})) child.scheme.emplace(child.scheme->without_stash());
    return all_placed;
  }

  std::uint32_t hash_bits_;
  std::uint32_t child_bits_;
  std::vector<Partition> children_;
  std::uint64_t marker_count_ = 0;  ///< count of the key that marks empty slots, which is in no slot
};

}  // namespace warpmer::cpu
