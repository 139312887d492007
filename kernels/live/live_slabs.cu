#include <algorithm>

#include "groups/group_key.h"
#include "kernels/live/live_slabs.cuh"
#include "kernels/lookup/routed_runs.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "kernels/text/text_tile.cuh"
#include "kmer/hash.h"
#include "table/work_sharing.h"

namespace warpmer::gpu {

namespace {

/// A k-mer's hash, and how often it comes.
template <class Key>
struct SlabRequest {
  Key key;
  std::uint32_t count;
  std::uint32_t unused[sizeof(Key) / sizeof(std::uint32_t) - 1] = {};
};

/// Serves requests on one table. All lanes of a tile call it together.
template <class Key, SlabAction kAction>
class SlabServer {
 public:
  using There = SlabsThere<Key>;
  using Tile = typename There::Tile;
  using Request = SlabRequest<Key>;

  __device__ explicit SlabServer(const There& there)
      : tile_(cg::tiled_partition<There::kLanes>(cg::this_thread_block())),
        table_(there.table()),
        resident_(table_.resident(tile_, (blockIdx.x * blockDim.x + threadIdx.x) / There::kLanes)),
        empty_key_count_(there.empty_key_count) {}

  /// Each lane brings a request, or none, whose answer it gets.
  __device__ void serve(bool is_active, const Request& mine, std::uint32_t& answer) {
    const bool is_empty_key = is_active && mine.key == table::kEmptyKey<Key>;
    if (is_empty_key) answer = serve_empty_key(mine.count);
    table::share_work(tile_, is_active && !is_empty_key, mine, answer,
                      [&](const Request& request) { return serve_one(request); });
  }

 private:
  __device__ std::uint32_t serve_one(const Request& request) {
    if constexpr (kAction == SlabAction::ask) {
      return table_.find(tile_, request.key);
    } else if constexpr (kAction == SlabAction::remove) {
      return table_.subtract(tile_, request.key, request.count).done ? kSlabDone : kSlabRefused;
    } else {
      const auto place = table_.place_for(tile_, resident_, request.key);
      if (place.slab == nullptr) return kSlabRefused;
      const std::uint32_t before = tile_.add(place.slab->slots(), place.slot, request.count);
      if (before <= kMostLiveCount - request.count) return kSlabDone;
      tile_.add(place.slab->slots(), place.slot, 0u - request.count);
      return kSlabTooMany;
    }
  }

  __device__ std::uint32_t serve_empty_key(std::uint32_t count) const {
    if constexpr (kAction == SlabAction::ask) {
      return *const_cast<volatile std::uint32_t*>(empty_key_count_);
    } else if constexpr (kAction == SlabAction::remove) {
      std::uint32_t there = *const_cast<volatile std::uint32_t*>(empty_key_count_);
      while (there >= count) {
        const std::uint32_t found = atomicCAS(empty_key_count_, there, there - count);
        if (found == there) return kSlabDone;
        there = found;
      }
      return kSlabRefused;
    } else {
      if (atomicAdd(empty_key_count_, count) <= kMostLiveCount - count) return kSlabDone;
      atomicSub(empty_key_count_, count);
      return kSlabTooMany;
    }
  }

  Tile tile_;
  typename There::Table table_;
  table::ResidentBlock resident_;
  std::uint32_t* empty_key_count_;
};

template <class Key, SlabAction kAction>
__global__ __launch_bounds__(kTileThreads) void serve_text_kernel(SlabsThere<Key> there, KmerParams kmers,
                                                                  const char* text, std::uint32_t bytes,
                                                                  std::uint32_t starts,
                                                                  std::uint32_t* answers, CutStatus* status) {
  __shared__ TextTile tile;
  __shared__ std::uint8_t valid[kTileThreads];  // a bit for each of eight starts
  const std::uint32_t first = blockIdx.x * kTileStarts;
  pack_tile(tile, text, first, bytes, status);
  __syncthreads();
  static_assert(kStartsPerThread == 8);
  valid[threadIdx.x] = static_cast<std::uint8_t>(valid_starts(tile, threadIdx.x * kStartsPerThread, kmers.k));
  __syncthreads();
  const KmerHash<Key> hash(kmers.k);
  SlabServer<Key, kAction> server(there);
  for (std::uint32_t start = threadIdx.x; start < kTileStarts; start += kTileThreads) {
    // A k-mer behind the starts is the next slice's.
    const bool is_active = first + start < starts && ((valid[start / 8] >> (start % 8)) & 1) != 0;
    SlabRequest<Key> mine{0, 1};
    if (is_active) mine.key = hash(kmer_at<Key>(tile.packed, start, kmers.k, kmers.canonical));
    std::uint32_t answer = kNoKmerAnswer;
    server.serve(is_active, mine, answer);
    answers[first + start] = answer;
  }
}

constexpr std::uint32_t kKeyThreads = 256;

template <class Key, SlabAction kAction>
__global__ __launch_bounds__(kKeyThreads) void serve_keys_kernel(SlabsThere<Key> there, const Key* keys,
                                                                 const std::uint32_t* counts,
                                                                 std::uint32_t size, std::uint32_t* answers) {
  SlabServer<Key, kAction> server(there);
  const std::uint32_t i = blockIdx.x * kKeyThreads + threadIdx.x;
  const bool is_active = i < size;
  SlabRequest<Key> mine{0, 1};
  if (is_active) mine = {keys[i], counts == nullptr ? 1 : counts[i]};
  std::uint32_t answer = 0;
  server.serve(is_active, mine, answer);
  if (is_active) answers[i] = answer;
}

/// Blocks of a multiprocessor. Left to itself, the compiler spills registers so that there may be more.
/// (Measured on two H200: insertions 20.1 G/s instead of 18.8, at k = 55 18.9 instead of 16.9.)
template <class Key>
constexpr unsigned kPartBlocks = sizeof(Key) == 8 ? 5 : 4;

/// A warp takes 32 runs at a time, and its lanes share their k-mers.
template <class Key, SlabAction kAction>
__global__ __launch_bounds__(kKeyThreads, kPartBlocks<Key>) void serve_part_kernel(SlabsThere<Key> there,
                                                                                   KmerParams kmers,
                                                                                   RoutedPart part,
                                                                                   std::uint32_t* answers) {
  const auto* const packed = reinterpret_cast<const std::uint32_t*>(part.elements);
  const std::uint64_t* const runs = part.elements + part.base_elements;
  const KmerHash<Key> hash(kmers.k);
  SlabServer<Key, kAction> server(there);
  const std::uint32_t lane = threadIdx.x % 32;
  for (std::uint32_t first = blockIdx.x * kKeyThreads + threadIdx.x - lane; first < part.runs;
       first += gridDim.x * kKeyThreads) {
    RoutedRun routed{};
    if (first + lane < part.runs) routed = RoutedRun::unpacked(runs[first + lane]);
    for_each_routed(routed, [&](std::uint32_t start, std::uint32_t place, bool is_there) {
      SlabRequest<Key> mine{0, 1};
      if (is_there) mine.key = hash(kmer_at<Key>(packed, start, kmers.k, kmers.canonical));
      std::uint32_t answer = 0;
      server.serve(is_there, mine, answer);
      if (is_there) answers[place] = answer;
    });
  }
}

/// Calls `visit(key, count)` for each k-mer of the table, once: a tile a bucket, and lanes in turn.
template <class Key, class Visit>
__device__ void for_each_element(const SlabsThere<Key>& there, Visit&& visit) {
  using Tile = typename SlabsThere<Key>::Tile;
  const Tile tile(cg::tiled_partition<SlabsThere<Key>::kLanes>(cg::this_thread_block()));
  const auto table = there.table();
  const std::uint32_t tiles_each = blockDim.x / SlabsThere<Key>::kLanes;
  const std::uint32_t tiles = gridDim.x * tiles_each;
  for (std::uint32_t bucket = blockIdx.x * tiles_each + threadIdx.x / SlabsThere<Key>::kLanes;
       bucket < there.buckets; bucket += tiles) {
    int turn = 0;  // elements are dealt out to lanes, which all see them
    table.for_each(tile, bucket, [&](const table::Slot<Key>& slot) {
      if (turn == tile.lane()) visit(slot.key, slot.count);
      turn = (turn + 1) % SlabsThere<Key>::kLanes;
    });
  }
  if (blockIdx.x == 0 && threadIdx.x == 0 && *there.empty_key_count > 0)
    visit(table::kEmptyKey<Key>, *there.empty_key_count);
}

/// Calls `visit(place, count)` for each k-mer of the table, once.
template <class Key, class Visit>
__device__ void for_each_kmer(const SlabsThere<Key>& there, const KmerParams& kmers, Visit&& visit) {
  const KmerHash<Key> hash(kmers.k);
  const groups::GroupKeys<Key, Key> keys(kmers.k);
  for_each_element(there, [&](Key key, std::uint32_t count) {
    visit(keys.place(hash.inverse(key), kmers.canonical), count);
  });
}

/// Tallies of most counts are in a block's memory.
template <class Key>
__global__ __launch_bounds__(kKeyThreads) void tally_kernel(SlabsThere<Key> there,
                                                            unsigned long long* kmers) {
  constexpr std::uint32_t kOfBlock = 2048, kTallies = LiveSlabs<Key>::kTallies;
  __shared__ std::uint32_t of_block[kOfBlock];
  for (std::uint32_t i = threadIdx.x; i < kOfBlock; i += kKeyThreads) of_block[i] = 0;
  __syncthreads();
  for_each_element(there, [&](Key, std::uint32_t count) {
    if (count < kOfBlock) {
      atomicAdd(of_block + count, 1u);
    } else {
      atomicAdd(kmers + min(count, kTallies), 1ull);
    }
  });
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < kOfBlock; i += kKeyThreads) {
    if (of_block[i] > 0) atomicAdd(kmers + i, static_cast<unsigned long long>(of_block[i]));
  }
}

template <class Key>
__global__ __launch_bounds__(kKeyThreads) void list_large_kernel(SlabsThere<Key> there, std::uint32_t* counts,
                                                                 std::uint32_t* size) {
  for_each_element(there, [&](Key, std::uint32_t count) {
    if (count >= LiveSlabs<Key>::kTallies) counts[atomicAdd(size, 1u)] = count;
  });
}

template <class Key>
__global__ __launch_bounds__(kKeyThreads) void count_shards_kernel(SlabsThere<Key> there, KmerParams kmers,
                                                                   unsigned long long* sizes) {
  for_each_kmer(there, kmers,
                [&](const auto& place, std::uint32_t) { atomicAdd(sizes + place.shard, 1ull); });
}

template <class Key>
__global__ __launch_bounds__(kKeyThreads) void list_shards_kernel(SlabsThere<Key> there, KmerParams kmers,
                                                                  std::uint32_t first, std::uint32_t end,
                                                                  unsigned long long* places,
                                                                  PlacedKmer<Key>* to) {
  for_each_kmer(there, kmers, [&](const auto& place, std::uint32_t count) {
    if (place.shard >= first && place.shard < end)
      to[atomicAdd(places + place.shard, 1ull)] = {place.key, count};
  });
}

/// Words of a slab without elements: all ones for keys and the address, zeros between.
template <class Slab>
__global__ __launch_bounds__(kKeyThreads) void empty_slabs_kernel(std::uint32_t* words, std::size_t size) {
  constexpr std::uint32_t kKeyWords = Slab::kSlots * sizeof(typename Slab::Key) / sizeof(std::uint32_t);
  const std::size_t stride = std::size_t{gridDim.x} * kKeyThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kKeyThreads + threadIdx.x; i < size; i += stride) {
    const auto word = static_cast<std::uint32_t>(i % 32);
    words[i] = word < kKeyWords || word == 31 ? ~0u : 0;
  }
}

__global__ __launch_bounds__(kKeyThreads) void empty_bitmaps_kernel(std::uint32_t* words, std::size_t size,
                                                                    std::uint64_t units) {
  const std::size_t stride = std::size_t{gridDim.x} * kKeyThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kKeyThreads + threadIdx.x; i < size; i += stride)
    words[i] = table::bitmap_at_first(units, i);
}

template <class Slab>
void empty_slabs(const DeviceArray<Slab>& slabs, cudaStream_t stream) {
  static_assert(sizeof(Slab) == 32 * sizeof(std::uint32_t));
  const std::size_t words = slabs.size() * 32;
  empty_slabs_kernel<Slab>
      <<<blocks_for<empty_slabs_kernel<Slab>>(words, kKeyThreads, kKeyThreads), kKeyThreads, 0,
         DriverLock::Shared(stream)>>>(reinterpret_cast<std::uint32_t*>(slabs.data()), words);
  check_launch("emptying slabs");
}

/// Blocks with a thread for each.
std::uint32_t key_blocks(std::uint32_t size) { return (size + kKeyThreads - 1) / kKeyThreads; }

/// Calls `launch` with the action as a template argument.
template <class Launch>
void with_action(SlabAction action, Launch&& launch) {
  switch (action) {
    case SlabAction::insert:
      return launch.template operator()<SlabAction::insert>();
    case SlabAction::remove:
      return launch.template operator()<SlabAction::remove>();
    case SlabAction::ask:
      return launch.template operator()<SlabAction::ask>();
  }
}

}  // namespace

template <class Key>
LiveSlabs<Key>::LiveSlabs(std::uint64_t bytes, KmerParams kmers)
    : kmers_(kmers),
      bases_(std::max<std::uint64_t>(1, bytes / 2 / sizeof(Slab))),
      units_(std::max<std::uint64_t>(1, bytes / 2 / (sizeof(Slab) + 1))),
      bitmaps_(std::size_t{table::blocks_for(units_.size())} * table::kBitmapWords) {
  const Stream stream;
  empty_slabs(bases_, stream);
  empty_slabs(units_, stream);
  empty_bitmaps_kernel<<<blocks_for<empty_bitmaps_kernel>(bitmaps_.size(), kKeyThreads, kKeyThreads),
                         kKeyThreads, 0, DriverLock::Shared(stream)>>>(bitmaps_.data(), bitmaps_.size(),
                                                                       units_.size());
  check_launch("emptying bitmaps");
  fill_bytes(state_.data(), 0, 1, stream);
  fill_bytes(empty_key_count_.data(), 0, 1, stream);
  stream.wait();
}

template <class Key>
SlabsThere<Key> LiveSlabs<Key>::there() const {
  return {bases_.data(),          static_cast<std::uint32_t>(bases_.size()),
          bitmaps_.data(),        units_.data(),
          units_.size(),          state_.data(),
          empty_key_count_.data()};
}

template <class Key>
void LiveSlabs<Key>::serve_text(SlabAction action, const char* text, std::uint32_t bytes,
                                std::uint32_t starts, std::uint32_t* answers, CutStatus* status,
                                cudaStream_t stream) const {
  if (starts == 0) return;
  with_action(action, [&]<SlabAction kAction>() {
    serve_text_kernel<Key, kAction><<<tiles_of(starts), kTileThreads, 0, DriverLock::Shared(stream)>>>(
        there(), kmers_, text, bytes, starts, answers, status);
  });
  check_launch("serving the k-mers of a text");
}

template <class Key>
void LiveSlabs<Key>::serve_keys(SlabAction action, const Key* keys, const std::uint32_t* counts,
                                std::uint32_t size, std::uint32_t* answers, cudaStream_t stream) const {
  if (size == 0) return;
  with_action(action, [&]<SlabAction kAction>() {
    serve_keys_kernel<Key, kAction><<<key_blocks(size), kKeyThreads, 0, DriverLock::Shared(stream)>>>(
        there(), keys, counts, size, answers);
  });
  check_launch("serving k-mers");
}

template <class Key>
void LiveSlabs<Key>::serve_part(SlabAction action, const RoutedPart& part, std::uint32_t* answers,
                                cudaStream_t stream) const {
  if (part.runs == 0) return;
  with_action(action, [&]<SlabAction kAction>() {
    serve_part_kernel<Key, kAction><<<key_blocks(part.runs), kKeyThreads, 0, DriverLock::Shared(stream)>>>(
        there(), kmers_, part, answers);
  });
  check_launch("serving the k-mers of other GPUs");
}

template <class Key>
void LiveSlabs<Key>::count_shards(unsigned long long* sizes, cudaStream_t stream) const {
  constexpr auto kKernel = count_shards_kernel<Key>;
  const std::uint32_t blocks =
      blocks_for<kKernel>(bases_.size(), kKeyThreads / SlabsThere<Key>::kLanes, kKeyThreads);
  kKernel<<<blocks, kKeyThreads, 0, DriverLock::Shared(stream)>>>(there(), kmers_, sizes);
  check_launch("counting k-mers");
}

template <class Key>
void LiveSlabs<Key>::list_shards(std::uint32_t first, std::uint32_t end, unsigned long long* places,
                                 PlacedKmer<Key>* to, cudaStream_t stream) const {
  constexpr auto kKernel = list_shards_kernel<Key>;
  const std::uint32_t blocks =
      blocks_for<kKernel>(bases_.size(), kKeyThreads / SlabsThere<Key>::kLanes, kKeyThreads);
  kKernel<<<blocks, kKeyThreads, 0, DriverLock::Shared(stream)>>>(there(), kmers_, first, end, places, to);
  check_launch("listing k-mers");
}

template <class Key>
void LiveSlabs<Key>::tally(unsigned long long* kmers, cudaStream_t stream) const {
  constexpr auto kKernel = tally_kernel<Key>;
  const std::uint32_t blocks =
      blocks_for<kKernel>(bases_.size(), kKeyThreads / SlabsThere<Key>::kLanes, kKeyThreads);
  kKernel<<<blocks, kKeyThreads, 0, DriverLock::Shared(stream)>>>(there(), kmers);
  check_launch("tallying counts");
}

template <class Key>
void LiveSlabs<Key>::list_large(std::uint32_t* counts, std::uint32_t* size, cudaStream_t stream) const {
  constexpr auto kKernel = list_large_kernel<Key>;
  const std::uint32_t blocks =
      blocks_for<kKernel>(bases_.size(), kKeyThreads / SlabsThere<Key>::kLanes, kKeyThreads);
  kKernel<<<blocks, kKeyThreads, 0, DriverLock::Shared(stream)>>>(there(), counts, size);
  check_launch("listing large counts");
}

template class LiveSlabs<Key64>;
template class LiveSlabs<Key128>;

}  // namespace warpmer::gpu
