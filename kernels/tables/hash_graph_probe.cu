// Probing HashGraphs on a GPU: probe-standard and probe-new of Green 2019, section 3.4.

#include <algorithm>

#include "kernels/memory/persistent_grid.cuh"
#include "kernels/tables/hash_graph.cuh"

namespace warpmer::gpu {

namespace {

using table::EntryRange;

constexpr std::uint32_t kGraphProbeThreads = 256;

/// The entries that a query finds, piece by piece.
struct FoundEntries {
  Matches matches{0, 0};
  __device__ void add(EntryRange found) {
    if (matches.count == 0) matches.first = static_cast<std::uint32_t>(found.first);
    matches.count += static_cast<std::uint32_t>(found.size());
  }
};

template <class Key>
__device__ Matches matches_of(const typename DeviceHashGraph<Key>::View& table, EntryRange bucket, Key key) {
  FoundEntries found;
  table.probe_bucket(bucket, key, [&](EntryRange range) { found.add(range); });
  return found.matches;
}

template <class Key>
__global__ void probe_standard_kernel(typename DeviceHashGraph<Key>::View table, const Key* queries,
                                      std::size_t n, Matches* matches) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += threads) {
    const Key key = queries[i];
    matches[i] = matches_of(table, table.bucket(table.bucket_of(key)), key);
  }
}

/// A thread a bucket. Those with very many queries are left to the next kernel, where every query has a
/// thread: a hot key must not keep one thread busy for all.
template <class Key>
__global__ void intersect_buckets_kernel(typename DeviceHashGraph<Key>::View table,
                                         typename DeviceHashGraph<Key>::View queries, Matches* matches,
                                         std::uint32_t* has_large) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  const std::uint32_t buckets = queries.buckets();
  for (std::size_t b = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; b < buckets; b += threads) {
    const auto bucket = static_cast<std::uint32_t>(b);
    if (queries.bucket(bucket).size() > table::kSmallBucket) {
      *has_large = 1;
      continue;
    }
    table::intersect_bucket(table, queries, bucket, [&](EntryRange asked, EntryRange found) {
      for (std::uint64_t q = asked.first; q < asked.last; ++q) {
        FoundEntries so_far{matches[queries.values[q]]};
        so_far.add(found);
        matches[queries.values[q]] = so_far.matches;
      }
    });
  }
}

template <class Key>
__global__ void probe_large_buckets_kernel(typename DeviceHashGraph<Key>::View table,
                                           typename DeviceHashGraph<Key>::View queries, std::size_t n,
                                           Matches* matches, const std::uint32_t* has_large) {
  if (*has_large == 0) return;
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t q = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; q < n; q += threads) {
    const Key key = queries.keys[q];
    const std::uint32_t bucket = queries.bucket_of(key);
    if (queries.bucket(bucket).size() > table::kSmallBucket)
      matches[queries.values[q]] = matches_of(table, table.bucket(bucket), key);
  }
}

template <class... Parameters>
std::uint32_t grid_for(void (*kernel)(Parameters...), std::uint64_t n) {
  return std::min(persistent_grid(kernel, kGraphProbeThreads, 0), blocks_of(n, kGraphProbeThreads));
}

}  // namespace

template <class Key>
void probe_standard(const typename DeviceHashGraph<Key>::View& table, const Key* queries, std::size_t n,
                    Matches* matches, cudaStream_t stream) {
  if (n == 0) return;
  const std::uint32_t grid = grid_for(probe_standard_kernel<Key>, n);
  probe_standard_kernel<Key>
      <<<grid, kGraphProbeThreads, 0, DriverLock::Shared(stream)>>>(table, queries, n, matches);
  check_launch("probing a HashGraph");
}

template <class Key>
void probe_new(const typename DeviceHashGraph<Key>::View& table,
               const typename DeviceHashGraph<Key>::View& queries, std::size_t n, Matches* matches,
               cudaStream_t stream) {
  if (n == 0) return;
  if (table.buckets() != queries.buckets())
    throw InternalError("HashGraphs with different buckets cannot be intersected");
  DeviceArray<std::uint32_t> has_large(1);
  fill_bytes(has_large.data(), 0, 1, stream);
  fill_bytes(matches, 0, n, stream);
  const std::uint32_t grid = grid_for(intersect_buckets_kernel<Key>, queries.buckets());
  intersect_buckets_kernel<Key><<<grid, kGraphProbeThreads, 0, DriverLock::Shared(stream)>>>(
      table, queries, matches, has_large.data());
  check_launch("intersecting two HashGraphs");
  const std::uint32_t rest = grid_for(probe_large_buckets_kernel<Key>, n);
  probe_large_buckets_kernel<Key><<<rest, kGraphProbeThreads, 0, DriverLock::Shared(stream)>>>(
      table, queries, n, matches, has_large.data());
  check_launch("probing large buckets");
  check(cudaStreamSynchronize(stream), "intersecting two HashGraphs");
}

template void probe_standard<std::uint32_t>(const DeviceHashGraph<std::uint32_t>::View&, const std::uint32_t*,
                                            std::size_t, Matches*, cudaStream_t);
template void probe_standard<Key64>(const DeviceHashGraph<Key64>::View&, const Key64*, std::size_t, Matches*,
                                    cudaStream_t);
template void probe_standard<Key128>(const DeviceHashGraph<Key128>::View&, const Key128*, std::size_t,
                                     Matches*, cudaStream_t);
template void probe_new<std::uint32_t>(const DeviceHashGraph<std::uint32_t>::View&,
                                       const DeviceHashGraph<std::uint32_t>::View&, std::size_t, Matches*,
                                       cudaStream_t);
template void probe_new<Key64>(const DeviceHashGraph<Key64>::View&, const DeviceHashGraph<Key64>::View&,
                               std::size_t, Matches*, cudaStream_t);
template void probe_new<Key128>(const DeviceHashGraph<Key128>::View&, const DeviceHashGraph<Key128>::View&,
                                std::size_t, Matches*, cudaStream_t);

}  // namespace warpmer::gpu
