#pragma once
/// Builds and asks a lookup table on the device, whatever its scheme (table/lookup_table.h). One file for
/// each scheme includes this.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "kernels/lookup/lookup_table.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/tile_cuda.cuh"
#include "kernels/text/text_tile.cuh"
#include "kernels/upload/frozen_shards.cuh"
#include "kmer/hash.h"
#include "table/rebuild.h"
#include "table/work_sharing.h"

namespace warpmer::gpu {
namespace {

constexpr unsigned kBuildThreads = 256;

/// The result of a build.
struct BuildState {
  std::uint32_t homeless;      ///< number of keys that found no place
  std::uint32_t marker_count;  ///< count of the key that marks empty slots, which is in no slot
  std::uint32_t has_stash;     ///< not 0: something is in the stash
};

/// Returns a count as it is kept and answered.
__device__ inline std::uint32_t answer_of(std::uint64_t count) {
  return count < kLargeCountAnswer ? static_cast<std::uint32_t>(count) : kLargeCountAnswer;
}

/// Inserts shards with a grid of shards by parts of a shard. Each lane decodes the entries of a bucket, one
/// after the other, and the lanes of its group insert together what they bring.
template <class Lookup, class Tile, int kPass>
__global__ __launch_bounds__(kBuildThreads) void fill_kernel(
    typename Lookup::template Scheme<Tile> scheme, const index::ShardReader<typename Tile::Key>* shards,
    BuildState* state) {
  using Key = typename Tile::Key;
  const Tile tile(cg::tiled_partition<Tile::Group::num_threads()>(cg::this_thread_block()));
  const index::ShardReader<Key>& shard = shards[blockIdx.x];
  const std::size_t buckets = shard.buckets(), stride = std::size_t{gridDim.y} * kBuildThreads;
  const auto lane = static_cast<unsigned>(tile.lane());
  for (std::size_t group = std::size_t{blockIdx.y} * kBuildThreads + threadIdx.x - lane; group < buckets;
       group += stride) {
    // A build that has failed need not go on.
    const std::uint32_t failed = *const_cast<const volatile std::uint32_t*>(&state->homeless);
    if (tile.from_lane(failed, 0) > 0) return;
    const std::size_t bucket = group + lane;
    std::uint64_t next = 0, end = 0;
    if (bucket < buckets) {
      const auto [first, last] = shard.bucket(bucket);
      next = first;
      end = last;
    }
    for (; tile.ballot(next < end) != 0; ++next) {
      table::Slot<Key> entry{table::kEmptyKey<Key>, 0};
      if (next < end) {
        entry = {shard.hash_at(bucket, next), answer_of(shard.count_at(next))};
        if (entry.key == table::kEmptyKey<Key>) state->marker_count = entry.count;
      }
      std::uint32_t placed = 1;
      table::share_work(tile, entry.key != table::kEmptyKey<Key>, entry, placed,
                        [&](const table::Slot<Key>& one) -> std::uint32_t {
                          return Lookup::template fill<kPass>(scheme, tile, one) ? 1 : 0;
                        });
      if (placed == 0) atomicAdd(&state->homeless, 1);
    }
  }
}

/// Looks, with one group, whether something is in the stash.
template <class Scheme, class Tile>
__global__ void look_at_stash_kernel(Scheme scheme, BuildState* state) {
  const Tile tile(cg::tiled_partition<Tile::Group::num_threads()>(cg::this_thread_block()));
  const bool is_empty = scheme.stash_is_empty(tile);
  if (tile.lane() == 0) state->has_stash = is_empty ? 0 : 1;
}

struct TableTile : TextTile {
  std::uint8_t valid[kTileThreads];  ///< a bit for each of eight starts: set if there is no break
};

/// A block answers for a tile of text. The lanes of a group together look up the k-mer of each lane.
template <class Scheme, class Tile>
__global__ __launch_bounds__(kTileThreads) void look_up_in_table_kernel(
    const char* text, std::uint32_t bytes, std::uint32_t k, bool canonical, Scheme scheme,
    std::uint32_t marker_count, std::uint32_t* answers, CutStatus* status) {
  using Key = typename Tile::Key;
  static_assert(kStartsPerThread == 8, "the valid starts of a thread are a byte");
  __shared__ TableTile shared;
  const Tile tile(cg::tiled_partition<Tile::Group::num_threads()>(cg::this_thread_block()));
  const std::uint32_t first = blockIdx.x * kTileStarts;
  pack_tile(shared, text, first, bytes, status);
  __syncthreads();
  shared.valid[threadIdx.x] = static_cast<std::uint8_t>(valid_starts(shared, threadIdx.x * 8, k));
  __syncthreads();
  const KmerHash<Key> hash(k);
#pragma unroll 1
  for (std::uint32_t start = threadIdx.x; start < kTileStarts; start += kTileThreads) {
    const bool is_kmer = ((shared.valid[start / 8] >> (start % 8)) & 1) != 0;
    const Key key = hash(kmer_at<Key>(shared.packed, start, k, canonical));
    std::uint32_t answer = is_kmer ? marker_count : kNoKmerAnswer;
    table::share_work(tile, is_kmer && key != table::kEmptyKey<Key>, key, answer,
                      [&](Key one) { return scheme.find_with_count(tile, one).count; });
    answers[first + start] = answer;
  }
}

template <class Lookup, class Key>
class TableOnDevice : public DeviceIndex {
  // A lane looks at 32 bytes of keys, so that few lanes keep many loads of buckets under way.
  static constexpr int kSlotsPerLane = 32 / static_cast<int>(sizeof(Key));
  static constexpr int kLanes = Lookup::kBucket / kSlotsPerLane;
  using BuildTile = CudaTile<Key, kLanes, kSlotsPerLane, Reading::changing>;
  using FindTile = CudaTile<Key, kLanes, kSlotsPerLane, Reading::finished>;
  using BuildScheme = typename Lookup::template Scheme<BuildTile>;
  using FindScheme = typename Lookup::template Scheme<FindTile>;

 public:
  TableOnDevice(const index::IndexFile& index, const table::LookupTablePlan& plan)
      : k_(index.params().k),
        canonical_(index.params().canonical),
        buckets_(table::lookup_buckets<Lookup>(index.totals().stored_distinct, plan)),
        memory_(BuildScheme::slots_for(buckets_) * table::Slots<Key>::kBytes) {
    refuse_old_gpu();
    const FrozenShards<Key> shards(index);
    std::uint32_t builds = 0;
    const auto seed = table::first_seed_that_builds(plan.first_seed, plan.attempts, [&](std::uint32_t one) {
      return build(index, shards, one) && builds++ >= plan.discarded;
    });
    if (!seed) {
      throw ResourceError(
          "no lookup table for " + index.path() + " came about: in " + std::to_string(plan.attempts) +
          " builds with different hash functions some k-mer found no place; use --table index");
    }
    const FindScheme scheme(slots(), buckets_, *seed);
    scheme_.emplace(has_stash_ ? scheme : scheme.without_stash());
  }

  void look_up(const char* text, std::uint32_t bytes, std::uint32_t starts, std::uint32_t* answers,
               CutStatus* status, cudaStream_t stream) const override {
    if (starts == 0) return;
    look_up_in_table_kernel<FindScheme, FindTile>
        <<<tiles_of(starts), kTileThreads, 0, DriverLock::Shared(stream)>>>(
            text, bytes, k_, canonical_, *scheme_, marker_count_, answers, status);
    check_launch("looking k-mers up");
  }

 private:
  [[nodiscard]] table::Slots<Key> slots() const {
    return table::Slots<Key>::in(memory_.data(), BuildScheme::slots_for(buckets_));
  }

  /// Keys of 128 bits are claimed by one compare and swap, which older GPUs do not have.
  void refuse_old_gpu() const {
    int gpu = 0, major = 0;
    check(cudaGetDevice(&gpu), "asking for the device");
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu), "asking for the GPU");
    if (sizeof(Key) == 16 && major < 9) {
      throw ResourceError("a lookup table for k = " + std::to_string(k_) +
                          " needs a GPU of compute capability 9.0; use --table index");
    }
  }

  /// Fills the table with one hash function; returns false if some key found no place.
  bool build(const index::IndexFile& index, const FrozenShards<Key>& shards, std::uint32_t seed) {
    const std::size_t size = BuildScheme::slots_for(buckets_);
    const Stream stream;
    const DeviceArray<BuildState> state(1);
    fill_bytes(slots().keys, 0xFF, size, stream);
    fill_bytes(slots().counts, 0, size, stream);
    fill_bytes(state.data(), 0, 1, stream);
    const BuildScheme scheme(slots(), buckets_, seed);
    const dim3 grid(shards.size(), parts_of_largest(index));
    fill_kernel<Lookup, BuildTile, 0>
        <<<grid, kBuildThreads, 0, DriverLock::Shared(stream)>>>(scheme, shards.readers(), state.data());
    if constexpr (Lookup::template kPasses < BuildTile >> 1)
      fill_kernel<Lookup, BuildTile, 1>
          <<<grid, kBuildThreads, 0, DriverLock::Shared(stream)>>>(scheme, shards.readers(), state.data());
    look_at_stash_kernel<BuildScheme, BuildTile>
        <<<1, kLanes, 0, DriverLock::Shared(stream)>>>(scheme, state.data());
    check_launch("building a lookup table");
    const PinnedArray<BuildState> result(1);
    copy_to_host(result.data(), state.data(), 1, stream);
    stream.wait();
    marker_count_ = result[0].marker_count;
    has_stash_ = result[0].has_stash != 0;
    return result[0].homeless == 0;
  }

  /// Returns the number of blocks for each shard: one lane for each bucket, if these are not too many.
  static std::uint32_t parts_of_largest(const index::IndexFile& index) {
    std::uint32_t bits = 0;
    for (std::uint32_t s = 0; s < index.params().shards(); ++s)
      bits = std::max<std::uint32_t>(bits, index.shape(s).bucket_bits);
    constexpr std::uint64_t kMostParts = 1024;
    const std::uint64_t parts = (std::uint64_t{1} << bits) / kBuildThreads;
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(parts, 1, kMostParts));
  }

  std::uint32_t k_;
  bool canonical_;
  std::uint32_t buckets_;
  DeviceArray<std::byte> memory_;
  std::optional<FindScheme> scheme_;
  std::uint32_t marker_count_ = 0;
  bool has_stash_ = false;
};

template <template <class> class Lookup>
std::unique_ptr<DeviceIndex> build_table(const index::IndexFile& index, const table::LookupTablePlan& plan) {
  return with_key_type(index.params().k, [&]<class Key>(Key) -> std::unique_ptr<DeviceIndex> {
    return std::make_unique<TableOnDevice<Lookup<Key>, Key>>(index, plan);
  });
}

}  // namespace
}  // namespace warpmer::gpu
