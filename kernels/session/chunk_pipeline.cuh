#pragma once
/// Counts and freezes consecutive shards, chunk after chunk: one chunk is counted while the one before is
/// frozen and on its way out.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "backend/tally.h"
#include "kernels/count/bin_counting.cuh"
#include "kernels/freeze/frozen_chunk.cuh"
#include "kernels/freeze/payload_ring.cuh"
#include "kernels/freeze/string_freeze.cuh"
#include "kernels/memory/host_fence.cuh"
#include "kernels/memory/small_copy.cuh"

namespace warpmer::gpu {

/// Adds up numbers of k-mers by count.
void launch_add_tallies(unsigned long long* sums, const unsigned long long* tallies, std::uint32_t n,
                        cudaStream_t stream);

template <class Key, int Words>
class ChunkPipeline {
 public:
  using Counting = BinCounting<Key, Words>;
  using Waiting = WaitingWords<Key, Words>;

  /// The memory that a chunk may take.
  struct ChunkSize {
    std::uint64_t entries;  ///< number of k-mers kept
    std::uint32_t bins;
  };
  /// Returns when the words of all shards before `end_shard` are there.
  using WaitForWords = std::function<void(std::uint32_t end_shard)>;

  /// The most bytes of a counted entry, its part of a payload, and what it takes while it is frozen.
  static constexpr std::uint64_t kEntryBytes =
      CountedBins<Key>::kEntryBytes + sizeof(Key) + 6 + StringFreezer<Key>::kEntryBytes;
  /// The bytes of the ring of payloads, for an entry of each chunk: usually two payloads find room there, and
  /// one always.
  static constexpr std::uint64_t kRingBytes = 2 * sizeof(Key);
  /// The device memory of an entry of the two chunks there are at once.
  static constexpr std::uint64_t kEntriesBytes =
      2 * CountedBins<Key>::kEntryBytes + kRingBytes + StringFreezer<Key>::kEntryBytes;
  static constexpr std::uint64_t bytes_for(const ChunkSize& size) {
    return size.entries * kEntriesBytes + 2 * size.bins * CountedBins<Key>::kBinBytes;
  }

  ChunkPipeline(const DeviceCountPlan& plan, const BinRange& range, Counting& counting, cudaStream_t stream)
      : plan_(plan),
        range_(range),
        counting_(counting),
        stream_(stream),
        tallies_(CountHistogram::kTallies),
        freezer_(make_string_freezer<Key>(plan.kmers)),
        large_counts_(plan.kept) {
    fill_bytes(tallies_.data(), 0, tallies_.size(), freeze_stream_);
  }
  /// After an error, too, nothing writes to the host's memory afterwards.
  ~ChunkPipeline() {
    cudaStreamSynchronize(stream_);
    cudaStreamSynchronize(freeze_stream_);
  }

  /// Is called before the first shard. `loads` are the k-mers of each shard; `most_kmers` is the largest
  /// number of occurrences in all of them; `size` is the memory that chunks may take. `spare_bytes` of device
  /// memory may be taken for a shard that is larger than a chunk. With `foresees`, if there are many more
  /// k-mers than chunks take, the number of distinct ones in a chunk is estimated from the chunks before.
  /// `chunks` gets the chunks, until `finish` has returned.
  void begin(std::vector<unsigned long long> loads, std::uint64_t most_kmers, const ChunkSize& size,
             std::uint64_t spare_bytes, bool foresees, ChunkSink& chunks) {
    chunks_ = &chunks;
    loads_ = std::move(loads);
    size_ = size;
    spare_bytes_ = spare_bytes;
    foresees_ = foresees;
    const std::uint64_t all = std::accumulate(loads_.begin(), loads_.end(), std::uint64_t{0});
    usual_bound_ = std::max<std::uint64_t>(1, std::min(all, size_.entries));
    // There are no more k-mers than this that occur so often.
    for (ChunkBuffers& buffers : buffers_)
      buffers.large = DeviceArray<std::uint64_t>(most_kmers / CountHistogram::kTallies + 1);
  }

  /// Counts and freezes the shards [first, end), which come after those before. The words must stay until two
  /// chunks later, or until `finish`. Words that are on their way are waited for, if there is a function for
  /// that.
  void add(std::uint32_t first, std::uint32_t end, const Waiting& words,
           const WaitForWords& wait_for_words = {}) {
    while (first < end) {
      // The first chunk has few shards: they show how large tables have to be.
      const std::uint32_t most =
          number_ == 0 ? std::max(1u, (1u << range_.shard_bits) / plan_.owners / 64) : end - first;
      ShardChunk chunk = plan_chunk(first, std::min(most, end - first), words);
      ChunkBuffers& buffers = buffers_[number_ % 2];
      if (wait_for_words) wait_for_words(chunk.first_shard + chunk.shards);
      count(chunk, buffers);
      if (before_) freeze(*before_, buffers_[(number_ + 1) % 2]);
      before_.reset();
      if (number_ == 0) {
        // There is nothing to overlap with, and its result is wanted now.
        freeze(chunk, buffers);
      } else {
        before_ = chunk;
      }
      first += chunk.shards;
      ++number_;
    }
  }

  /// Enqueues all that has been added, and waits until it is counted; its words are no longer needed then.
  void settle() {
    if (before_) freeze(*before_, buffers_[(number_ + 1) % 2]);
    before_.reset();
  }

  /// From now on, so much of the spare memory is taken for something else.
  void hold_beside(std::uint64_t bytes) { beside_bytes_ = bytes; }

  /// Throws a ResourceError when a shard of so many distinct k-mers takes `more` bytes, and so many can no
  /// longer be spared.
  void check_room(std::uint64_t entries, std::uint64_t more) const {
    const std::uint64_t bytes = beside_bytes_ + growth(buffers_[0]) + growth(buffers_[1]) + more;
    if (bytes <= spare_bytes_) return;
    throw ResourceError("a shard of " + std::to_string(entries) +
                        " different k-mers takes more of the GPU's memory than there is; raise "
                        "--device-memory by " +
                        megabytes_up(kAddedForSpare * (bytes - spare_bytes_)) + ", or use --device cpu");
  }

  /// Enqueues the rest; no more shards come. `end` marks when all is frozen.
  void finish(const Event& end) {
    settle();
    end.record(freeze_stream_);
    histogram_.resize(tallies_.size());
    copy_to_host(histogram_.data(), tallies_.data(), tallies_.size(), freeze_stream_);
    freeze_stream_.wait();
    clock_.collect();
  }

  void add_to(backend::Tally& tally) const {
    tally.note_histogram(histogram_);
    tally.merge(large_counts_);
  }
  [[nodiscard]] double freeze_seconds() const { return clock_.seconds(); }

 private:
  struct ShardChunk {
    std::uint32_t first_shard, shards;
    std::uint64_t kmers;  ///< number of k-mers, as far as is known
    std::uint64_t bound;  ///< entries at most, or so it seems
    Waiting words;
    std::uint32_t bin_shift = 0;  ///< 2^bin_shift bins were counted as one
  };
  /// The results of counting a chunk.
  struct ChunkResult {
    unsigned long long size;
    CountFault fault;
    std::uint32_t large_size;
  };
  /// The buffers of a chunk: counted bins, and the data from which they are frozen.
  struct ChunkBuffers {
    CountedBins<Key> counted;
    DeviceArray<ChunkResult> found{1};
    DeviceArray<unsigned long long> tallies{CountHistogram::kTallies};
    DeviceArray<std::uint64_t> large;
    PinnedArray<ChunkResult> host_found{1};
    HostFence counted_fence;
    Event frozen_event;

    [[nodiscard]] const ChunkResult& result() const { return host_found[0]; }
  };

  [[nodiscard]] std::uint64_t load_of(std::uint32_t shard) const {
    return loads_[shard - range_.first_shard()];
  }

  ShardChunk plan_chunk(std::uint32_t first, std::uint32_t most, const Waiting& words) const {
    ShardChunk chunk{first, 0, 0, 0, words, 0};
    most = std::min(most, std::max(1u, size_.bins / range_.bins_per_shard()));
    while (chunk.shards < most) {
      const std::uint64_t kmers = chunk.kmers + load_of(first + chunk.shards);
      if (chunk.shards > 0 && foreseen(kmers) > size_.entries) break;
      chunk.kmers = kmers;
      ++chunk.shards;
    }
    chunk.bound = foreseen(chunk.kmers);
    return chunk;
  }

  /// Returns the expected number of distinct k-mers to be kept, out of `kmers`.
  [[nodiscard]] std::uint64_t foreseen(std::uint64_t kmers) const {
    if (!foresees_) return kmers;
    const double expected =
        static_cast<double>(kmers) * kept_of_kmers_ * plan_.tuning.entries_margin + kLeastBound;
    return std::min(kmers, static_cast<std::uint64_t>(expected));
  }

  [[nodiscard]] CountTask<Key, Words> task_for(const ShardChunk& chunk) const {
    return counting_.task(chunk.first_shard, chunk.shards, chunk.words, chunk.bin_shift);
  }

  void count(ShardChunk& chunk, ChunkBuffers& buffers) {
    chunk.bin_shift = counting_.joined(chunk.first_shard, chunk.shards, chunk.words);
    CountTask<Key, Words> task = task_for(chunk);
    task.kept = plan_.kept;
    // A shard has more occurrences than fit, but perhaps fewer distinct k-mers: measure their number.
    if (chunk.bound > size_.entries) chunk.bound = counting_.measure(task);
    make_room(buffers, chunk);
    task.out = buffers.counted.view(task.first_bin);
    task.out_capacity = buffers.counted.capacity();
    ChunkResult* const found = buffers.found.data();
    task.out_size = &found->size;
    task.fault = &found->fault;
    task.final = true;
    task.histogram = {buffers.tallies.data(), buffers.large.data(), &found->large_size};
    buffers.frozen_event.let_follow(stream_);
    fill_bytes(found, 0, 1, stream_);
    fill_bytes(buffers.tallies.data(), 0, buffers.tallies.size(), stream_);
    fill_bytes(buffers.counted.big_size(), 0, 1, stream_);
    counting_.count(task);
    copy_small(buffers.host_found.data(), found, 1, stream_);
    buffers.counted_fence.record(stream_);
  }

  /// The bytes to add to a cap for a byte more to spare: at most half of them goes to feeds, staging and
  /// bins, or is left for holes of the memory pool.
  static constexpr std::uint64_t kAddedForSpare = 2;

  /// Returns the bytes that entries take beyond a chunk's size.
  [[nodiscard]] std::uint64_t growth(const ChunkBuffers& buffers) const {
    return (std::max(buffers.counted.capacity(), size_.entries) - size_.entries) * kEntryBytes;
  }
  /// Makes room of one size for all chunks but unusual ones, because memory that the device works on must not
  /// move.
  void make_room(ChunkBuffers& buffers, const ShardChunk& chunk) {
    const std::uint64_t entries = std::max(chunk.bound, usual_bound_);
    const std::uint32_t bins = std::min(range_.bins(), std::max(size_.bins, range_.bins_per_shard()));
    if (buffers.counted.capacity() >= entries) return;
    if (entries > size_.entries)
      check_room(entries, (entries - size_.entries) * kEntryBytes - growth(buffers));
    check(cudaStreamSynchronize(stream_), "counting");
    freeze_stream_.wait();
    buffers.counted = {};
    buffers.counted = CountedBins<Key>(entries, bins);
  }

  /// Waits until the chunk is counted, and enqueues the work that makes payloads of it. A chunk that has more
  /// k-mers than were foreseen is counted again.
  void freeze(const ShardChunk& chunk, ChunkBuffers& buffers) {
    buffers.counted_fence.wait();
    const std::uint64_t entries = buffers.result().size;
    if (buffers.result().fault == CountFault::output_full && chunk.bound < chunk.kmers && foresees_) {
      note_kept(chunk, entries);
      return count_in_halves(chunk, entries, buffers);
    }
    counting_.throw_fault(buffers.result().fault);
    counting_.learn(task_for(chunk), entries);
    note_kept(chunk, entries);
    take_large_counts(buffers);
    launch_add_tallies(tallies_.data(), buffers.tallies.data(), CountHistogram::kTallies, freeze_stream_);
    FrozenChunk frozen;
    frozen.first_shard = chunk.first_shard;
    const PayloadRing::Room room = plan_.histogram_only
                                       ? freeze_nothing(chunk, frozen.strings)
                                       : freeze_strings(chunk, buffers, entries, frozen.strings);
    buffers.frozen_event.record(freeze_stream_);
    room.ready->record(freeze_stream_);
    frozen.payload = room.words;
    frozen.ready = room.ready;
    chunks_->put(std::move(frozen));
  }

  /// Enqueues the making of strings. The sizes of payloads come from the device; meanwhile it counts the next
  /// chunk.
  PayloadRing::Room freeze_strings(const ShardChunk& chunk, ChunkBuffers& buffers, std::uint64_t entries,
                                   std::vector<StringPlan>& plans) {
    CountedShards<Key> shards{};
    shards.counted = buffers.counted.view(task_for(chunk).first_bin);
    shards.first_shard = chunk.first_shard;
    shards.shards = chunk.shards;
    shards.bins_per_shard = range_.bins_per_shard() >> chunk.bin_shift;
    shards.bins_are_ordered = true;
    shards.entries = entries;
    std::uint64_t words = 0;
    clock_.time(freeze_stream_, [&] {
      for (const groups::ShardSizes& sizes : freezer_->measure(shards, freeze_stream_)) {
        plans.push_back({sizes, words});
        words += sizes.words;
      }
    });
    words += PayloadRing::kSpareWords;
    const PayloadRing::Room room =
        payloads_.take(chunk.first_shard, words, ring_words(words, entries), *chunks_);
    clock_.time(freeze_stream_, [&] { freezer_->write(room.words, freeze_stream_); });
    return room;
  }

  /// Says that the shards are empty: their counts are noted already.
  PayloadRing::Room freeze_nothing(const ShardChunk& chunk, std::vector<StringPlan>& plans) {
    plans.assign(chunk.shards, {});
    return payloads_.take(chunk.first_shard, PayloadRing::kSpareWords, PayloadRing::kSpareWords, *chunks_);
  }

  /// Returns the words for the payloads of two usual chunks, or of four if that is not much, when a chunk of
  /// so many entries has so many words.
  [[nodiscard]] std::uint64_t ring_words(std::uint64_t words, std::uint64_t entries) const {
    if (entries == 0) return words;
    const double usual_entries = static_cast<double>(usual_bound_) * (foresees_ ? 1 : kept_of_kmers_);
    const double usual =
        kRingMargin * static_cast<double>(words) / static_cast<double>(entries) * usual_entries;
    const double most = static_cast<double>(size_.entries * kRingBytes / sizeof(std::uint64_t));
    return static_cast<std::uint64_t>(std::min(most, std::max(2 * usual, std::min(4 * usual, kMuchRing))));
  }
  static constexpr double kRingMargin = 1.125, kMuchRing = 1 << 25;

  void count_in_halves(const ShardChunk& chunk, std::uint64_t entries, ChunkBuffers& buffers) {
    // Shards go in order, so that both halves take turns in one buffer.
    ShardChunk halves[2] = {chunk, chunk};
    halves[0].shards = chunk.shards / 2;
    halves[1].first_shard += halves[0].shards;
    halves[1].shards -= halves[0].shards;
    for (ShardChunk& half : halves) {
      if (half.shards == 0) continue;
      half.kmers = 0;
      for (std::uint32_t shard = 0; shard < half.shards; ++shard)
        half.kmers += load_of(half.first_shard + shard);
      half.bound = std::min(half.kmers, entries);
      // A half that is still too large is halved again; only a single shard may take more than a chunk has.
      if (half.shards > 1) half.bound = std::min(half.bound, size_.entries);
      count(half, buffers);
      freeze(half, buffers);
    }
  }

  /// Notes the numbers from which later chunks are estimated: those of the last chunk, or much of those
  /// before.
  void note_kept(const ShardChunk& chunk, std::uint64_t entries) {
    if (chunk.kmers == 0) return;
    const double kept = static_cast<double>(entries) / static_cast<double>(chunk.kmers);
    kept_of_kmers_ = number_ == 0 ? kept : std::max(kept, kept_of_kmers_ * 15 / 16);
  }

  /// Takes the counts that are too large for bins; they are few.
  void take_large_counts(const ChunkBuffers& buffers) {
    const std::uint32_t n = buffers.result().large_size;
    if (n == 0) return;
    std::vector<std::uint64_t> counts(n);
    copy_to_host(counts.data(), buffers.large.data(), n, freeze_stream_);
    freeze_stream_.wait();
    for (const std::uint64_t count : counts) large_counts_.note(count, 1);
  }

  /// A chunk has room for the estimated number of distinct k-mers, times a margin, plus this number.
  static constexpr double kLeastBound = 4096;

  const DeviceCountPlan& plan_;
  const BinRange range_;
  Counting& counting_;
  ChunkSink* chunks_ = nullptr;  ///< from `begin` on
  ChunkSize size_{};
  const cudaStream_t stream_;
  Stream freeze_stream_{Stream::Priority::high};  ///< the rest of one launch runs beside the next count
  ChunkBuffers buffers_[2];
  PayloadRing payloads_;
  std::vector<unsigned long long> loads_;  ///< k-mers of the range's shards
  std::uint64_t usual_bound_ = 1;          ///< entries of a chunk that is not one hot shard
  std::uint64_t spare_bytes_ = 0, beside_bytes_ = 0;
  bool foresees_ = false;
  double kept_of_kmers_ = 1;
  std::uint32_t number_ = 0;          ///< number of chunks planned
  std::optional<ShardChunk> before_;  ///< chunk that is counted and still to be frozen
  DeviceArray<unsigned long long> tallies_;
  std::unique_ptr<StringFreezer<Key>> freezer_;
  std::vector<unsigned long long> histogram_;
  backend::Tally large_counts_;  ///< those that it does not have
  SpanClock clock_;
};

}  // namespace warpmer::gpu
