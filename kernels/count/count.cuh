#pragma once
/// Counts bins of super-k-mers in shared memory.

#include <cstdint>

#include "backend/count_bounds.h"
#include "backend/count_table.h"
#include "kernels/count/counted.cuh"
#include "kernels/count/pending.cuh"

namespace warpmer::gpu {

/// A histogram of counts, exact for every count: for each count, the number of distinct k-mers that have it.
struct CountHistogram {
  static constexpr std::uint32_t kTallies = 1u << 16;
  unsigned long long* tallies;  ///< kTallies, by count
  std::uint64_t* large;         ///< counts of kTallies and more, one by one; null: they are not noted
  std::uint32_t* large_size;    ///< number of these
};

/// A fault in a kernel that no sizing prevents.
enum class CountFault : std::uint32_t {
  none,
  output_full,
  too_many_large_counts,  ///< more counts than expected do not fit 32 bits
};

/// Bins whose k-mers did not fit one table, in any order.
struct CrowdedBins {
  std::uint32_t* bins;  ///< room for all bins of a task
  std::uint32_t* size;
};

template <class Key, int Words>
struct CountTask {
  const SegmentView<Words>* segments;
  std::uint32_t segment_count;
  const unsigned long long* bin_kmers;
  const CountedView<Key>* run;  ///< (host pointer) the result of an earlier count, to be added; or null
  std::uint32_t first_bin, bins;
  std::uint64_t longest;  ///< longer bins (bin_length) are skipped: see LongBinCounter
  std::uint32_t k;
  bool canonical;
  std::uint32_t bin_bits, shard_bits;
  /// A bin of the task is 2^bin_shift neighbouring bins of the segments and of `bin_kmers`. With a run it
  /// is zero.
  std::uint32_t bin_shift;
  backend::CountBounds kept;  ///< k-mers with other counts are left out of `out`
  CountedView<Key> out;
  std::uint64_t out_capacity;
  unsigned long long* out_size;  ///< entries; more than the capacity if they did not fit
  bool final;                    ///< true: fill `histogram`
  CountHistogram histogram;
  CountFault* fault;
  std::uint32_t* next;  ///< scratch: the next bin to count
  CrowdedBins crowded;  ///< scratch
};

/// Returns the number of insertions that a bin takes: its pending k-mers, and the entries of its run.
template <class Key>
__device__ unsigned long long bin_length(const unsigned long long* bin_kmers, const CountedView<Key>& run,
                                         bool has_run, std::uint32_t bin) {
  return bin_kmers[bin] + (has_run ? run.size_of(bin) : 0);
}

/// Returns the number of k-mers that are pending in a bin of the task.
template <class Key, int Words>
__device__ unsigned long long pending_kmers(const CountTask<Key, Words>& task, std::uint32_t bin) {
  unsigned long long sum = 0;
  for (std::uint32_t i = bin << task.bin_shift; i < (bin + 1) << task.bin_shift; ++i)
    sum += task.bin_kmers[i];
  return sum;
}

/// The settings on which the speed of counting depends most; the defaults are measured.
struct CountTuning {
  std::uint32_t slot_bits = 12;  ///< a table takes the room of 2^slot_bits slots
  /// Bins that such a table does not hold are counted afterwards in tables of this size, if it is larger.
  /// Only those that do not fit there either are counted in parts: each part expands all words of the bin,
  /// twice. (Reads of 5 Mbp at k = 55, where two or three frequent minimizers share many a bin: a count took
  /// 119 ms when all of these were counted in parts, and takes 97 ms.)
  std::uint32_t crowded_slot_bits = 0;
  std::uint32_t split_bits = 0;  ///< a bin begins as 2^split_bits parts, by hash
  backend::CountTable table = backend::CountTable::automatic;  ///< automatic is WarpDrive
};

/// Returns the slot bits of the largest table that fits a block's shared memory.
template <class Key, int Words>
std::uint32_t largest_slot_bits(backend::CountTable table);

/// Enqueues the count of `task.bins` bins, except the longest ones. With out_capacity 0, it only measures
/// `out_size`.
template <class Key, int Words>
void launch_count(const CountTask<Key, Words>& task, const CountTuning& tuning, cudaStream_t stream);

}  // namespace warpmer::gpu
