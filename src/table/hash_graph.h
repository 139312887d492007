#pragma once
/// HashGraph (Green: HashGraph - Scalable Hash Tables Using a Sparse Graph Data Structure, 2019/2021): a
/// static table of keys with values, any number of values for a key, without open addressing and without
/// chains. Entries are counted by bucket, the counts are summed up, and every entry is placed where its
/// bucket lies: a graph in CSR form, whose vertices are buckets and whose edges are entries. It is always
/// full, and the number of buckets is free.
///
/// This file has what is done for one entry, one key or one bucket, written once for CPUs and GPUs. A driver
/// walks over all of them: `bench/tables/host_hash_graph.h` (threads) and `kernels/tables/hash_graph.cuh`
/// (kernels).

#include <cstdint>

#include "kmer/kmer.h"
#include "kmer/platform.h"
#include "table/bucket_choice.h"

namespace warpmer::table {

/// The two ways of Green 2019 to build. V1 (section 3.2) counts and places in the order of the input, all
/// over the table. V2 (section 3.3) puts entries into bins of neighbouring buckets first, so that counting
/// and placing stay in a cache.
enum class HashGraphVersion { v1, v2 };

/// Returns the number of buckets for so many entries at a load factor (entries by buckets; in this table it
/// is a matter of speed alone). Green finds 1 to 2 a good balance of building and probing (section 5.3).
constexpr std::uint32_t buckets_for(std::uint64_t entries, double load) {
  const double buckets = static_cast<double>(entries) / load;
  constexpr double kMost = 2147483648.0;
  return buckets < 1 ? 1u : static_cast<std::uint32_t>(buckets < kMost ? buckets : kMost);
}

/// Entries [first, last).
struct EntryRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  [[nodiscard]] WARPMER_HD constexpr std::uint64_t size() const { return last - first; }
};

/// Up to so many entries a bucket is searched from its begin, and sorted by insertion.
inline constexpr std::uint64_t kSmallBucket = 32;

namespace detail {
/// Returns the first of the ordered entries [range.first, range.last) for which `is_below(entry)` does not
/// hold.
template <class IsBelow>
WARPMER_HD constexpr std::uint64_t partition_point(EntryRange range, IsBelow&& is_below) {
  while (range.size() > kSmallBucket) {
    const std::uint64_t middle = range.first + range.size() / 2;
    if (is_below(middle)) {
      range.first = middle + 1;
    } else {
      range.last = middle;
    }
  }
  while (range.first < range.last && is_below(range.first)) ++range.first;
  return range.first;
}
}  // namespace detail

/// Returns those of the entries [first, last), ordered by key, whose key is `key`; `key_of(entry)` reads one.
/// Short ranges are walked, long ones (a hot key, a crowd that shares a bucket) halved.
template <class Key, class KeyOf>
WARPMER_HD constexpr EntryRange equal_range(EntryRange range, Key key, KeyOf&& key_of) {
  range.first = detail::partition_point(range, [&](std::uint64_t entry) { return key_of(entry) < key; });
  // Most keys have one entry: look at the next one before searching for the end.
  std::uint64_t step = 1;
  while (range.first + step <= range.last && key_of(range.first + step - 1) == key) step *= 2;
  const std::uint64_t known = range.first + step / 2;
  const std::uint64_t end = range.first + step <= range.last ? range.first + step : range.last;
  range.last =
      detail::partition_point({known, end}, [&](std::uint64_t entry) { return !(key < key_of(entry)); });
  return range;
}

/// A finished HashGraph where it lies. Does not own.
template <class Key, class Value, class Bucket = HashedBucket<Key>, class Offset = std::uint32_t>
struct HashGraphView {
  Bucket bucket_of;
  const Offset* offsets = nullptr;  ///< buckets + 1: bucket b has the entries offsets[b] to offsets[b + 1]
  const Key* keys = nullptr;
  const Value* values = nullptr;
  bool grouped = false;  ///< inside a bucket, entries are ordered by key and, for equal keys, by value

  [[nodiscard]] WARPMER_HD std::uint32_t buckets() const { return bucket_of.buckets(); }
  [[nodiscard]] WARPMER_HD EntryRange bucket(std::uint32_t b) const { return {offsets[b], offsets[b + 1]}; }

  /// Returns the entries of a key, adjacent because the graph is grouped.
  [[nodiscard]] WARPMER_HD EntryRange find(Key key) const { return matches(bucket(bucket_of(key)), key); }

  /// Does Green's probe-standard (section 3.4): calls `visit(EntryRange)` for the entries with this key: once
  /// for all in a grouped graph, else one by one, in a walk along the whole bucket.
  template <class Visit>
  WARPMER_HD void probe(Key key, Visit&& visit) const {
    probe_bucket(bucket(bucket_of(key)), key, visit);
  }

  /// Returns the number of entries that have this key.
  [[nodiscard]] WARPMER_HD std::uint64_t count(Key key) const {
    std::uint64_t entries = 0;
    probe(key, [&](EntryRange found) { entries += found.size(); });
    return entries;
  }

  /// `probe` in a part of a bucket. Returns where a grouped bucket need not be looked at again for larger
  /// keys.
  template <class Visit>
  WARPMER_HD std::uint64_t probe_bucket(EntryRange range, Key key, Visit&& visit) const {
    if (grouped) {
      const EntryRange found = matches(range, key);
      if (found.size() > 0) visit(found);
      return found.last;
    }
    for (std::uint64_t entry = range.first; entry < range.last; ++entry) {
      if (keys[entry] == key) visit(EntryRange{entry, entry + 1});
    }
    return range.first;
  }

 private:
  [[nodiscard]] WARPMER_HD EntryRange matches(EntryRange range, Key key) const {
    const Key* const all = keys;
    return equal_range(range, key, [all](std::uint64_t entry) { return all[entry]; });
  }
};

/// Does Green's probe-new (section 3.4) for one bucket: `queries` is a HashGraph with the same buckets as
/// `table`. Calls `visit(EntryRange of queries, EntryRange of table)` for ranges in which every query equals
/// every entry. Where both are grouped, equal queries are one range, and the two buckets are merged.
template <class Key, class Value, class QueryValue, class Bucket, class Offset, class Visit>
WARPMER_HD void intersect_bucket(const HashGraphView<Key, Value, Bucket, Offset>& table,
                                 const HashGraphView<Key, QueryValue, Bucket, Offset>& queries,
                                 std::uint32_t bucket, Visit&& visit) {
  const EntryRange asked = queries.bucket(bucket);
  EntryRange rest = table.bucket(bucket);
  if (rest.size() == 0) return;
  for (std::uint64_t query = asked.first; query < asked.last;) {
    const Key key = queries.keys[query];
    EntryRange same{query, query + 1};
    if (queries.grouped) {
      while (same.last < asked.last && queries.keys[same.last] == key) ++same.last;
    }
    const std::uint64_t next = table.probe_bucket(rest, key, [&](EntryRange found) { visit(same, found); });
    // Queries of an ungrouped graph may come in any order, so that the next may be a smaller one.
    if (queries.grouped) rest.first = next;
    query = same.last;
  }
}

/// Counting (Green, Alg. 1, third loop): one entry more in the key's bucket. `add_one(Offset*)` adds 1, and
/// does so atomically where tiles share counts.
template <class Key, class Bucket, class Offset, class AddOne>
WARPMER_HD void count_entry(Key key, const Bucket& bucket_of, Offset* counts, AddOne&& add_one) {
  add_one(counts + bucket_of(key));
}

/// Placing (Green, Alg. 1, last loop), with one array where Green has two: `ends` are the inclusive sums of
/// the counts, and every entry takes the last place that is left in its bucket. When all are placed, ends[b]
/// is where bucket b begins. `subtract_one(Offset*)` subtracts 1 and returns what is left.
template <class Key, class Value, class Bucket, class Offset, class SubtractOne>
WARPMER_HD void place_entry(Key key, Value value, const Bucket& bucket_of, Offset* ends, Key* keys,
                            Value* values, SubtractOne&& subtract_one) {
  const Offset at = subtract_one(ends + bucket_of(key));
  keys[at] = key;
  values[at] = value;
}

/// True when entry a stands before entry b in a grouped bucket.
template <class Key, class Value>
WARPMER_HD constexpr bool is_before(Key a_key, Value a_value, Key b_key, Value b_value) {
  return a_key != b_key ? a_key < b_key : a_value < b_value;
}

/// Orders the entries of a small bucket by key and value. Others are the driver's to sort.
template <class Key, class Value>
WARPMER_HD void group_small_bucket(EntryRange bucket, Key* keys, Value* values) {
  for (std::uint64_t i = bucket.first + 1; i < bucket.last; ++i) {
    const Key key = keys[i];
    const Value value = values[i];
    std::uint64_t at = i;
    for (; at > bucket.first && is_before(key, value, keys[at - 1], values[at - 1]); --at) {
      keys[at] = keys[at - 1];
      values[at] = values[at - 1];
    }
    keys[at] = key;
    values[at] = value;
  }
}

}  // namespace warpmer::table
