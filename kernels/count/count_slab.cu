// Counting bins in slab hashes.

#include "kernels/count/bin_counter.cuh"
#include "kernels/warps/tile_cuda.cuh"
#include "table/slab_hash.h"
#include "table/tile.h"
#include "table/work_sharing.h"

namespace warpmer::gpu {

/// A slab hash in a block's shared memory: it has base slabs, and an arena from which SlabAlloc-light hands
/// out others. The lanes that look at a slab insert together. The interface is that of BlockBuckets.
template <class KeyType>
class BlockSlabs {
 public:
  using Key = KeyType;
  static constexpr bool kTogether = true;
  static constexpr int kPasses = 1;
  static constexpr std::uint32_t kLeastBlocks = 1;

  __device__ BlockSlabs(char* shared, std::uint32_t slot_bits, std::uint32_t& /*size*/) {
    // The size is aligned, and leaves out the end: a bitmap of one block, and what tiles know about it.
    const std::size_t bytes = table::Slots<Key>::kBytes << slot_bits;
    const std::size_t begin = (reinterpret_cast<std::size_t>(shared) + kSlab - 1) / kSlab * kSlab;
    slabs_ = reinterpret_cast<Slab*>(begin);
    size_ = static_cast<std::uint32_t>(bytes / kSlab) - 3;
    buckets_ = size_ / 4 * 3;
    bitmap_ = reinterpret_cast<std::uint32_t*>(slabs_ + size_);
    state_ = reinterpret_cast<table::SlabAllocState*>(bitmap_ + table::kBitmapWords);
  }

  [[nodiscard]] __device__ std::uint32_t entries() const { return size_ * Slab::kSlots; }
  [[nodiscard]] __device__ table::Slot<Key> entry(std::uint32_t i) const {
    return slabs_[i / Slab::kSlots].slots().read(i % Slab::kSlots);
  }

  __device__ void begin(std::uint32_t key_bits) {
    key_bits_ = max(key_bits, 1u);
    auto* words = reinterpret_cast<std::uint32_t*>(slabs_);
    for (std::uint32_t i = threadIdx.x; i < size_ * kWords; i += blockDim.x)
      words[i] = empty_word(i % kWords);
    if (threadIdx.x < table::kBitmapWords)
      bitmap_[threadIdx.x] = table::bitmap_at_first(units(), threadIdx.x);
    if (threadIdx.x == 0) *state_ = {};
    resident_ = {};
    resident_.worker = threadIdx.x / kLanes;
  }
  [[nodiscard]] __device__ std::uint32_t most_in_a_round() const { return ~0u; }
  template <class Carry>
  __device__ bool make_room(std::uint32_t /*most*/, Carry&& /*carry*/) {
    return true;
  }
  __device__ __noinline__ table::Insertion insert(int /*pass*/, bool is_active, Key key, std::uint32_t n) {
    const Tile tile(cg::tiled_partition<kLanes>(cg::this_thread_block()));
    const table::OrderedBucket<Key> bucket_of(buckets_, key_bits_);
    const table::SlabAlloc alloc(Units(bitmap_, slabs_ + buckets_, units()), state_);
    const table::SlabHash<Tile, Units, table::OrderedBucket<Key>> scheme(slabs_, bucket_of, alloc);
    table::Insertion mine{true, false, false};
    share_work(tile, is_active, table::Slot<Key>{key, n}, mine, [&](const table::Slot<Key>& request) {
      return scheme.insert(tile, resident_, request.key, request.count);
    });
    return mine;
  }
  template <class Carry>
  __device__ void finish(Carry&& /*carry*/) {}

 private:
  using Slab = table::CountSlab<Key>;
  using Units = table::ContiguousUnits<Slab>;
  static constexpr std::uint32_t kSlab = table::kSlabBytes;
  static constexpr std::uint32_t kWords = kSlab / sizeof(std::uint32_t);
  static constexpr int kLanes = kSlab / sizeof(Key);  // one key for each, counts included
  using Tile = CudaTile<Key, kLanes, 1>;

  [[nodiscard]] __device__ std::uint32_t units() const { return size_ - buckets_; }
  /// Returns a word of a slab without elements: all ones for keys and the address, zeros for the words
  /// between.
  __device__ static std::uint32_t empty_word(std::uint32_t i) {
    constexpr std::uint32_t kKeyWords = Slab::kSlots * sizeof(Key) / sizeof(std::uint32_t);
    return i < kKeyWords || i == kWords - 1 ? ~0u : 0;
  }

  Slab* slabs_;
  std::uint32_t size_, buckets_;
  std::uint32_t* bitmap_;
  table::SlabAllocState* state_;
  std::uint32_t key_bits_ = 1;
  table::ResidentBlock resident_{};
};

const CountKernels kCount_slab = kCountKernels<BlockSlabs>;

}  // namespace warpmer::gpu
