#pragma once
/// A table whose hash functions name buckets (cuckoo, iceberg) in a block's shared memory. Groups of lanes
/// insert together, in two passes: `place`, and when all are placed `add` (table/cuckoo.h).

#include "kernels/warps/tile_cuda.cuh"
#include "table/insertion.h"
#include "table/stash.h"
#include "table/tile.h"
#include "table/work_sharing.h"

namespace warpmer::gpu {

/// Eight lanes look at two slots each.
template <class Key>
using SharedBucketTile = CudaTile<Key, 8, 2>;

template <class Scheme>
class BlockBuckets {
 public:
  using Key = typename Scheme::Key;
  static constexpr bool kTogether = true;
  static constexpr int kPasses = 2;
  static constexpr std::uint32_t kLeastBlocks = 1;

  /// Takes as much memory as 2^slot_bits slots. `size` is the block's number of keys that have come.
  __device__ BlockBuckets(char* shared, std::uint32_t slot_bits, std::uint32_t& /*size*/)
      : slots_(table::Slots<Key>::in(shared, std::size_t{1} << slot_bits)), size_(1u << slot_bits) {}

  /// Returns an upper bound of the number of entries. `entry` may be asked for any number below it; a count
  /// of 0 says that there is no such entry.
  [[nodiscard]] __device__ std::uint32_t entries() const { return size_; }
  [[nodiscard]] __device__ table::Slot<Key> entry(std::uint32_t i) const { return slots_.read(i); }

  /// Empties the table, for keys of `key_bits` bits. All threads of the block call this.
  __device__ void begin(std::uint32_t /*key_bits*/) {
    for (std::uint32_t i = threadIdx.x; i < size_; i += blockDim.x)
      slots_.write(i, {table::kEmptyKey<Key>, 0});
  }
  /// Returns the number of keys that the block should bring between two calls of `make_room`; every warp may
  /// bring one word anyway.
  [[nodiscard]] __device__ std::uint32_t most_in_a_round() const { return ~0u; }
  /// True when so many more keys can be taken in. All threads of the block call this.
  template <class Carry>
  __device__ bool make_room(std::uint32_t /*most*/, Carry&& /*carry*/) {
    return true;
  }
  /// Inserts the keys of the active lanes of a warp; all lanes call this. Returns the outcome for the lane's
  /// key. It is not inlined, because every place that calls it would take long to compile.
  __device__ __noinline__ table::Insertion insert(int pass, bool is_active, Key key, std::uint32_t n) {
    const Tile tile(cg::tiled_partition<8>(cg::this_thread_block()));
    const Scheme scheme(slots_, (size_ - static_cast<std::uint32_t>(table::kStashSlots)) / Scheme::kBucket,
                        kSeed);
    table::Insertion mine{true, false, false};
    share_work(tile, is_active, table::Slot<Key>{key, n}, mine, [&](const table::Slot<Key>& request) {
      return pass == 0 ? placed(scheme.place(tile, request.key))
                       : scheme.add(tile, request.key, request.count);
    });
    return mine;
  }
  /// All threads of the block call this when all keys have been inserted.
  template <class Carry>
  __device__ void finish(Carry&& /*carry*/) {}

 private:
  using Tile = SharedBucketTile<Key>;
  static constexpr std::uint32_t kSeed = 1;

  __device__ static table::Insertion placed(const table::Insertion& done) { return done; }
  __device__ static table::Insertion placed(const table::Displacement<Key>& done) { return done.insertion; }

  table::Slots<Key> slots_;
  std::uint32_t size_;
};

}  // namespace warpmer::gpu
