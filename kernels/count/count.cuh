#pragma once
/// Counting lists of super-k-mers in shared memory.

#include <cstdint>

#include "backend/count_table.h"
#include "kernels/count/counted.cuh"
#include "kernels/count/pending.cuh"

namespace warpmer::gpu {

/// How often k-mers occurred: exact for every count. Numbers are of distinct k-mers.
struct CountHistogram {
  static constexpr std::uint32_t kBins = 1u << 16;
  unsigned long long* bins;   ///< kBins, by count
  std::uint64_t* large;       ///< counts of kBins and more, one by one; null: they are not noted
  std::uint32_t* large_size;  ///< how many they are
};

/// For each shard, how many of the k-mers kept have counts of b bits, 0 <= b <= 64.
inline constexpr std::uint32_t kWidths = 65;

/// What went wrong in a kernel that no sizing prevents.
enum class CountFault : std::uint32_t {
  none,
  output_full,
  too_many_large_counts,  ///< that 32 bits do not hold
};

template <class Key, int Words>
struct CountTask {
  const SegmentView<Words>* segments;
  std::uint32_t segment_count;
  const unsigned long long* list_kmers;
  const CountedView<Key>* run;  ///< (host pointer) counted before, to be added; or null
  std::uint32_t first_list, lists;
  std::uint64_t longest;  ///< longer lists (list_length) are left out: see LongListCounter
  std::uint32_t k;
  bool canonical;
  std::uint32_t list_bits, shard_bits;
  /// Of the lists of segments and of `list_kmers`, 2^list_shift neighbours are one of the task's. Zero with a
  /// run.
  std::uint32_t list_shift;
  std::uint64_t min_count, max_count;  ///< others are left out of `out`
  CountedView<Key> out;
  std::uint64_t out_capacity;
  unsigned long long* out_size;  ///< entries; more than the capacity when they did not fit
  bool final;                    ///< note `histogram` and `widths`
  CountHistogram histogram;
  std::uint32_t* widths;  ///< kWidths for each shard from that of `first_list` on
  CountFault* fault;
  std::uint32_t* next;  ///< scratch: the list whose turn it is
};

/// K-mers that are pending in a list, and entries of its run: what there is to be inserted.
template <class Key>
__device__ unsigned long long list_length(const unsigned long long* list_kmers, const CountedView<Key>& run,
                                          bool has_run, std::uint32_t list) {
  return list_kmers[list] + (has_run ? run.size_of(list) : 0);
}

/// K-mers that are pending in a list of the task.
template <class Key, int Words>
__device__ unsigned long long pending_kmers(const CountTask<Key, Words>& task, std::uint32_t list) {
  unsigned long long sum = 0;
  for (std::uint32_t i = list << task.list_shift; i < (list + 1) << task.list_shift; ++i)
    sum += task.list_kmers[i];
  return sum;
}

/// Measured: what counting depends on most.
struct CountTuning {
  std::uint32_t slot_bits = 12;  ///< a table has the room of 2^slot_bits slots
  std::uint32_t split_bits = 0;  ///< begin with 2^split_bits parts of a list, by hash
  backend::CountTable table = backend::CountTable::automatic;  ///< which is WarpDrive
};

/// The largest table that fits a block's shared memory.
template <class Key, int Words>
std::uint32_t largest_slot_bits(backend::CountTable table);

/// Enqueues the count of `task.lists` lists, but for the longest ones. Entries of a list come out in order of
/// their ranges. With out_capacity 0, only measures `out_size`.
template <class Key, int Words>
void launch_count(const CountTask<Key, Words>& task, const CountTuning& tuning, cudaStream_t stream);

}  // namespace warpmer::gpu
