#pragma once
/// Builds and probes HashGraphs (table/hash_graph.h) on a GPU, with keys of 32, 64 and 128 bits, and values
/// of 32 bits.

#include <cstddef>
#include <cstdint>

#include "kernels/memory/device_memory.cuh"
#include "kmer/kmer.h"
#include "table/hash_graph.h"

namespace warpmer::gpu {

/// A HashGraph in device memory.
template <class Key>
struct DeviceHashGraph {
  table::HashedBucket<Key> bucket_of;
  DeviceArray<std::uint32_t> offsets;  ///< buckets + 1
  DeviceArray<Key> keys;
  DeviceArray<std::uint32_t> values;
  bool grouped = false;

  using View = table::HashGraphView<Key, std::uint32_t>;
  /// Returns the view that kernels get.
  [[nodiscard]] View view() const { return {bucket_of, offsets.data(), keys.data(), values.data(), grouped}; }
};

/// Builds a HashGraph of `n` keys in device memory, each with its value or, if `values` is null, with the
/// number of the entry. Keys may repeat. A grouped graph is the one that `bench::build_hash_graph` builds;
/// else the order inside a bucket is left to chance. Returns when the graph is complete. V2 takes the memory
/// of the entries once more while it builds, and so do large buckets that are grouped. Throws a ResourceError
/// beyond 2^32 - 1 entries, or without memory. V2 has about so many `bins`, 8192 at most; with 0, as many as
/// are best.
template <class Key>
DeviceHashGraph<Key> build_hash_graph(const Key* keys, const std::uint32_t* values, std::size_t n,
                                      const table::HashedBucket<Key>& bucket_of,
                                      table::HashGraphVersion version, bool group, cudaStream_t stream,
                                      std::uint32_t bins = 0);

/// The entries that a query finds.
struct Matches {
  std::uint32_t first;  ///< first entry; in a grouped graph, the others follow it
  std::uint32_t count;  ///< number of entries with the query's key; with 0, `first` says nothing
};

/// Probe-standard: writes the `matches` of each of the `n` queries; all arrays are in device memory. A query
/// of an ungrouped graph walks its whole bucket.
template <class Key>
void probe_standard(const typename DeviceHashGraph<Key>::View& table, const Key* queries, std::size_t n,
                    Matches* matches, cudaStream_t stream);

/// Probe-new: does the same for queries in a HashGraph that has the same buckets as `table`, and whose values
/// are the numbers of the `n` queries. Buckets of two ungrouped graphs cost the product of their sizes.
template <class Key>
void probe_new(const typename DeviceHashGraph<Key>::View& table,
               const typename DeviceHashGraph<Key>::View& queries, std::size_t n, Matches* matches,
               cudaStream_t stream);

}  // namespace warpmer::gpu
