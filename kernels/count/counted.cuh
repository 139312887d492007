#pragma once
/// Counted bins on the device: distinct k-mers (as hashes) with counts, grouped by bin, and in each bin in
/// any order. Counting leaves them, and freezing takes them; a run of an earlier count has the same form.

#include <cstdint>

#include "kernels/memory/device_memory.cuh"
#include "kmer/kmer.h"

namespace warpmer::gpu {

/// Stands for a count that does not fit 32 bits and is found among the `BigCounts`.
inline constexpr std::uint32_t kBigCount = UINT32_MAX;
/// Reads never have more big counts than this: the number of all k-mers, divided by 2^32.
inline constexpr std::uint32_t kMostBigCounts = 1u << 16;

template <class Key>
struct BigCounts {
  struct BigCount {
    Key key;
    std::uint64_t count;
    std::uint32_t bin;
  };
  BigCount* entries;
  std::uint32_t* size;

  /// Returns the count of an entry that says kBigCount.
  __device__ std::uint64_t find(Key key, std::uint32_t bin, std::uint32_t bin_mask) const {
    const std::uint32_t n = *size;
    for (std::uint32_t i = 0; i < n; ++i) {
      if (entries[i].key == key && (entries[i].bin & bin_mask) == (bin & bin_mask)) return entries[i].count;
    }
    return 0;  // cannot be
  }
};

template <class Key>
struct CountedView {
  Key* keys;
  std::uint32_t* counts;
  std::uint32_t first_bin;  ///< the arrays below begin with this one
  std::uint64_t* begins;    ///< for each bin, its first entry
  std::uint32_t* sizes;     ///< for each bin, its entries
  BigCounts<Key> big;

  /// Returns the number of entries of a bin.
  [[nodiscard]] __device__ std::uint32_t size_of(std::uint32_t bin) const { return sizes[bin - first_bin]; }
};

/// Owns the memory that a CountedView looks at.
template <class Key>
class CountedBins {
 public:
  CountedBins() = default;
  CountedBins(std::uint64_t entries, std::uint32_t bins)
      : keys_(entries), counts_(entries), begins_(bins), sizes_(bins), big_(kMostBigCounts), big_size_(1) {}

  /// Returns the view of the bins from `first_bin` on.
  [[nodiscard]] CountedView<Key> view(std::uint32_t first_bin) const {
    return {keys_.data(),   counts_.data(), first_bin,
            begins_.data(), sizes_.data(),  {big_.data(), big_size_.data()}};
  }
  [[nodiscard]] std::uint64_t capacity() const { return keys_.size(); }
  /// Returns the number of bins that there is room for.
  [[nodiscard]] std::uint32_t bins() const { return static_cast<std::uint32_t>(sizes_.size()); }
  [[nodiscard]] std::uint32_t* big_size() const { return big_size_.data(); }
  [[nodiscard]] std::uint64_t bytes() const { return keys_.bytes() + counts_.bytes() + fixed_bytes(); }
  /// Returns the device memory that a run of so many entries and bins takes.
  static constexpr std::uint64_t run_bytes(std::uint64_t entries, std::uint64_t bins) {
    return entries * kEntryBytes + bins * kBinBytes +
           kMostBigCounts * sizeof(typename BigCounts<Key>::BigCount);
  }
  /// Bytes that a bin takes beside its entries.
  static constexpr std::uint64_t kBinBytes = sizeof(std::uint64_t) + sizeof(std::uint32_t);
  static constexpr std::uint64_t kEntryBytes = sizeof(Key) + sizeof(std::uint32_t);

 private:
  [[nodiscard]] std::uint64_t fixed_bytes() const { return begins_.bytes() + sizes_.bytes() + big_.bytes(); }

  DeviceArray<Key> keys_;
  DeviceArray<std::uint32_t> counts_;
  DeviceArray<std::uint64_t> begins_;
  DeviceArray<std::uint32_t> sizes_;
  DeviceArray<typename BigCounts<Key>::BigCount> big_;
  DeviceArray<std::uint32_t> big_size_;
};

}  // namespace warpmer::gpu
