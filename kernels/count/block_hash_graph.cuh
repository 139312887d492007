#pragma once
/// A HashGraph in a block's shared memory (Green 2019, section 3.2). Keys are listed as they come. When the
/// list is full, and at the end, the block counts them by bucket, sums up the counts, places the numbers of
/// the keys in their buckets, and combines equal keys of a bucket. Distinct keys stay in the list.

#include "kernels/warps/warp_scan.cuh"
#include "table/hash_graph.h"
#include "table/insertion.h"
#include "table/tile.h"

namespace warpmer::gpu {

/// The interface is that of BlockBuckets. Blocks have at least 32 threads.
template <class KeyType>
class BlockHashGraph {
 public:
  using Key = KeyType;
  static constexpr bool kTogether = true;
  static constexpr int kPasses = 1;
  static constexpr std::uint32_t kLeastBlocks = 1;

  /// `size` is the block's number of listed entries.
  __device__ BlockHashGraph(char* shared, std::uint32_t slot_bits, std::uint32_t& size) : listed_(size) {
    const std::uint32_t bytes = static_cast<std::uint32_t>(table::Slots<Key>::kBytes) << slot_bits;
    bucket_bits_ = slot_bits - 3;  // some seven entries each when the list is full
    const std::uint32_t bucket_bytes = sizeof(std::uint32_t) << bucket_bits_;
    constexpr std::uint32_t kEntryBytes = table::Slots<Key>::kBytes + sizeof(Number);
    size_ = (bytes - bucket_bytes) / kEntryBytes / 4 * 4;
    keys_ = reinterpret_cast<Key*>(shared);
    counts_ = reinterpret_cast<std::uint32_t*>(keys_ + size_);
    ends_ = counts_ + size_;
    order_ = reinterpret_cast<Number*>(ends_ + (1u << bucket_bits_));
  }

  [[nodiscard]] __device__ std::uint32_t entries() const { return size_; }
  [[nodiscard]] __device__ table::Slot<Key> entry(std::uint32_t i) const {
    return i < listed_ ? table::Slot<Key>{keys_[i], counts_[i]} : table::Slot<Key>{table::kEmptyKey<Key>, 0};
  }

  __device__ void begin(std::uint32_t key_bits) { key_bits_ = key_bits; }

  [[nodiscard]] __device__ std::uint32_t most_in_a_round() const { return size_ / 4; }
  template <class Carry>
  __device__ bool make_room(std::uint32_t most, Carry&& carry) {
    std::uint32_t listed = meet_and_look();
    if (listed + most <= size_) return true;
    combine(carry);
    listed = meet_and_look();
    // If nearly all keys are distinct, this would soon have to be done again, and again.
    return listed + most <= size_ && listed <= size_ / 4 * 3;
  }
  __device__ table::Insertion insert(int /*pass*/, bool is_active, Key key, std::uint32_t n) {
    const std::uint32_t all = __ballot_sync(~0u, is_active ? 1 : 0), lane = threadIdx.x % 32;
    std::uint32_t first = 0;
    if (lane == 0 && all != 0) first = atomicAdd(&listed_, static_cast<std::uint32_t>(__popc(all)));
    const std::uint32_t at = __shfl_sync(~0u, first, 0) + __popc(all & ((1u << lane) - 1));
    if (is_active) {
      keys_[at] = key;
      counts_[at] = n;
    }
    return {true, false, false};
  }
  template <class Carry>
  __device__ void finish(Carry&& carry) {
    __syncthreads();
    combine(carry);
  }

 private:
  using Number = std::uint16_t;  ///< number of an entry in the list

  /// Returns the number of listed entries, the same for all threads of the block, before any of them goes on.
  [[nodiscard]] __device__ std::uint32_t meet_and_look() const {
    __syncthreads();
    const std::uint32_t listed = listed_;
    __syncthreads();
    return listed;
  }

  /// Makes one entry of those with equal keys; calls `carry(key)` each time that a count passes 2^32. All
  /// threads of the block call this; they pass a barrier before and at the end.
  template <class Carry>
  __device__ __noinline__ void combine(Carry&& carry) {
    const std::uint32_t n = listed_, bits = min(bucket_bits_, key_bits_), buckets = 1u << bits;
    const table::TopBitsBucket<Key> bucket_of(key_bits_, bits);
    for (std::uint32_t b = threadIdx.x; b < buckets; b += blockDim.x) ends_[b] = 0;
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < n; i += blockDim.x)
      table::count_entry(keys_[i], bucket_of, ends_, [](std::uint32_t* count) { atomicAdd(count, 1u); });
    __syncthreads();
    if (threadIdx.x < 32) sum_up(buckets);
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < n; i += blockDim.x)
      order_[atomicSub(ends_ + bucket_of(keys_[i]), 1u) - 1] = static_cast<Number>(i);
    __syncthreads();
    for (std::uint32_t b = threadIdx.x; b < buckets; b += blockDim.x)
      combine_bucket(ends_[b], b + 1 < buckets ? ends_[b + 1] : n, carry);
    __syncthreads();
    close_ranks(n);
  }

  /// Makes inclusive sums of counts. One warp does it.
  __device__ void sum_up(std::uint32_t buckets) {
    const std::uint32_t lane = threadIdx.x;
    std::uint32_t before = 0;
    for (std::uint32_t first = 0; first < buckets; first += 32) {
      const std::uint32_t b = first + lane;
      const std::uint32_t sum = before + warp_inclusive_sum(b < buckets ? ends_[b] : 0);
      if (b < buckets) ends_[b] = sum;
      before = __shfl_sync(~0u, sum, 31);
    }
  }

  /// Reduces a bucket's entries to its distinct ones. One thread does it.
  template <class Carry>
  __device__ void combine_bucket(std::uint32_t begin, std::uint32_t end, Carry&& carry) {
    std::uint32_t distinct = begin;
    for (std::uint32_t e = begin; e < end; ++e) {
      const Number i = order_[e];
      const Key key = keys_[i];
      std::uint32_t d = begin;
      while (d < distinct && keys_[order_[d]] != key) ++d;
      if (d == distinct) {
        order_[distinct++] = i;
        continue;
      }
      const Number to = order_[d];
      const std::uint32_t before = counts_[to], sum = before + counts_[i];
      counts_[to] = sum;
      if (sum < before) carry(key);
      keys_[i] = table::kEmptyKey<Key>;
    }
  }

  /// Moves the entries that have a key to the front. A place is written only after it has been read.
  __device__ void close_ranks(std::uint32_t n) {
    if (threadIdx.x == 0) listed_ = 0;
    for (std::uint32_t first = 0; first < n; first += blockDim.x) {
      const std::uint32_t i = first + threadIdx.x;
      Key key = table::kEmptyKey<Key>;
      std::uint32_t count = 0;
      if (i < n) {
        key = keys_[i];
        count = counts_[i];
      }
      __syncthreads();
      insert(0, key != table::kEmptyKey<Key>, key, count);
      __syncthreads();
    }
    __syncthreads();
  }

  std::uint32_t& listed_;
  std::uint32_t size_, bucket_bits_, key_bits_ = 0;
  Key* keys_;
  std::uint32_t* counts_;
  std::uint32_t* ends_;
  Number* order_;
};

}  // namespace warpmer::gpu
