#pragma once
/// One bin of a HashGraph (table/hash_graph.h), by one thread: what the index of positions is built of.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "table/hash_graph.h"

namespace warpmer::cpu {

/// Orders a bucket of any size by key and value. `scratch` is reused from call to call.
template <class Key, class Value>
void group_bucket(table::EntryRange bucket, Key* keys, Value* values,
                  std::vector<std::pair<Key, Value>>& scratch) {
  if (bucket.size() <= table::kSmallBucket) {
    table::group_small_bucket(bucket, keys, values);
    return;
  }
  // One hot key is in order from the start, where places follow the input.
  bool is_sorted = true;
  for (std::uint64_t i = bucket.first + 1; i < bucket.last && is_sorted; ++i)
    is_sorted = !table::is_before(keys[i], values[i], keys[i - 1], values[i - 1]);
  if (is_sorted) return;
  scratch.clear();
  for (std::uint64_t i = bucket.first; i < bucket.last; ++i) scratch.emplace_back(keys[i], values[i]);
  std::sort(scratch.begin(), scratch.end());
  for (std::uint64_t i = bucket.first; i < bucket.last; ++i)
    std::tie(keys[i], values[i]) = scratch[static_cast<std::size_t>(i - bucket.first)];
}

/// Builds one bin of V2 (Green 2019, Alg. 2, third phase), by one thread: its `n` entries are counted, summed
/// up and placed at keys_out and values_out [begin, begin + n). `offsets` are those of the bin's buckets;
/// `bucket_of` counts from its first one. Entries of a bucket keep their order.
template <class Key, class Value, class Bucket, class Offset>
void build_bin(const Key* keys, const Value* values, std::size_t n, const Bucket& bucket_of,
               std::uint32_t buckets, Offset begin, Offset* offsets, Key* keys_out, Value* values_out) {
  std::fill_n(offsets, buckets, Offset{0});
  for (std::size_t i = 0; i < n; ++i)
    table::count_entry(keys[i], bucket_of, offsets, [](Offset* count) { ++*count; });
  Offset sum = begin;
  for (std::uint32_t b = 0; b < buckets; ++b) offsets[b] = sum += offsets[b];
  for (std::size_t i = n; i-- > 0;) {
    table::place_entry(keys[i], values[i], bucket_of, offsets, keys_out, values_out,
                       [](Offset* end) { return --*end; });
  }
}

}  // namespace warpmer::cpu
