#pragma once
/// Building and probing HashGraphs (table/hash_graph.h) on a GPU. Keys of 32, 64 and 128 bits, values of 32.

#include <cstddef>
#include <cstdint>

#include "kernels/memory/device_memory.cuh"
#include "kmer/kmer.h"
#include "table/hash_graph.h"

namespace warpmer::gpu {

/// A HashGraph in device memory.
template <class Key>
struct HashGraph {
  table::HashedBucket<Key> bucket_of;
  DeviceArray<std::uint32_t> offsets;  ///< buckets + 1
  DeviceArray<Key> keys;
  DeviceArray<std::uint32_t> values;
  bool grouped = false;

  using View = table::HashGraphView<Key, std::uint32_t>;
  /// For kernels.
  [[nodiscard]] View view() const { return {bucket_of, offsets.data(), keys.data(), values.data(), grouped}; }
};

/// Builds a HashGraph of `n` keys in device memory, each with its value; where `values` is null, with the
/// number of the entry. Keys may repeat. Grouped, the graph is the one that `cpu::build_hash_graph` builds;
/// else the order inside a bucket is left to chance. Returns when the graph is complete. V2 takes the memory
/// of the entries once more while it builds, and so do large buckets that are grouped. ResourceError beyond
/// 2^32 - 1 entries, or without memory.
template <class Key>
HashGraph<Key> build_hash_graph(const Key* keys, const std::uint32_t* values, std::size_t n,
                                const table::HashedBucket<Key>& bucket_of, table::HashGraphVersion version,
                                bool group, cudaStream_t stream);

/// What a query finds.
struct Matches {
  std::uint32_t first;  ///< entry; of a grouped graph, the others follow it
  std::uint32_t count;  ///< entries with the query's key; with 0, `first` says nothing
};

/// Probe-standard: `matches` of each of the `n` queries, all in device memory. A query of an ungrouped graph
/// walks its whole bucket.
template <class Key>
void probe_standard(const typename HashGraph<Key>::View& table, const Key* queries, std::size_t n,
                    Matches* matches, cudaStream_t stream);

/// Probe-new: the same, of queries that are a HashGraph with the same buckets as `table`, whose values are
/// the numbers of the `n` queries. Buckets of two ungrouped graphs cost the product of their sizes.
template <class Key>
void probe_new(const typename HashGraph<Key>::View& table, const typename HashGraph<Key>::View& queries,
               std::size_t n, Matches* matches, cudaStream_t stream);

}  // namespace warpmer::gpu
