#pragma once
/// Building and probing whole HashGraphs (table/hash_graph.h) with threads. The index of positions is built
/// bin by bin (cpu/positions/hash_graph.h); this is the paper's structure for any keys and values.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/thread_team.h"
#include "cpu/memory/bin_splitter.h"
#include "cpu/memory/huge_array.h"
#include "cpu/positions/hash_graph.h"
#include "table/hash_graph.h"

namespace warpmer::bench {

struct HashGraphPlan {
  table::HashGraphVersion version = table::HashGraphVersion::v2;
  bool group = true;  ///< order the entries of each bucket by key and value, so that a key's are adjacent
  unsigned threads = 1;
  std::uint32_t bins = 0;  ///< of V2, about; 0: as many as are best
};

/// A HashGraph and its memory. With V2, or grouped, its arrays are the same for any number of threads.
template <class Key, class Value, class Bucket = table::HashedBucket<Key>>
struct HashGraph {
  using Offset = std::uint32_t;
  Bucket bucket_of;
  std::unique_ptr<Offset[]> offsets;  ///< buckets + 1
  std::unique_ptr<Key[]> keys;
  std::unique_ptr<Value[]> values;
  std::size_t entries = 0;
  bool grouped = false;

  [[nodiscard]] table::HashGraphView<Key, Value, Bucket, Offset> view() const {
    return {bucket_of, offsets.get(), keys.get(), values.get(), grouped};
  }
};

namespace detail {

/// Entries of a V2 bin, about: with its values and counts it is to stay in a core's second-level cache.
inline constexpr std::size_t kBinBytes = std::size_t{256} << 10;
inline constexpr std::uint32_t kMostBins = 1u << 14;
/// Queries under way at once: each is two cache misses.
inline constexpr std::size_t kQueriesAhead = 32;

/// Returns part `t` of `threads` equal parts of [0, n).
inline std::pair<std::size_t, std::size_t> part_of(std::size_t n, unsigned t, unsigned threads) {
  return {n * t / threads, n * (t + std::size_t{1}) / threads};
}

/// Sums up the counts of all buckets up to each, by all threads.
template <class Offset>
void inclusive_scan(Offset* counts, std::size_t n, unsigned threads) {
  std::vector<Offset> sums(threads, 0);
  const auto no_matter = [] {};
  run_team(
      threads,
      [&](unsigned t) {
        const auto [first, last] = part_of(n, t, threads);
        for (std::size_t i = first; i < last; ++i) sums[t] += counts[i];
      },
      no_matter);
  Offset before = 0;
  for (Offset& sum : sums) before += std::exchange(sum, before);
  run_team(
      threads,
      [&](unsigned t) {
        const auto [first, last] = part_of(n, t, threads);
        Offset sum = sums[t];
        for (std::size_t i = first; i < last; ++i) counts[i] = sum += counts[i];
      },
      no_matter);
}

template <class Key, class Value, class Bucket>
class HashGraphBuilder {
 public:
  using Graph = HashGraph<Key, Value, Bucket>;
  using Offset = typename Graph::Offset;

  HashGraphBuilder(const Key* keys, const Value* values, std::size_t n, const Bucket& bucket_of,
                   const HashGraphPlan& plan)
      : keys_(keys, n),
        values_(values),
        plan_(plan),
        threads_(std::max(plan.threads, 1u)),
        buckets_(bucket_of.buckets()),
        graph_{bucket_of, {}, {}, {}, n, plan.group} {
    if (n > UINT32_MAX) throw ResourceError("a HashGraph holds up to 4294967295 entries; split the input");
    graph_.offsets = std::make_unique_for_overwrite<Offset[]>(std::size_t{buckets_} + 1);
    graph_.keys = std::make_unique_for_overwrite<Key[]>(n);
    graph_.values = std::make_unique_for_overwrite<Value[]>(n);
  }

  Graph build() {
    if (plan_.version == table::HashGraphVersion::v1) {
      build_v1();
    } else {
      build_v2();
    }
    graph_.offsets[buckets_] = static_cast<Offset>(keys_.size());
    return std::move(graph_);
  }

 private:
  [[nodiscard]] Value value_of(std::size_t i) const {
    return values_ == nullptr ? static_cast<Value>(i) : values_[i];
  }

  template <class Work>
  void in_parallel(Work&& work) {
    run_team(threads_, work, [] {});
  }

  void build_v1() {
    Offset* offsets = graph_.offsets.get();
    in_parallel([&](unsigned t) {
      const auto [first, last] = part_of(buckets_, t, threads_);
      std::fill(offsets + first, offsets + last, Offset{0});
    });
    in_parallel([&](unsigned t) {
      const auto [first, last] = part_of(keys_.size(), t, threads_);
      for (std::size_t i = first; i < last; ++i) {
        table::count_entry(keys_[i], graph_.bucket_of, offsets, [](Offset* count) {
          std::atomic_ref(*count).fetch_add(1, std::memory_order_relaxed);
        });
      }
    });
    inclusive_scan(offsets, buckets_, threads_);
    in_parallel([&](unsigned t) {
      const auto [first, last] = part_of(keys_.size(), t, threads_);
      for (std::size_t i = last; i-- > first;) {
        table::place_entry(
            keys_[i], value_of(i), graph_.bucket_of, offsets, graph_.keys.get(), graph_.values.get(),
            [](Offset* end) { return std::atomic_ref(*end).fetch_sub(1, std::memory_order_relaxed) - 1; });
      }
    });
    // The end of the last bucket is wanted before anyone groups.
    offsets[buckets_] = static_cast<Offset>(keys_.size());
    if (!plan_.group) return;
    in_parallel([&](unsigned t) {
      const auto [first, last] = part_of(buckets_, t, threads_);
      group(first, last);
    });
  }

  void group(std::size_t first, std::size_t last) {
    std::vector<std::pair<Key, Value>> scratch;
    for (std::size_t b = first; b < last; ++b) {
      cpu::group_bucket({graph_.offsets[b], graph_.offsets[b + 1]}, graph_.keys.get(), graph_.values.get(),
                        scratch);
    }
  }

  void build_v2() {
    const std::uint64_t bytes = keys_.size() * (sizeof(Key) + sizeof(Value) + sizeof(Offset));
    const auto wanted = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
        plan_.bins != 0 ? plan_.bins : bytes / kBinBytes, 1, std::min(buckets_, kMostBins)));
    const auto shift =
        static_cast<std::uint32_t>(std::bit_width((buckets_ - 1) / wanted));  // buckets of a bin, at least
    const std::uint32_t bins = ((buckets_ - 1) >> shift) + 1;
    cpu::BinSplitter<Key, Value> splitter(threads_, bins);
    in_parallel([&](unsigned t) {
      const auto [first, last] = part_of(keys_.size(), t, threads_);
      std::uint64_t* counts = splitter.counts(t);
      for (std::size_t i = first; i < last; ++i) ++counts[graph_.bucket_of(keys_[i]) >> shift];
    });
    const cpu::HugeArray<Key> keys(keys_.size());
    const cpu::HugeArray<Value> values(keys_.size());
    splitter.lay_out(0, bins, keys.data(), values.data());
    in_parallel([&](unsigned t) {
      const auto [first, last] = part_of(keys_.size(), t, threads_);
      typename cpu::BinSplitter<Key, Value>::Writer writer(splitter, t);
      for (std::size_t i = first; i < last; ++i)
        writer.put(graph_.bucket_of(keys_[i]) >> shift, keys_[i], value_of(i));
      writer.flush();
    });
    std::atomic<std::uint32_t> next{0};
    in_parallel([&](unsigned) {
      std::vector<std::pair<Key, Value>> scratch;
      for (std::uint32_t bin = next++; bin < bins; bin = next++)
        build_one(splitter, bin, shift, keys.data(), values.data(), scratch);
    });
  }

  void build_one(const cpu::BinSplitter<Key, Value>& splitter, std::uint32_t bin, std::uint32_t shift,
                 const Key* keys, const Value* values, std::vector<std::pair<Key, Value>>& scratch) {
    const std::uint64_t begin = splitter.bin_begin(bin), end = splitter.bin_begin(bin + 1);
    const std::uint32_t first = bin << shift;
    const auto buckets =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(buckets_ - first, std::uint64_t{1} << shift));
    const auto local = [&](Key key) { return graph_.bucket_of(key) - first; };
    Offset* offsets = graph_.offsets.get() + first;
    cpu::build_bin(keys + begin, values + begin, static_cast<std::size_t>(end - begin), local, buckets,
                   static_cast<Offset>(begin), offsets, graph_.keys.get(), graph_.values.get());
    if (!plan_.group) return;
    for (std::uint32_t b = 0; b < buckets; ++b) {
      // The next bin's first offset may not be there yet.
      const std::uint64_t last = b + 1 < buckets ? offsets[b + 1] : end;
      cpu::group_bucket({offsets[b], last}, graph_.keys.get(), graph_.values.get(), scratch);
    }
  }

  std::span<const Key> keys_;
  const Value* values_;
  HashGraphPlan plan_;
  unsigned threads_;
  std::uint32_t buckets_;
  Graph graph_;
};

}  // namespace detail

/// Builds a HashGraph of `n` keys, each with its value; where `values` is null, the number of the entry. Keys
/// may repeat. ResourceError beyond 2^32 - 1. V2 takes the memory of the entries once more while it builds.
template <class Key, class Value, class Bucket>
HashGraph<Key, Value, Bucket> build_hash_graph(const Key* keys, const Value* values, std::size_t n,
                                               const Bucket& bucket_of, const HashGraphPlan& plan) {
  return detail::HashGraphBuilder<Key, Value, Bucket>(keys, values, n, bucket_of, plan).build();
}

/// Probe-standard: calls `visit(thread, number of the query, EntryRange)` for what each query finds. Queries
/// are looked up some at a time, so that their cache misses overlap.
template <class View, class Key, class Visit>
void probe_standard(const View& table, const Key* queries, std::size_t n_queries, unsigned threads,
                    Visit&& visit) {
  run_team(
      std::max(threads, 1u),
      [&](unsigned thread) {
        const auto [first, last] = detail::part_of(n_queries, thread, std::max(threads, 1u));
        std::uint32_t buckets[detail::kQueriesAhead];
        for (std::size_t at = first; at < last; at += detail::kQueriesAhead) {
          const std::size_t n = std::min(detail::kQueriesAhead, last - at);
          for (std::size_t i = 0; i < n; ++i) {
            buckets[i] = table.bucket_of(queries[at + i]);
            __builtin_prefetch(table.offsets + buckets[i]);
          }
          for (std::size_t i = 0; i < n; ++i) __builtin_prefetch(table.keys + table.offsets[buckets[i]]);
          for (std::size_t i = 0; i < n; ++i) {
            table.probe_bucket(table.bucket(buckets[i]), queries[at + i],
                               [&](table::EntryRange found) { visit(thread, at + i, found); });
          }
        }
      },
      [] {});
}

/// Probe-new: `queries` is a HashGraph of the queries with the buckets of `table`. Calls
/// `visit(thread, EntryRange of queries, EntryRange of table)` for what matches.
template <class View, class QueryView, class Visit>
void probe_new(const View& table, const QueryView& queries, unsigned threads, Visit&& visit) {
  constexpr std::uint64_t kBuckets = 4096;  // taken at a time
  const std::uint64_t buckets = queries.buckets();
  std::atomic<std::uint64_t> next{0};
  run_team(
      std::max(threads, 1u),
      [&](unsigned thread) {
        for (std::uint64_t first = next.fetch_add(kBuckets); first < buckets;
             first = next.fetch_add(kBuckets)) {
          const std::uint64_t last = std::min(first + kBuckets, buckets);
          for (std::uint64_t b = first; b < last; ++b) {
            table::intersect_bucket(
                table, queries, static_cast<std::uint32_t>(b),
                [&](table::EntryRange asked, table::EntryRange found) { visit(thread, asked, found); });
          }
        }
      },
      [] {});
}

}  // namespace warpmer::bench
