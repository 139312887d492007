#include <algorithm>

#include "kernels/live/live_kernels.cuh"
#include "kernels/live/live_kmers.cuh"
#include "table/bucket_choice.h"
#include "table/slab.h"
#include "table/slab_alloc.h"
#include "table/slab_hash.h"

namespace warpmer::gpu {

namespace {

/// The table as kernels see it (live_kernels.cuh).
template <class KeyType>
struct SlabScheme {
  using Key = KeyType;
  using Slab = table::CountSlab<Key>;
  using Units = table::ContiguousUnits<Slab>;
  /// So many keys a lane, so that a warp serves eight k-mers at a time, or sixteen of 128 bits. (Measured on
  /// an H100, k = 31: 7.6 G insertions a second with one key a lane, 9.7 with two, 10.0 with four.)
  static constexpr int kKeysPerLane = 4;
  static constexpr int kLanes = table::kSlabBytes / sizeof(Key) / kKeysPerLane;
  /// Left to itself, the compiler spills registers so that there may be more. (Measured on two H200:
  /// insertions 20.1 G/s instead of 18.8, at k = 55 18.9 instead of 16.9.)
  static constexpr unsigned kTextBlocks = sizeof(Key) == 8 ? 6 : 5, kPartBlocks = sizeof(Key) == 8 ? 5 : 4;
  using Tile = CudaTile<Key, kLanes, kKeysPerLane>;
  using Home = table::OrderedBucket<Key>;
  using Table = table::SlabHash<Tile, Units, Home>;

  std::uint32_t* beside;
  std::uint64_t groups;  ///< buckets
  Slab* bases;
  std::uint32_t* bitmaps;
  Slab* units;
  std::uint64_t unit_count;
  table::SlabAllocState* state;
  std::uint32_t key_bits;  ///< of the hashes that are keys

  class SlabWorker {
   public:
    __device__ SlabWorker(const SlabScheme& scheme, const Tile& tile, std::uint32_t number)
        : tile_(tile),
          table_(scheme.bases, Home(static_cast<std::uint32_t>(scheme.groups), scheme.key_bits),
                 {Units(scheme.bitmaps, scheme.units, scheme.unit_count), scheme.state}),
          resident_(table_.resident(tile_, number)) {}

    __device__ std::uint32_t insert(Key key, std::uint32_t n) {
      const auto place = table_.place_for(tile_, resident_, key);
      if (place.slab == nullptr) return kLiveRefused;
      return add_in_bounds(tile_, place.slab->slots(), place.slot, n);
    }
    __device__ bool remove(Key key, std::uint32_t n) const { return table_.subtract(tile_, key, n).done; }
    __device__ std::uint32_t ask(Key key) const { return table_.find(tile_, key); }
    template <class Visit>
    __device__ void for_each(std::uint64_t bucket, Visit&& visit) const {
      table_.for_each(tile_, static_cast<std::uint32_t>(bucket), visit);
    }
    __device__ std::uint32_t drop_removed(std::uint64_t bucket) const {
      return table_.flush(tile_, static_cast<std::uint32_t>(bucket)).elements;
    }

   private:
    Tile tile_;
    Table table_;
    table::ResidentBlock resident_;
  };
  using Worker = SlabWorker;
};

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

template <class Key>
class LiveSlabs : public LaunchedKmers<SlabScheme<Key>> {
 public:
  using Slab = typename SlabScheme<Key>::Slab;

  LiveSlabs(std::uint64_t bytes, KmerParams kmers)
      : LaunchedKmers<SlabScheme<Key>>(kmers),
        bases_(std::max<std::uint64_t>(1, bytes / 2 / sizeof(Slab))),
        units_(std::max<std::uint64_t>(1, bytes / 2 / (sizeof(Slab) + 1))),
        bitmaps_(std::size_t{table::slab_blocks_for(units_.size())} * table::kBitmapWords) {
    const Stream stream;
    empty_slabs(bases_, stream);
    empty_slabs(units_, stream);
    empty_bitmaps_kernel<<<blocks_for<empty_bitmaps_kernel>(bitmaps_.size(), kKeyThreads, kKeyThreads),
                           kKeyThreads, 0, DriverLock::Shared(stream)>>>(bitmaps_.data(), bitmaps_.size(),
                                                                         units_.size());
    check_launch("emptying bitmaps");
    fill_bytes(state_.data(), 0, 1, stream);
    stream.wait();
    SlabScheme<Key>& scheme = this->scheme_;
    scheme.groups = bases_.size();
    scheme.bases = bases_.data();
    scheme.bitmaps = bitmaps_.data();
    scheme.units = units_.data();
    scheme.unit_count = units_.size();
    scheme.state = state_.data();
    scheme.key_bits = 2 * kmers.k;
  }

  /// A flush moves what is there to the front of each list, where a question might pass it unseen, and gives
  /// slabs back that a question might be in.
  [[nodiscard]] bool drops_beside_questions() const override { return false; }

  [[nodiscard]] std::uint64_t bytes() const override {
    return bases_.bytes() + units_.bytes() + bitmaps_.bytes();
  }

 private:
  DeviceArray<Slab> bases_, units_;
  DeviceArray<std::uint32_t> bitmaps_;
  DeviceArray<table::SlabAllocState> state_{1};
};

}  // namespace

template <class Key>
std::unique_ptr<LiveKmers<Key>> make_live_slabs(std::uint64_t bytes, KmerParams kmers) {
  return std::make_unique<LiveSlabs<Key>>(bytes, kmers);
}

template std::unique_ptr<LiveKmers<Key64>> make_live_slabs(std::uint64_t, KmerParams);
template std::unique_ptr<LiveKmers<Key128>> make_live_slabs(std::uint64_t, KmerParams);

}  // namespace warpmer::gpu
