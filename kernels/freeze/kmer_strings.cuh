#pragma once
/// Ordered k-mers into strings: the path cover of groups/path_cover.h, each k-mer by itself.

#include <cstdint>

#include "groups/shard_encoder.h"
#include "groups/shard_layout.h"
#include "kernels/freeze/ordered_kmers.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/scan_memory.cuh"

namespace warpmer::gpu {

/// A string, but for its first k-mer.
struct StringTail {
  std::uint32_t last;               ///< its last k-mer
  std::uint32_t smallest, largest;  ///< counts; kBigCount, too
  std::uint16_t kmers;
  std::uint8_t spread_bits;  ///< bits(largest - smallest)
  std::uint8_t is_first;     ///< 1 when it is the first of its group, by the order of k-mers, else 0
};

/// The bases that a string has at its ends.
template <class Key>
struct StringEnds {
  std::uint32_t left_bases, right_bases;
  Key left, right;
};

/// Strings in the order of their first k-mers, so group by group.
template <class Key>
struct DeviceStrings {
  OrderedKmers<Key> kmers;
  /// For each k-mer, how far before it the next one of its string is; 0 for a last one.
  const std::uint32_t* steps;
  const std::uint32_t* heads;  ///< for each string, its first k-mer
  const StringTail* tails;
  std::uint32_t size;

  [[nodiscard]] __device__ std::uint32_t left_bases(std::uint32_t string) const {
    return kmers.keys.layer(kmers.key[heads[string]]);
  }
  [[nodiscard]] __device__ StringEnds<Key> ends(std::uint32_t string) const {
    const std::uint32_t n = kmers.flank_bases();
    const Key head = kmers.key[heads[string]];
    StringEnds<Key> ends;
    ends.left_bases = kmers.keys.layer(head);
    ends.right_bases = n - ends.left_bases + tails[string].kmers - 1;
    ends.left = ends.left_bases == 0 ? Key{0} : kmers.keys.flanks(head) >> (2 * (n - ends.left_bases));
    const Key last = kmers.key[tails[string].last];
    ends.right =
        groups::reverse_flank(static_cast<Key>(last & key_mask<Key>(ends.right_bases)), ends.right_bases);
    return ends;
  }
  /// Calls `visit(k-mer)` for each k-mer of a string.
  template <class Visit>
  __device__ void for_each_kmer(std::uint32_t string, Visit&& visit) const {
    for (std::uint32_t i = heads[string];;) {
      const std::uint32_t step = steps[i];  // is on its way during the visit
      visit(i);
      if (step == 0) return;
      i -= step;
    }
  }
  [[nodiscard]] __device__ std::uint64_t smallest_count(std::uint32_t string) const {
    const std::uint32_t stored = tails[string].smallest;
    return stored == kBigCount ? exact(string, [](auto a, auto b) { return a < b; }) : stored;
  }
  [[nodiscard]] __device__ std::uint64_t largest_count(std::uint32_t string) const {
    const std::uint32_t stored = tails[string].largest;
    return stored == kBigCount ? exact(string, [](auto a, auto b) { return a > b; }) : stored;
  }
  /// Returns the bits of a string's flanks, and of its counts.
  [[nodiscard]] __device__ std::uint32_t base_bits(std::uint32_t string) const {
    return 2 * (kmers.flank_bases() + tails[string].kmers - 1);
  }
  [[nodiscard]] __device__ std::uint32_t count_bits(std::uint32_t string) const {
    const std::uint32_t spread = tails[string].spread_bits;
    return groups::gamma_bits(spread + 1) + groups::gamma_bits(smallest_count(string)) +
           spread * tails[string].kmers;
  }

 private:
  template <class IsBefore>
  __device__ std::uint64_t exact(std::uint32_t string, IsBefore&& is_before) const {
    std::uint64_t best = kmers.count(heads[string]);
    for_each_kmer(string, [&](std::uint32_t i) {
      if (const std::uint64_t count = kmers.count(i); is_before(count, best)) best = count;
    });
    return best;
  }
};

/// Finds the strings of k-mers, and owns the memory for them.
template <class Key>
class KmerStrings {
 public:
  /// Enqueues the search, and waits until the number of strings is known. They are valid until the next call.
  /// `steps` and `heads` are room for numbers of k-mers.
  DeviceStrings<Key> find(const OrderedKmers<Key>& kmers, std::uint32_t* steps, std::uint32_t* heads,
                          cudaStream_t stream);

 private:
  DeviceArray<std::uint8_t> are_heads_;
  DeviceArray<StringTail> tails_;
  DeviceArray<std::uint32_t> size_;
  PinnedArray<std::uint32_t> host_size_{1};
  ScanMemory scan_memory_;
};

}  // namespace warpmer::gpu
