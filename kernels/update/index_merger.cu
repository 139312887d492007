// Step by step some shards are merged: all that there is of them is unpacked, put in order and frozen. The
// shards after that are on their way here meanwhile, and what came out before is on its way out.

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kernels/freeze/payload_ring.cuh"
#include "kernels/memory/span_clock.cuh"
#include "kernels/update/index_merger.cuh"
#include "kernels/update/string_merge.cuh"
#include "kernels/upload/frozen_shards.cuh"
#include "kernels/upload/index_shard_window.cuh"

namespace warpmer::gpu {

namespace {

/// There is room for the index's shards of so many steps: that which is merged, and those that come.
constexpr std::uint64_t kStepsIn = 3;
/// And for the new shards of about so many.
constexpr double kStepsOut = 4;
/// More k-mers at once are not faster. Fewer leave much of the device idle.
constexpr std::uint64_t kMostStepKmers = std::uint64_t{1} << 22, kLeastStepKmers = std::uint64_t{1} << 16;
/// A step takes one part in this many of the memory for merging, if it is not among the least.
constexpr std::uint64_t kStepShare = 4;
constexpr std::uint32_t kMostStepShards = 512;
/// The most k-mers of a single shard for which there is room just in case.
constexpr std::uint64_t kManyKmers = std::uint64_t{1} << 26;
/// Bytes of a k-mer in a new payload, at most, unless counts are very large.
template <class Key>
constexpr std::uint64_t kPayloadBytes = 2 * sizeof(Key);

/// Calls `f` with a value of the type that keys of groups need.
template <class F>
auto with_group_key(std::uint32_t k, F&& f) {
  return groups::GroupKeys<Key64, Key64>(k).bits() <= 64 ? f(Key64{}) : f(Key128{});
}

template <class Key>
class Merger : public IndexMerger {
 public:
  Merger(const index::IndexFile& index, index::ShardRange shards, const MergerPlan& plan)
      : index_(index),
        shards_(shards),
        plan_(plan),
        step_(index.params().k, kMostStepShards),
        strings_(index.params().k, index.params().canonical, kMostStepShards, stream_),
        coming_(index, shards, plan.ring_words, plan.uploaders) {
    stream_.wait();
  }
  ~Merger() override { cudaStreamSynchronize(stream_); }

  void merge(ChunkFeed* added, ChunkFeed* removed, ChunkSink& chunks) override {
    added_ = added;
    removed_ = removed;
    coming_.begin();
    for (std::uint32_t shard = shards_.first; shard < shards_.end;) {
      const index::ShardRange range = plan_step(shard);
      merge_step(range, chunks);
      shard = range.end;
    }
    strings_.add_to(tally_, stream_);
    what_is_short_ = strings_.shortfall(stream_);
    clock_.collect();
  }

  [[nodiscard]] const backend::Tally& tally() const override { return tally_; }
  [[nodiscard]] backend::Shortfall shortfall() const override { return what_is_short_; }
  [[nodiscard]] double seconds() const override { return clock_.seconds(); }
  [[nodiscard]] double seconds_waited() const override { return waited_; }
  [[nodiscard]] std::uint64_t bytes() const override {
    const std::vector<std::uint64_t>& first_words = coming_.first_words();
    return (first_words[shards_.end] - first_words[shards_.first]) * sizeof(std::uint64_t);
  }

 private:
  /// Sets `step_` to the shards from `first` on, as many as fit.
  index::ShardRange plan_step(std::uint32_t first) {
    index::ShardRange range{first, std::min({shards_.end, first + kMostStepShards, coming_.end()})};
    const FrozenChunk* const added = chunk_of(added_, range);
    const FrozenChunk* const removed = chunk_of(removed_, range);
    step_.clear();
    std::uint32_t shard = first;
    for (std::uint64_t words = 0; shard < range.end; ++shard) {
      const StringShard was{index_.sizes(shard), coming_.payload(shard)};
      const StringShard more = shard_of(added, shard), less = shard_of(removed, shard);
      const std::uint64_t kmers = was.sizes.kmers + more.sizes.kmers + less.sizes.kmers;
      if (kmers > plan_.most_kmers) throw_too_large(shard, kmers);
      words += was.sizes.words;
      const bool fits = words <= plan_.step_words && step_.kmers() + kmers <= plan_.step_kmers;
      if (!fits && shard > first) break;
      step_.add(was, more, less);
    }
    range.end = shard;
    return range;
  }

  /// Returns a feed's chunk of the shards from `range.first` on, and shortens the range to the end of the
  /// chunk.
  const FrozenChunk* chunk_of(ChunkFeed* feed, index::ShardRange& range) const {
    if (feed == nullptr) return nullptr;
    const FrozenChunk& chunk = feed->chunk_of(range.first, stream_);
    range.end = std::min(range.end, chunk.first_shard + chunk.shards());
    return &chunk;
  }
  static StringShard shard_of(const FrozenChunk* chunk, std::uint32_t shard) {
    if (chunk == nullptr) return {};
    const StringPlan& plan = chunk->strings[shard - chunk->first_shard];
    return {plan.sizes, reinterpret_cast<const std::uint64_t*>(chunk->payload) + plan.first_word};
  }
  void merge_step(const index::ShardRange& range, ChunkSink& chunks) {
    const auto waits_since = std::chrono::steady_clock::now();
    coming_.wait_for(range.end, stream_);
    waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - waits_since).count();
    FrozenChunk frozen;
    frozen.first_shard = range.first;
    std::uint64_t words = 0;
    clock_.time(stream_, [&] {
      for (const groups::ShardSizes& sizes : strings_.measure(step_, stream_)) {
        frozen.strings.push_back({sizes, words});
        words += sizes.words;
      }
    });
    coming_.give_back(range.end, stream_);
    for (ChunkFeed* const feed : {added_, removed_}) {
      if (feed != nullptr) feed->give_back(range.end, stream_);
    }
    words += PayloadRing::kSpareWords;
    const PayloadRing::Room room = payloads_.take(range.first, words, ring_words(words), chunks);
    clock_.time(stream_, [&] { strings_.write(room.words, stream_); });
    room.ready->record(stream_);
    frozen.payload = room.words;
    frozen.ready = room.ready;
    chunks.put(std::move(frozen));
  }

  /// Returns the words for some payloads such as that of this step, which has so many.
  [[nodiscard]] std::uint64_t ring_words(std::uint64_t words) const {
    const double usual = static_cast<double>(words) * static_cast<double>(plan_.step_kmers) /
                         static_cast<double>(std::max<std::uint64_t>(1, step_.kmers()));
    const double most = static_cast<double>(plan_.most_kmers * kPayloadBytes<Key>) / sizeof(std::uint64_t);
    return static_cast<std::uint64_t>(std::min(most, kStepsOut * usual));
  }

  [[noreturn]] void throw_too_large(std::uint32_t shard, std::uint64_t kmers) const {
    throw ResourceError("shard " + std::to_string(shard) + " of " + index_.path() +
                        " becomes too large for updating on the GPU: it may have " + std::to_string(kmers) +
                        " k-mers, and there is room for " + std::to_string(plan_.most_kmers) +
                        "; raise --device-memory, or use --device cpu");
  }

  const index::IndexFile& index_;
  const index::ShardRange shards_;
  const MergerPlan plan_;
  ChunkFeed* added_ = nullptr;
  ChunkFeed* removed_ = nullptr;
  Stream stream_{Stream::Priority::high};  ///< the chunks that come next are being counted beside it
  MergeShards step_;
  StringMerger<Key> strings_;
  PayloadRing payloads_;
  backend::Tally tally_;
  backend::Shortfall what_is_short_;
  SpanClock clock_;
  double waited_ = 0;
  IndexShardWindow coming_;
};

/// The numbers of an index that a plan depends on.
struct IndexSize {
  std::uint64_t kmers = 0, words = 0;
  std::uint64_t most_kmers = 0, most_words = 0;  ///< of a shard

  explicit IndexSize(const index::IndexFile& index) {
    for (std::uint32_t shard = 0; shard < index.params().shards(); ++shard) {
      kmers += index.kmers(shard);
      words += index.sizes(shard).words;
      most_kmers = std::max(most_kmers, index.kmers(shard));
      most_words = std::max(most_words, index.sizes(shard).words);
    }
  }
  /// Returns the words that so many k-mers of usual shards take, about.
  [[nodiscard]] std::uint64_t words_of(std::uint64_t some_kmers) const {
    if (kmers == 0) return 0;
    const double words_per_kmer = static_cast<double>(words) / static_cast<double>(kmers);
    return static_cast<std::uint64_t>(1.25 * words_per_kmer *
                                      static_cast<double>(std::min(some_kmers, kmers)));
  }
};

std::uint64_t bytes_per_kmer(std::uint32_t k) {
  return with_group_key(k, []<class Key>(Key) { return StringMerger<Key>::kKmerBytes + kPayloadBytes<Key>; });
}

}  // namespace

std::uint64_t MergerPlan::device_bytes(std::uint32_t k) const {
  const std::uint64_t fixed =
      with_group_key(k, []<class Key>(Key) { return StringMerger<Key>::kFixedBytes; });
  // Parts of shards that have few k-mers are no larger.
  const std::uint64_t parts = (2 * most_kmers / StringExpander<Key64>::kPartKmers + kMostStepShards) *
                              StringExpander<Key64>::kPartBytes;
  constexpr std::uint64_t kRounding = std::uint64_t{4} << 20;  // the allocator's, and what is small
  return ring_words * sizeof(std::uint64_t) + most_kmers * bytes_per_kmer(k) + parts + fixed + kRounding;
}

MergerPlan plan_merger(const index::IndexFile& index, std::uint64_t device_bytes, std::uint64_t host_bytes,
                       std::size_t devices) {
  const std::uint32_t k = index.params().k;
  const IndexSize size(index);
  const auto plan_for = [&](std::uint64_t step_kmers) {
    MergerPlan plan;
    plan.step_kmers = step_kmers;
    // The largest shard may become twice as large, at least.
    plan.most_kmers = std::min(std::max(step_kmers, 2 * size.most_kmers), kMostExpanded - 1);
    plan.step_words = std::max(size.words_of(step_kmers), size.most_words);
    plan.ring_words =
        std::max(kStepsIn * size.words_of(step_kmers), ShardUploader::most_part_words(size.most_words));
    plan.uploader_bytes = ShardUploader::bytes_of_thread(size.most_words);
    plan.uploaders = static_cast<unsigned>(std::clamp<std::uint64_t>(
        host_bytes / plan.uploader_bytes, 1, upload_threads(plan.ring_words, devices)));
    return plan;
  };
  MergerPlan plan =
      plan_for(std::clamp(device_bytes / kStepShare / bytes_per_kmer(k), kLeastStepKmers, kMostStepKmers));
  while (plan.step_kmers > kLeastStepKmers && plan.device_bytes(k) > device_bytes)
    plan = plan_for(std::max(kLeastStepKmers, plan.step_kmers / 8 * 7));
  if (plan.device_bytes(k) > device_bytes) {
    throw ResourceError("updating " + index.path() + " takes " + megabytes_up(plan.device_bytes(k)) +
                        " of the GPU's memory beside what counting takes, and " + megabytes(device_bytes) +
                        " are free or allowed for it; raise --device-memory, choose another GPU, or use "
                        "--device cpu");
  }
  if (plan.host_bytes() > host_bytes) {
    throw ResourceError("-m leaves " + megabytes(host_bytes) + " for copying " + index.path() +
                        " to the GPU, which takes " + megabytes_up(plan.host_bytes()) + "; raise -m");
  }
  // Of what is left, that is not for what may never come: counting has use for it.
  const std::uint64_t held = plan.device_bytes(k);
  const std::uint64_t spare = std::max(device_bytes * 2 / 3, held) - held;
  plan.most_kmers =
      std::max(plan.most_kmers, std::min(kManyKmers, plan.most_kmers + spare / (bytes_per_kmer(k) + 1)));
  return plan;
}

std::unique_ptr<IndexMerger> make_index_merger(const index::IndexFile& index, index::ShardRange shards,
                                               const MergerPlan& plan) {
  return with_group_key(index.params().k, [&]<class Key>(Key) -> std::unique_ptr<IndexMerger> {
    return std::make_unique<Merger<Key>>(index, shards, plan);
  });
}

}  // namespace warpmer::gpu
