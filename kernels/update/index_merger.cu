// Step by step some shards are merged: first measured, then written. While one step is laid out by the host,
// the next is measured; the shards after that are on their way here, and what came out before on its way out.

#include <algorithm>
#include <bit>
#include <chrono>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kernels/memory/host_fence.cuh"
#include "kernels/memory/payload_ring.cuh"
#include "kernels/memory/small_copy.cuh"
#include "kernels/memory/span_clock.cuh"
#include "kernels/update/index_merger.cuh"
#include "kernels/update/shard_merge.cuh"
#include "kernels/upload/frozen_shards.cuh"
#include "kernels/upload/index_shard_window.cuh"

namespace warpmer::gpu {

namespace {

/// Steps whose results are not written yet.
constexpr std::uint32_t kSteps = 2;
/// There is room for the index's shards of so many steps: that which is to be written, that which is
/// measured, and the one after them; and for so many that are on their way out.
constexpr std::uint64_t kStepsIn = 3, kStepsOut = 3;
/// An index is merged in so many steps at least, so that one is merged while the next comes.
constexpr std::uint64_t kLeastSteps = 8;
/// More words at once are not faster: 128 MB. Nor do fewer matter, where memory does: 512 KB.
constexpr std::uint64_t kMostStepWords = std::uint64_t{1} << 24, kLeastStepWords = std::uint64_t{1} << 16;
constexpr std::uint32_t kMostStepShards = 512;
/// Returns the words for the new shards of a step. These are larger: by a quarter, and by at least so many
/// words if the index is small and much is added.
constexpr std::uint64_t payload_words_for(std::uint64_t step_words) {
  return std::max(step_words + step_words / 4, std::uint64_t{1} << 18);
}
/// A single shard may come to this: 1 GB.
constexpr std::uint64_t kMostPayloadWords = std::uint64_t{1} << 27;
/// Words of a payload that a piece comes to at least, as far as pieces are planned with.
constexpr std::uint64_t kWordsPerPiece = 256;
constexpr std::uint64_t kPieceBytes = (kWidths + 1) * sizeof(std::uint32_t) + 2 * sizeof(std::uint64_t);
/// The words behind a payload's end that a read of its last fields may touch.
constexpr std::uint64_t kSpareWords = 4;

std::uint64_t shard_bytes() {
  return sizeof(MergedShard<Key128>) + sizeof(ShardPlan) + kWidths * sizeof(std::uint32_t);
}
std::uint32_t most_step_shards(const index::IndexParams& params) {
  return std::min(params.shards(), kMostStepShards);
}

/// The words of a payload, at most, when what these shapes have is merged. Of the sums' widths one more bit
/// than of the summands' does, so that no more counts are exceptions than were; that is one of the choices,
/// of which `index::choose_shape` takes the best.
std::uint64_t most_words(const index::ShardShape& was, const index::ShardShape& added, std::uint32_t k) {
  constexpr std::uint64_t kMostCountBits = 32;
  const std::uint64_t entries = was.entries + added.entries;
  if (entries == 0) return 0;
  const std::uint64_t bucket_bits = index::bucket_bits_for(entries, k);
  const std::uint64_t wider = std::max(was.count_bits, added.count_bits) + std::uint64_t{1};
  const std::uint64_t count_bits = std::min(wider, kMostCountBits);
  const std::uint64_t exceptions = wider > kMostCountBits ? entries : was.exceptions + added.exceptions;
  // With fewer entries there may be half the buckets.
  const std::uint64_t entry_bits = 2 * k - bucket_bits + 1 + count_bits;
  const std::uint64_t number_bits = std::bit_width(entries);
  return warpmer::words_for((std::uint64_t{1} << bucket_bits) + 1, static_cast<std::uint32_t>(number_bits)) +
         warpmer::words_for(entries, static_cast<std::uint32_t>(entry_bits)) +
         warpmer::words_for(exceptions, static_cast<std::uint32_t>(number_bits + 64));
}

template <class Key>
class Merger : public IndexMerger {
 public:
  Merger(const index::IndexFile& index, index::ShardRange shards, const MergerPlan& plan)
      : index_(index),
        k_(index.params().k),
        shards_(shards),
        plan_(plan),
        coming_(IndexPayloads::as_entries(index), shards, plan.ring_words, plan.uploaders) {
    for (std::uint32_t i = 0; i < kSteps; ++i)
      steps_.emplace_back(most_step_shards(index.params()), plan.most_pieces);
    fill_bytes(tallies_.data(), 0, tallies_.size(), stream_);
    fill_bytes(shortfall_.data(), 0, 1, stream_);
    stream_.wait();
  }
  ~Merger() override { cudaStreamSynchronize(stream_); }

  void merge(ChunkFeed* added, ChunkFeed* removed, bool has_index, const ChunkOutlets& outlets) override {
    for (ChunkFeed* const feed : {added, removed}) {
      if (feed != nullptr) feeds_.push_back(feed);
    }
    added_ = added;
    removed_ = removed;
    takes_index_ = !has_index;
    if (takes_index_) coming_.begin();
    for (std::uint32_t shard = shards_.first, turn = 0; shard < shards_.end; ++turn) {
      // A step is measured before the one before is written, so that the GPU has work while the host lays
      // that out; unless it has to be waited for.
      if (!has_begun(shard)) write_before(outlets);
      MergeStep& step = steps_[turn % kSteps];
      shard = plan(shard, step);
      if (takes_index_ && !coming_.are_read(shard)) write_before(outlets);
      measure(step);
      write_before(outlets);
      before_ = &step;
    }
    write_before(outlets);
    take_results();
  }

  void add_to(backend::Tally& tally) const override {
    for (std::uint64_t count = 1; count < histogram_.size(); ++count) {
      if (histogram_[count] > 0) tally.note(count, histogram_[count]);
    }
  }
  [[nodiscard]] backend::Shortfall shortfall() const override { return what_is_short_; }
  [[nodiscard]] double seconds() const override { return clock_.seconds(); }
  [[nodiscard]] double seconds_waited() const override { return waited_; }
  [[nodiscard]] std::uint64_t bytes() const override {
    if (!takes_index_) return 0;
    return (first_words()[shards_.end] - first_words()[shards_.first]) * sizeof(std::uint64_t);
  }

 private:
  static_assert(CountHistogram::kTallies == 1u << kTalliedBits);

  /// Shards that are merged together: first measured, then written.
  struct MergeStep {
    MergeStep(std::uint32_t most_shards, std::uint32_t most_pieces)
        : entries(most_pieces),
          widths(std::size_t{most_pieces} * kWidths),
          entries_before(most_pieces),
          exceptions_before(most_pieces),
          merged(most_shards),
          made(most_shards),
          plans(most_shards),
          made_plans(most_shards),
          shard_widths(std::size_t{most_shards} * kWidths),
          measured_widths(std::size_t{most_shards} * kWidths),
          damaged(1),
          measured_damaged(1) {}

    index::ShardRange shards{0, 0};
    std::uint32_t pieces = 0;
    DeviceArray<std::uint32_t> entries, widths;
    DeviceArray<std::uint64_t> entries_before, exceptions_before;
    DeviceArray<MergedShard<Key>> merged;
    PinnedArray<MergedShard<Key>> made;  ///< on their way there
    DeviceArray<ShardPlan> plans;
    PinnedArray<ShardPlan> made_plans;
    DeviceArray<std::uint32_t> shard_widths;
    PinnedArray<std::uint32_t> measured_widths;
    DeviceArray<std::uint32_t> damaged;
    PinnedArray<std::uint32_t> measured_damaged;
    HostFence measured;
  };

  [[nodiscard]] const std::vector<std::uint64_t>& first_words() const { return coming_.first_words(); }

  /// True when a step can be planned from a shard on: it is on its way, and the chunks that are merged with
  /// it are there.
  [[nodiscard]] bool has_begun(std::uint32_t shard) const {
    return shard < end_of_coming() &&
           std::all_of(feeds_.begin(), feeds_.end(), [&](ChunkFeed* feed) { return feed->has(shard); });
  }

  /// The end of the shards that have begun to come.
  [[nodiscard]] std::uint32_t end_of_coming() const { return takes_index_ ? coming_.end() : shards_.end; }

  /// A step of the shards from `first` on, as many as fit. Returns the next.
  std::uint32_t plan(std::uint32_t first, MergeStep& step) const {
    step.shards = {first, std::min(end_of_coming(), first + static_cast<std::uint32_t>(step.made.size()))};
    const FrozenChunk* const added = chunk_of(added_, step.shards);
    const FrozenChunk* const removed = chunk_of(removed_, step.shards);
    std::uint32_t shard = first;
    step.pieces = 0;
    for (std::uint64_t words = 0, words_in = 0; shard < step.shards.end; ++shard) {
      const index::ShardView views[] = {takes_index_ ? coming_.view(shard) : index::ShardView{},
                                        view_of(added, shard), view_of(removed, shard)};
      const std::uint32_t bits =
          piece_bits(views[0].shape.entries + views[1].shape.entries + views[2].shape.entries);
      const std::uint64_t more = most_words(views[0].shape, views[1].shape, k_);
      if (more > plan_.most_payload_words) throw_too_large(shard, more);
      words_in += views[0].payload_words;
      const bool fits = words_in <= plan_.step_words && words + more <= payload_words_for(plan_.step_words) &&
                        step.pieces + (1u << bits) <= plan_.most_pieces;
      if (!fits && shard > first) break;
      step.made[shard - first] = {index::ShardReader<Key>(views[0], k_),
                                  index::ShardReader<Key>(views[1], k_),
                                  index::ShardReader<Key>(views[2], k_), step.pieces, bits};
      words += more;
      step.pieces += 1u << bits;
    }
    step.shards.end = shard;
    return shard;
  }

  /// Returns a feed's chunk of the shards from `range.first` on, and shortens the range to the end of the
  /// chunk.
  const FrozenChunk* chunk_of(ChunkFeed* feed, index::ShardRange& range) const {
    if (feed == nullptr) return nullptr;
    const FrozenChunk& chunk = feed->chunk_of(range.first, stream_);
    range.end = std::min(range.end, chunk.first_shard + static_cast<std::uint32_t>(chunk.plans.size()));
    return &chunk;
  }
  static index::ShardView view_of(const FrozenChunk* chunk, std::uint32_t shard) {
    if (chunk == nullptr) return {};
    const ShardPlan& plan = chunk->plans[shard - chunk->first_shard];
    const auto* const words = reinterpret_cast<const std::uint64_t*>(chunk->payload);
    return {plan.shape, words + plan.first_word, plan.layout.words};
  }

  /// A single shard of very many entries has larger pieces rather than more than there is room for.
  [[nodiscard]] std::uint32_t piece_bits(std::uint64_t entries) const {
    const std::uint64_t pieces = entries / most_entries_per_piece<Key>();
    const auto most = static_cast<std::uint32_t>(std::bit_width(plan_.most_pieces) - 1);
    return std::min({static_cast<std::uint32_t>(std::bit_width(pieces)), most, 2 * k_});
  }

  [[nodiscard]] MergeTask<Key> task_of(const MergeStep& step) const {
    return {step.merged.data(),
            step.shards.end - step.shards.first,
            step.pieces,
            k_,
            next_.data(),
            step.entries.data(),
            step.widths.data(),
            step.entries_before.data(),
            step.exceptions_before.data(),
            step.shard_widths.data(),
            tallies_.data(),
            shortfall_.data(),
            step.damaged.data(),
            step.plans.data(),
            nullptr};
  }

  void measure(MergeStep& step) {
    const auto waits_since = std::chrono::steady_clock::now();
    if (takes_index_) coming_.wait_for(step.shards.end, stream_);
    waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - waits_since).count();
    const std::uint32_t count = step.shards.end - step.shards.first;
    copy_small(step.merged.data(), step.made.data(), count, stream_);
    fill_bytes(step.shard_widths.data(), 0, std::size_t{count} * kWidths, stream_);
    fill_bytes(step.damaged.data(), 0, 1, stream_);
    clock_.time(stream_, [&] { launch_measure_merge(task_of(step), stream_); });
    copy_small(step.measured_widths.data(), step.shard_widths.data(), std::size_t{count} * kWidths, stream_);
    copy_small(step.measured_damaged.data(), step.damaged.data(), 1, stream_);
    step.measured.record(stream_);
  }

  /// Enqueues the writing of the step before, if there is one that is not written, and hands it out.
  void write_before(const ChunkOutlets& outlets) {
    if (before_ == nullptr) return;
    const MergeStep& step = *std::exchange(before_, nullptr);
    step.measured.wait();
    if (step.measured_damaged[0] > 0) {
      throw InputError(index_.path() + ": the entries of shard " +
                       std::to_string(step.shards.first + step.measured_damaged[0] - 1) + " are damaged");
    }
    FrozenChunk frozen;
    frozen.first_shard = step.shards.first;
    const std::uint64_t words = lay_out(step, frozen.plans);
    if (words > plan_.most_payload_words) throw InternalError("merged shards are larger than they can be");
    const PayloadRing::Room room =
        payloads_.take(step.shards.first, words + kSpareWords, plan_.payload_words, outlets.reclaim);
    MergeTask<Key> task = task_of(step);
    task.output = room.words;
    std::copy(frozen.plans.begin(), frozen.plans.end(), step.made_plans.data());
    copy_small(step.plans.data(), step.made_plans.data(), frozen.plans.size(), stream_);
    fill_bytes(room.words, 0, words + kSpareWords, stream_);
    clock_.time(stream_, [&] { launch_write_merge(task, stream_); });
    room.ready->record(stream_);
    if (takes_index_) coming_.give_back(step.shards.end, stream_);
    for (ChunkFeed* const feed : feeds_) feed->give_back(step.shards.end, stream_);
    frozen.payload = room.words;
    frozen.ready = room.ready;
    outlets.take(std::move(frozen));
  }

  /// Decides on the payloads of the shards that were measured. Returns their words.
  std::uint64_t lay_out(const MergeStep& step, std::vector<ShardPlan>& plans) const {
    std::uint64_t words = 0;
    for (std::uint32_t s = 0; s < step.shards.end - step.shards.first; ++s) {
      index::CountWidths of_width{};
      std::copy_n(step.measured_widths.data() + std::size_t{s} * kWidths, kWidths, of_width.begin());
      ShardPlan plan;
      plan.shape = index::choose_shape(std::accumulate(of_width.begin(), of_width.end(), std::uint64_t{0}),
                                       of_width, k_);
      plan.layout = index::payload_layout(plan.shape, k_);
      plan.first_word = words;
      words += plan.layout.words;
      plans.push_back(plan);
    }
    return words;
  }

  [[noreturn]] void throw_too_large(std::uint32_t shard, std::uint64_t words) const {
    throw ResourceError("shard " + std::to_string(shard) + " of " + index_.path() +
                        " becomes too large for updating on the GPU: " + "it may take " +
                        megabytes(words * sizeof(std::uint64_t)) + ", and there is room for " +
                        megabytes(plan_.most_payload_words * sizeof(std::uint64_t)) +
                        "; raise --device-memory, or use --device cpu");
  }

  void take_results() {
    const PinnedArray<unsigned long long> tallies(tallies_.size());
    const PinnedArray<ShortfallCounts> shortfall(1);
    copy_to_host(tallies.data(), tallies_.data(), tallies_.size(), stream_);
    copy_to_host(shortfall.data(), shortfall_.data(), 1, stream_);
    stream_.wait();
    histogram_.assign(tallies.data(), tallies.data() + tallies.size());
    what_is_short_ = {shortfall[0].absent_kmers, shortfall[0].absent_occurrences, shortfall[0].short_kmers,
                      shortfall[0].short_occurrences};
    clock_.collect();
  }

  const index::IndexFile& index_;
  const std::uint32_t k_;
  const index::ShardRange shards_;
  const MergerPlan plan_;
  ChunkFeed* added_ = nullptr;
  ChunkFeed* removed_ = nullptr;
  bool takes_index_ = true;                ///< else it has come with what is added
  std::vector<ChunkFeed*> feeds_;          ///< those there are
  Stream stream_{Stream::Priority::high};  ///< the chunks that come next are being counted beside it
  std::vector<MergeStep> steps_;
  const MergeStep* before_ = nullptr;  ///< measured, to be written
  PayloadRing payloads_;
  DeviceArray<unsigned long long> tallies_{CountHistogram::kTallies};
  DeviceArray<ShortfallCounts> shortfall_{1};
  DeviceArray<std::uint32_t> next_{1};
  std::vector<std::uint64_t> histogram_;
  backend::Shortfall what_is_short_;
  SpanClock clock_;
  double waited_ = 0;
  IndexShardWindow coming_;
};

}  // namespace

std::uint64_t MergerPlan::device_bytes(const index::IndexParams& params) const {
  constexpr std::uint64_t kRounding = std::uint64_t{4} << 20;  // the allocator's, and what is small
  return (ring_words + most_payload_words) * sizeof(std::uint64_t) +
         kSteps * (most_pieces * kPieceBytes + most_step_shards(params) * shard_bytes()) +
         CountHistogram::kTallies * sizeof(unsigned long long) + kRounding;
}

MergerPlan plan_merger(const index::IndexFile& index, std::uint64_t device_bytes, std::uint64_t host_bytes,
                       std::size_t devices) {
  const std::vector<std::uint64_t> words = shard_words(IndexPayloads::as_entries(index));
  const std::uint64_t all = std::accumulate(words.begin(), words.end(), std::uint64_t{0});
  const std::uint64_t largest = *std::max_element(words.begin(), words.end());
  const auto plan_for = [&](std::uint64_t step_words) {
    MergerPlan plan;
    plan.step_words = step_words;
    plan.ring_words = std::max(kStepsIn * step_words, ShardUploader::most_part_words(largest));
    plan.payload_words = kStepsOut * payload_words_for(step_words);
    plan.most_pieces = static_cast<std::uint32_t>(std::max<std::uint64_t>(
        most_step_shards(index.params()), payload_words_for(step_words) / kWordsPerPiece));
    plan.uploader_bytes = ShardUploader::bytes_of_thread(largest);
    plan.uploaders = static_cast<unsigned>(std::clamp<std::uint64_t>(
        host_bytes / plan.uploader_bytes, 1, upload_threads(plan.ring_words, devices)));
    // The largest shard may become twice as large, at least.
    plan.most_payload_words = std::max(plan.payload_words, 2 * largest);
    return plan;
  };
  const auto bytes = [&](const MergerPlan& plan) { return plan.device_bytes(index.params()); };
  std::uint64_t step_words = std::clamp(all / kLeastSteps, kLeastStepWords, kMostStepWords);
  MergerPlan plan = plan_for(step_words);
  while (step_words > kLeastStepWords && bytes(plan) > device_bytes) {
    step_words = std::max(kLeastStepWords, step_words / 8 * 7);
    plan = plan_for(step_words);
  }
  if (bytes(plan) > device_bytes) {
    throw ResourceError("updating " + index.path() + " takes " + megabytes_up(bytes(plan)) +
                        " of the GPU's memory beside what counting takes, and " + megabytes(device_bytes) +
                        " are free or allowed for it; raise --device-memory, choose another GPU, or use "
                        "--device cpu");
  }
  if (plan.host_bytes() > host_bytes) {
    throw ResourceError("-m leaves " + megabytes(host_bytes) + " for copying " + index.path() +
                        " to the GPU, which takes " + megabytes_up(plan.host_bytes()) + "; raise -m");
  }
  // Of what is left, that is not for what may never come: counting has use for it.
  const std::uint64_t spare = std::max(device_bytes * 2 / 3, bytes(plan)) - bytes(plan);
  const std::uint64_t more = spare / sizeof(std::uint64_t);
  plan.most_payload_words =
      std::max(plan.most_payload_words, std::min(kMostPayloadWords, plan.most_payload_words + more));
  return plan;
}

std::unique_ptr<IndexMerger> make_index_merger(const index::IndexFile& index, index::ShardRange shards,
                                               const MergerPlan& plan) {
  return with_key_type(index.params().k, [&]<class Key>(Key) -> std::unique_ptr<IndexMerger> {
    return std::make_unique<Merger<Key>>(index, shards, plan);
  });
}

}  // namespace warpmer::gpu
