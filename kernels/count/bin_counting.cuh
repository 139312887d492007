#pragma once
/// Counts all bins of some shards of one GPU, short ones and long ones, and learns from each count how large
/// tables should be for the next.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/count/bin_sizes.cuh"
#include "kernels/count/count_long.cuh"
#include "kernels/count/count_plan.cuh"
#include "kernels/memory/span_clock.cuh"

namespace warpmer::gpu {

/// The numbering of a GPU's bins.
struct BinRange {
  std::uint32_t bin_bits, shard_bits;
  std::uint32_t first_bin, end_bin;  ///< the GPU's own bins

  [[nodiscard]] std::uint32_t bins() const { return end_bin - first_bin; }
  [[nodiscard]] std::uint32_t bins_per_shard() const { return 1u << (bin_bits - shard_bits); }
  [[nodiscard]] std::uint32_t first_shard() const { return first_bin / bins_per_shard(); }
  [[nodiscard]] std::uint32_t end_shard() const { return end_bin / bins_per_shard(); }
};

/// The words of some shards, and the k-mers of them that have been counted before.
template <class Key, int Words>
struct WaitingWords {
  const SegmentView<Words>* segments;  ///< on the device
  std::uint32_t segment_count;
  WaitingKmers<Key> kmers;  ///< at least the k-mers of these words
};

template <class Key, int Words>
class BinCounting {
 public:
  /// Bytes of device memory for each bin.
  static constexpr std::uint64_t kBinBytes = BinSizes<Key>::kBinBytes + sizeof(std::uint32_t);
  using Task = CountTask<Key, Words>;

  /// Counts in one stream.
  BinCounting(const DeviceCountPlan& plan, const BinRange& range, std::uint64_t most_long_bin_bytes,
              cudaStream_t stream)
      : plan_(plan),
        range_(range),
        stream_(stream),
        loads_(range.first_bin, range.end_bin, range.bins_per_shard(), stream),
        long_bins_(most_long_bin_bytes),
        next_bin_(1),
        crowded_(range.bins()),
        crowded_size_(1),
        size_(1),
        fault_(1) {}

  [[nodiscard]] std::uint64_t most_long_bin_bytes() const { return long_bins_.most_bytes(); }

  /// Returns the number of k-mers of each shard, and finds the bins that are long by these numbers.
  std::vector<unsigned long long> measure_shards(const WaitingKmers<Key>& kmers) {
    std::vector<unsigned long long> loads = loads_.of_shards(kmers);
    const std::uint64_t all = std::accumulate(loads.begin(), loads.end(), std::uint64_t{0});
    const std::uint64_t usual = plan_.tuning.long_bin_ratio * (all / range_.bins());
    // Blocks together count in a WarpDrive table. If another table was asked for, that table is used: then a
    // block counts its bin in as many parts as that takes.
    if (plan_.table == backend::CountTable::automatic || plan_.table == backend::CountTable::warpdrive)
      longest_ = std::max(plan_.tuning.long_bin_kmers, usual);
    find_long_bins(kmers, range_.first_bin, range_.end_bin);
    return loads;
  }
  /// Finds the bins that are as long in k-mers other than those that were measured.
  void find_long_bins(const WaitingKmers<Key>& kmers, std::uint32_t first, std::uint32_t end) {
    if (longest_ != UINT64_MAX) loads_.find_long_bins(kmers, first, end, longest_);
  }

  /// Returns the task without the places where results go. 2^bin_shift bins are counted as one (see
  /// `joined`).
  [[nodiscard]] Task task(std::uint32_t first_shard, std::uint32_t shards,
                          const WaitingWords<Key, Words>& words, std::uint32_t bin_shift = 0) const {
    Task task{};
    task.segments = words.segments;
    task.segment_count = words.segment_count;
    task.bin_kmers = words.kmers.bin_kmers;
    task.run = words.kmers.run;
    task.first_bin = first_shard * range_.bins_per_shard() >> bin_shift;
    task.bins = shards * range_.bins_per_shard() >> bin_shift;
    task.longest = bin_shift == 0 ? longest_ : UINT64_MAX;
    task.k = plan_.kmers.k;
    task.canonical = plan_.kmers.canonical;
    task.bin_bits = range_.bin_bits - bin_shift;
    task.bin_shift = bin_shift;
    task.shard_bits = range_.shard_bits;
    task.kept = {};
    task.fault = fault_.data();
    task.next = next_bin_.data();
    task.crowded = {crowded_.data(), crowded_size_.data()};
    return task;
  }

  /// Returns the bin shift with which bins of some shards are best counted: 2^shift neighbours as one, if
  /// none of them is long. The number of bins was decided before it was known how often k-mers repeat; fewer
  /// and fuller bins are counted faster, and above all frozen faster. If not all k-mers are kept, it is not
  /// known how many a table would hold; and not for all tables are long bins known (`measure_shards`).
  [[nodiscard]] std::uint32_t joined(std::uint32_t first_shard, std::uint32_t shards,
                                     const WaitingWords<Key, Words>& words) const {
    if (!plan_.tuning.joins_bins || !plan_.kept.contains_all() || longest_ == UINT64_MAX) return 0;
    if (words.kmers.run != nullptr) return 0;
    if (has_long_bin(task(first_shard, shards, words))) return 0;
    const std::uint32_t most = std::min(kMostJoinedSlotBits, largest_slot_bits<Key, Words>(plan_.table));
    std::uint32_t shift = 0;
    while (shift < range_.bin_bits - range_.shard_bits && wanted_slot_bits(shift + 1) <= most) ++shift;
    return shift;
  }

  [[nodiscard]] bool has_long_bin(const Task& task) const { return !long_bins_of(task).empty(); }

  void count(const Task& task) {
    clock_.time(stream_, [&] {
      launch_count(task, tuning(task.bin_shift), stream_);
      for (const std::uint32_t bin : long_bins_of(task)) long_bins_.count(task, bin, stream_);
    });
  }

  /// Returns the number of distinct k-mers in the task's bins. Waits for the stream.
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

  /// Returns the task's bins, which have so many distinct k-mers, as a run. Waits for the stream.
  CountedBins<Key> run_of(Task task, std::uint64_t entries) {
    CountedBins<Key> run(std::max<std::uint64_t>(entries, 1), task.bins);
    fill_bytes(size_.data(), 0, 1, stream_);
    fill_bytes(run.big_size(), 0, 1, stream_);
    fill_bytes(fault_.data(), 0, 1, stream_);
    task.out = run.view(task.first_bin);
    task.out_capacity = run.capacity();
    task.out_size = size_.data();
    count(task);
    CountFault fault{};
    copy_to_host(&fault, fault_.data(), 1, stream_);
    check(cudaStreamSynchronize(stream_), "counting");
    throw_fault(fault);
    return run;
  }

  /// Learns from a count how large tables should be.
  void learn(const Task& task, std::uint64_t entries) {
    // Long bins say nothing about those that single blocks count.
    if (has_long_bin(task)) return;
    const double bins = static_cast<double>(task.bins) * (1u << task.bin_shift);
    distinct_per_bin_ = std::max(distinct_per_bin_ / 2, static_cast<double>(entries) / bins);
  }

  /// Throws the error that a fault stands for.
  void throw_fault(CountFault fault) const {
    if (fault == CountFault::none) return;
    if (fault == CountFault::output_full)
      throw InternalError("counting on the GPU found more k-mers than there can be");
    // For one bin, 128 are enough; it has more only if reads have 5 * 10^11 k-mers that share a minimizer.
    throw ResourceError(
        "counting on the GPU met more counts beyond 2^32 than it has room for; use --device cpu");
  }

  void collect_times() { clock_.collect(); }
  [[nodiscard]] double seconds() const { return clock_.seconds(); }

 private:
  /// Larger tables leave too few blocks on a multiprocessor.
  static constexpr std::uint32_t kLeastSlotBits = 11;
  static constexpr std::uint32_t kMostSlotBits = 13;
  /// Tables do not grow beyond this for joined bins either.
  static constexpr std::uint32_t kMostJoinedSlotBits = sizeof(Key) == 8 ? 12 : kLeastSlotBits;

  /// Returns the slot bits for 2^bin_shift bins in one table.
  [[nodiscard]] std::uint32_t wanted_slot_bits(std::uint32_t bin_shift) const {
    const double slots = distinct_per_bin_ * (1u << bin_shift) / plan_.tuning.load;
    return static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(slots)));
  }
  [[nodiscard]] std::vector<std::uint32_t> long_bins_of(const Task& task) const {
    return loads_.long_bins(task.first_bin << task.bin_shift, (task.first_bin + task.bins) << task.bin_shift);
  }

  [[nodiscard]] CountTuning tuning(std::uint32_t bin_shift) const {
    const std::uint32_t most = std::min(kMostSlotBits, largest_slot_bits<Key, Words>(plan_.table));
    const std::uint32_t wanted = wanted_slot_bits(bin_shift);
    CountTuning tuning;
    tuning.table = plan_.table;
    tuning.slot_bits = std::clamp(wanted, std::min(kLeastSlotBits, most), most);
    tuning.crowded_slot_bits = most;
    tuning.split_bits = wanted > most ? wanted - most : 0;
    return tuning;
  }

  const DeviceCountPlan& plan_;
  const BinRange range_;
  const cudaStream_t stream_;
  BinSizes<Key> loads_;
  LongBinCounter<Key, Words> long_bins_;
  std::uint64_t longest_ = UINT64_MAX;  ///< number of k-mers of the longest bin that one block counts
  double distinct_per_bin_ = 2048;
  DeviceArray<std::uint32_t> next_bin_, crowded_, crowded_size_;
  DeviceArray<unsigned long long> size_;
  DeviceArray<CountFault> fault_;
  SpanClock clock_;
};

}  // namespace warpmer::gpu
