#pragma once
/// Counts all lists of some shards of one GPU, short ones and long ones, and learns from each count how large
/// tables should be for the next.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/count/count_long.cuh"
#include "kernels/count/count_plan.cuh"
#include "kernels/count/list_loads.cuh"
#include "kernels/memory/live_error.cuh"
#include "kernels/memory/span_clock.cuh"

namespace warpmer::gpu {

/// The numbering of a GPU's lists.
struct ListRange {
  std::uint32_t list_bits, shard_bits;
  std::uint32_t first_list, end_list;  ///< the GPU's own lists

  [[nodiscard]] std::uint32_t lists() const { return end_list - first_list; }
  [[nodiscard]] std::uint32_t lists_per_shard() const { return 1u << (list_bits - shard_bits); }
  [[nodiscard]] std::uint32_t first_shard() const { return first_list / lists_per_shard(); }
  [[nodiscard]] std::uint32_t end_shard() const { return end_list / lists_per_shard(); }
};

/// The words of some shards, and the k-mers of them that have been counted before.
template <class Key, int Words>
struct WaitingWords {
  const SegmentView<Words>* segments;  ///< on the device
  std::uint32_t segment_count;
  WaitingKmers<Key> kmers;  ///< at least the k-mers of these words
};

template <class Key, int Words>
class ListCounting {
 public:
  using Task = CountTask<Key, Words>;

  /// Counts in one stream.
  ListCounting(const DeviceCountPlan& plan, const ListRange& range, std::uint64_t most_long_list_bytes,
               cudaStream_t stream)
      : plan_(plan),
        range_(range),
        stream_(stream),
        loads_(range.first_list, range.end_list, range.lists_per_shard(), stream),
        long_lists_(most_long_list_bytes),
        next_list_(1),
        size_(1),
        fault_(1) {}

  [[nodiscard]] std::uint64_t most_long_list_bytes() const { return long_lists_.most_bytes(); }

  /// Returns the number of k-mers of each shard, and finds the lists that are long by these numbers.
  std::vector<unsigned long long> measure_shards(const WaitingKmers<Key>& kmers) {
    std::vector<unsigned long long> loads = loads_.of_shards(kmers);
    const std::uint64_t all = std::accumulate(loads.begin(), loads.end(), std::uint64_t{0});
    const std::uint64_t usual = plan_.tuning.long_list_ratio * (all / range_.lists());
    // Blocks together count in a WarpDrive table. If another table was asked for, that table is used: then a
    // block counts its list in as many parts as that takes.
    if (plan_.table == backend::CountTable::automatic || plan_.table == backend::CountTable::warpdrive)
      longest_ = std::max(plan_.tuning.long_list_kmers, usual);
    find_long_lists(kmers, range_.first_list, range_.end_list);
    return loads;
  }
  /// Finds the lists that are as long in k-mers other than those that were measured.
  void find_long_lists(const WaitingKmers<Key>& kmers, std::uint32_t first, std::uint32_t end) {
    if (longest_ != UINT64_MAX) loads_.find_long_lists(kmers, first, end, longest_);
  }

  /// Returns the task without the places where results go. 2^list_shift lists are counted as one (see
  /// `joined`).
  [[nodiscard]] Task task(std::uint32_t first_shard, std::uint32_t shards,
                          const WaitingWords<Key, Words>& words, std::uint32_t list_shift = 0) const {
    Task task{};
    task.segments = words.segments;
    task.segment_count = words.segment_count;
    task.list_kmers = words.kmers.list_kmers;
    task.run = words.kmers.run;
    task.first_list = first_shard * range_.lists_per_shard() >> list_shift;
    task.lists = shards * range_.lists_per_shard() >> list_shift;
    task.longest = list_shift == 0 ? longest_ : UINT64_MAX;
    task.k = plan_.k;
    task.canonical = plan_.canonical;
    task.list_bits = range_.list_bits - list_shift;
    task.list_shift = list_shift;
    task.shard_bits = range_.shard_bits;
    task.min_count = 1;
    task.max_count = UINT64_MAX;
    task.out.range_count = kLeastRanges;
    task.fault = fault_.data();
    task.next = next_list_.data();
    return task;
  }

  /// Returns the list shift with which lists of some shards are best counted: 2^shift neighbours as one, if
  /// none of them is long. The number of lists was decided before it was known how often k-mers repeat; fewer
  /// and fuller lists are counted faster, and above all frozen faster. If not all k-mers are kept, it is not
  /// known how many a table would hold; and not for all tables are long lists known (`measure_shards`).
  [[nodiscard]] std::uint32_t joined(std::uint32_t first_shard, std::uint32_t shards,
                                     const WaitingWords<Key, Words>& words) const {
    const bool keeps_all = plan_.min_count <= 1 && plan_.max_count == UINT64_MAX;
    if (!plan_.tuning.joins_lists || !keeps_all || longest_ == UINT64_MAX) return 0;
    if (words.kmers.run != nullptr) return 0;
    if (has_long_list(task(first_shard, shards, words))) return 0;
    const std::uint32_t most = std::min(kMostJoinedSlotBits, largest_slot_bits<Key, Words>(plan_.table));
    std::uint32_t shift = 0;
    while (shift < range_.list_bits - range_.shard_bits && wanted_slot_bits(shift + 1) <= most) ++shift;
    return shift;
  }

  [[nodiscard]] bool has_long_list(const Task& task) const { return !long_lists_of(task).empty(); }

  void count(const Task& task) {
    clock_.time(stream_, [&] {
      launch_count(task, tuning(task.list_shift), stream_);
      for (const std::uint32_t list : long_lists_of(task)) long_lists_.count(task, list, stream_);
    });
  }

  /// Returns the number of distinct k-mers in the task's lists. Waits for the stream.
  std::uint64_t measure(Task task) {
    fill_bytes(size_.data(), 0, 1, stream_);
    task.out_size = size_.data();
    task.out_capacity = 0;
    count(task);
    unsigned long long entries = 0;
    copy_to_host(&entries, size_.data(), 1, stream_);
    check(cudaStreamSynchronize(stream_), "counting");
    return entries;
  }

  /// Returns the task's lists, which have so many distinct k-mers, as a run. Waits for the stream.
  CountedLists<Key> run_of(const Task& task, std::uint64_t entries) {
    CountedLists<Key> run(std::max<std::uint64_t>(entries, 1), task.lists, CountedFor::counting);
    count_into(run, task);
    return run;
  }
  /// Does the same with a run that has room for all k-mers there may be. Returns the number of distinct
  /// k-mers.
  std::uint64_t count_into(const CountedLists<Key>& run, Task task) {
    fill_bytes(size_.data(), 0, 1, stream_);
    fill_bytes(run.big_size(), 0, 1, stream_);
    fill_bytes(fault_.data(), 0, 1, stream_);
    task.out = run.view(task.first_list);
    task.out_capacity = run.capacity();
    task.out_size = size_.data();
    count(task);
    CountFault fault{};
    unsigned long long entries = 0;
    copy_to_host(&fault, fault_.data(), 1, stream_);
    copy_to_host(&entries, size_.data(), 1, stream_);
    check(cudaStreamSynchronize(stream_), "counting");
    throw_fault(fault);
    return entries;
  }

  /// Learns from a count how large tables should be.
  void learn(const Task& task, std::uint64_t entries) {
    // Long lists say nothing about those that single blocks count.
    if (has_long_list(task)) return;
    const double lists = static_cast<double>(task.lists) * (1u << task.list_shift);
    distinct_per_list_ = std::max(distinct_per_list_ / 2, static_cast<double>(entries) / lists);
  }

  /// Throws the error that a fault stands for.
  void throw_fault(CountFault fault) const {
    if (fault == CountFault::none) return;
    if (fault == CountFault::output_full)
      throw InternalError("counting on the GPU found more k-mers than there can be");
    if (plan_.live.index != nullptr) throw_too_many_large_counts(*plan_.live.index);
    // For one list, 128 are enough; it has more only if reads have 5 * 10^11 k-mers that share a minimizer.
    throw ResourceError(
        "counting on the GPU met more counts beyond 2^32 than it has room for; use --device cpu");
  }

  void collect_times() { clock_.collect(); }
  [[nodiscard]] double seconds() const { return clock_.seconds(); }

 private:
  /// Larger tables leave too few blocks on a multiprocessor.
  static constexpr std::uint32_t kLeastSlotBits = 11;
  static constexpr std::uint32_t kMostSlotBits = 13;
  /// Tables do not grow beyond this for joined lists either.
  static constexpr std::uint32_t kMostJoinedSlotBits = sizeof(Key) == 8 ? 12 : kLeastSlotBits;

  /// Returns the slot bits for 2^list_shift lists in one table.
  [[nodiscard]] std::uint32_t wanted_slot_bits(std::uint32_t list_shift) const {
    const double slots = distinct_per_list_ * (1u << list_shift) / plan_.tuning.load;
    return static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(slots)));
  }
  [[nodiscard]] std::vector<std::uint32_t> long_lists_of(const Task& task) const {
    return loads_.long_lists(task.first_list << task.list_shift, (task.first_list + task.lists)
                                                                     << task.list_shift);
  }

  [[nodiscard]] CountTuning tuning(std::uint32_t list_shift) const {
    const std::uint32_t most = std::min(kMostSlotBits, largest_slot_bits<Key, Words>(plan_.table));
    const std::uint32_t wanted = wanted_slot_bits(list_shift);
    CountTuning tuning;
    tuning.table = plan_.table;
    tuning.slot_bits = std::clamp(wanted, std::min(kLeastSlotBits, most), most);
    tuning.split_bits = wanted > most ? wanted - most : 0;
    return tuning;
  }

  const DeviceCountPlan& plan_;
  const ListRange range_;
  const cudaStream_t stream_;
  ListLoads<Key> loads_;
  LongListCounter<Key, Words> long_lists_;
  std::uint64_t longest_ = UINT64_MAX;  ///< number of k-mers of the longest list that one block counts
  double distinct_per_list_ = 2048;
  DeviceArray<std::uint32_t> next_list_;
  DeviceArray<unsigned long long> size_;
  DeviceArray<CountFault> fault_;
  SpanClock clock_;
};

}  // namespace warpmer::gpu
