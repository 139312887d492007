#pragma once
/// The output of a bin that is being counted: kept k-mers go to the task's output, and all k-mers go to its
/// histogram.

#include <cstdint>

#include "kernels/count/count.cuh"
#include "kmer/kmer.h"

namespace warpmer::gpu {

/// A k-mer that has been counted.
template <class Key>
struct CountedHash {
  bool present;
  Key hash;
  std::uint64_t count;
};

template <class Key, int Words>
class BinOutput {
 public:
  /// Counts below this are noted in shared memory first.
  static constexpr std::uint32_t kSmallCounts = 256;

  /// `small_counts` are kSmallCounts numbers in shared memory, all 0 at first.
  __device__ BinOutput(const CountTask<Key, Words>& task, std::uint32_t* small_counts)
      : task_(task), small_counts_(small_counts) {}

  __device__ void set_bin(std::uint32_t bin) { bin_ = bin; }

  [[nodiscard]] __device__ bool keeps_all() const { return task_.kept.contains_all(); }
  [[nodiscard]] __device__ bool keeps(const CountedHash<Key>& kmer) const {
    return kmer.present && task_.kept.contains(kmer.count);
  }

  /// Takes room for the bin's entries, and returns its begin. One thread for each bin calls this.
  [[nodiscard]] __device__ unsigned long long take_room(std::uint64_t entries) const {
    const unsigned long long begin = atomicAdd(task_.out_size, static_cast<unsigned long long>(entries));
    if (task_.out_capacity > 0) {
      if (begin + entries > task_.out_capacity) *task_.fault = CountFault::output_full;
      task_.out.begins[bin_ - task_.out.first_bin] = begin;
      task_.out.sizes[bin_ - task_.out.first_bin] = static_cast<std::uint32_t>(entries);
    }
    return begin;
  }
  /// True when there is an output, and room in it.
  [[nodiscard]] __device__ bool is_open() const {
    return task_.out_capacity > 0 && *const_cast<const volatile CountFault*>(task_.fault) == CountFault::none;
  }

  __device__ void write(std::uint64_t at, const CountedHash<Key>& kmer) const {
    task_.out.keys[at] = kmer.hash;
    if (kmer.count < kBigCount) {
      task_.out.counts[at] = static_cast<std::uint32_t>(kmer.count);
      return;
    }
    task_.out.counts[at] = kBigCount;
    const std::uint32_t number = atomicAdd(task_.out.big.size, 1u);
    if (number < kMostBigCounts) {
      task_.out.big.entries[number] = {kmer.hash, kmer.count, bin_};
    } else {
      *task_.fault = CountFault::too_many_large_counts;
    }
  }

  /// Takes note of the count of a k-mer that occurs more than once.
  __device__ void note(std::uint64_t count) const {
    if (count < kSmallCounts) {
      atomicAdd(&small_counts_[count], 1u);
      return;
    }
    if (count < CountHistogram::kTallies) {
      atomicAdd(task_.histogram.tallies + count, 1ull);
    } else if (task_.histogram.large != nullptr) {
      task_.histogram.large[atomicAdd(task_.histogram.large_size, 1u)] = count;
    }
  }
  /// Takes note of n k-mers that occur once.
  __device__ void note_ones(std::uint32_t n) const { atomicAdd(&small_counts_[1], n); }

  /// Returns how many k-mers were noted with a small count, for the histogram.
  __device__ std::uint32_t noted(std::uint32_t count) const { return small_counts_[count]; }

 private:
  const CountTask<Key, Words>& task_;
  std::uint32_t* small_counts_;
  std::uint32_t bin_ = 0;
};

}  // namespace warpmer::gpu
