// Frames of the index's shards by turns: while one is merged, the next is on its way. What comes out goes to
// the two payloads by turns, of which one is fetched while the other is written.

#include <algorithm>
#include <bit>
#include <chrono>
#include <numeric>
#include <string>
#include <vector>

#include "core/error.h"
#include "frozen_shards.cuh"
#include "index_merger.cuh"
#include "shard_merge.cuh"
#include "span_clock.cuh"
#include "upload_team.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kFrames = 2, kPayloads = 2;
/// An index comes in so many frames at least, so that one is merged while the next comes.
constexpr std::uint64_t kLeastFrames = 8;
/// More words at once are not faster: 256 MB.
constexpr std::uint64_t kMostFrameWords = std::uint64_t{1} << 25;
/// Payloads have more words than frames, since shards become larger: a quarter; and so many at least, where
/// the index is small and much is added.
constexpr std::uint64_t payload_words_for(std::uint64_t frame_words) {
  return std::max(frame_words + frame_words / 4, std::uint64_t{1} << 18);
}
/// A single shard may come to this: 1 GB.
constexpr std::uint64_t kMostPayloadWords = std::uint64_t{1} << 27;
/// Words of a payload that a piece comes to at least, as far as pieces are planned with.
constexpr std::uint64_t kWordsPerPiece = 256;
constexpr std::uint64_t kPieceBytes = (kWidths + 1) * sizeof(std::uint32_t) + 2 * sizeof(std::uint64_t);
/// What fields that end at a payload's end may look at.
constexpr std::uint64_t kSpareWords = 4;

std::uint64_t shard_bytes() {
  return sizeof(MergedShard<Key128>) + sizeof(ShardPlan) + kWidths * sizeof(std::uint32_t);
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
  return index::words_for((std::uint64_t{1} << bucket_bits) + 1, static_cast<std::uint32_t>(number_bits)) +
         index::words_for(entries, static_cast<std::uint32_t>(entry_bits)) +
         index::words_for(exceptions, static_cast<std::uint32_t>(number_bits + 64));
}

template <class Key>
class Merger : public IndexMerger {
 public:
  Merger(const index::IndexFile& index, index::ShardRange shards, const MergerPlan& plan)
      : index_(index),
        k_(index.params().k),
        shards_(shards),
        plan_(plan),
        uploaders_(index, plan.uploaders, nullptr) {
    const std::uint32_t most_shards = std::max(1u, shards.end - shards.first);
    for (Frame& frame : frames_) {
      frame.words = DeviceArray<std::uint64_t>(plan.frame_words + index::kReadAheadWords);
      // What is read behind a payload does not matter, but tools that look for such reads cannot know.
      fill_bytes(frame.words.data(), 0, frame.words.size(), stream_);
    }
    entries_ = DeviceArray<std::uint32_t>(plan.most_pieces);
    widths_ = DeviceArray<std::uint32_t>(std::size_t{plan.most_pieces} * kWidths);
    entries_before_ = DeviceArray<std::uint64_t>(plan.most_pieces);
    exceptions_before_ = DeviceArray<std::uint64_t>(plan.most_pieces);
    merged_ = DeviceArray<MergedShard<Key>>(most_shards);
    made_ = PinnedArray<MergedShard<Key>>(most_shards);
    plans_ = DeviceArray<ShardPlan>(most_shards);
    made_plans_ = PinnedArray<ShardPlan>(most_shards);
    shard_widths_ = DeviceArray<std::uint32_t>(std::size_t{most_shards} * kWidths);
    measured_ = PinnedArray<std::uint32_t>(std::size_t{most_shards} * kWidths);
    fill_bytes(bins_.data(), 0, bins_.size(), stream_);
    fill_bytes(shortfall_.data(), 0, 1, stream_);
    fill_bytes(damaged_.data(), 0, 1, stream_);
    stream_.wait();
  }
  ~Merger() override { cudaStreamSynchronize(stream_); }

  void merge(ChunkFeed* added, ChunkFeed* removed, const ChunkOutlets& outlets) override {
    added_ = added;
    removed_ = removed;
    const std::vector<std::uint32_t> begins = frame_begins();
    const auto start = [&](std::size_t number) {
      const Frame& frame = frames_[number % kFrames];
      frame.merged.wait();  // passed at once when it was never recorded
      uploaders_.start(begins[number], begins[number + 1], frame.words.data());
    };
    if (begins.size() > 1) start(0);
    for (std::size_t number = 0; number + 1 < begins.size(); ++number) {
      Frame& frame = frames_[number % kFrames];
      const std::uint32_t end = begins[number + 1];
      const auto waits_since = std::chrono::steady_clock::now();
      uploaders_.finish(stream_);
      waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - waits_since).count();
      if (number + 2 < begins.size()) start(number + 1);
      for (std::uint32_t shard = begins[number]; shard < end;)
        shard = merge_some({shard, end}, begins[number], frame, outlets);
      frame.merged.record(stream_);
    }
    take_results();
  }

  void add_to(engine::Tally& tally) const override {
    for (std::uint64_t count = 1; count < histogram_.size(); ++count) {
      if (histogram_[count] > 0) tally.note(count, histogram_[count]);
    }
  }
  [[nodiscard]] engine::Shortfall shortfall() const override { return what_is_short_; }
  [[nodiscard]] double seconds() const override { return clock_.seconds(); }
  [[nodiscard]] double seconds_waited() const override { return waited_; }
  [[nodiscard]] std::uint64_t bytes() const override {
    return (first_words()[shards_.end] - first_words()[shards_.first]) * sizeof(std::uint64_t);
  }

 private:
  static_assert(CountHistogram::kBins == 1u << kTalliedBits);

  struct Frame {
    DeviceArray<std::uint64_t> words;  ///< payloads of the index, one behind the other
    Event merged;
  };
  struct Payload {
    DeviceArray<unsigned long long> words;
    Event written;
    std::uint32_t holds = UINT32_MAX;  ///< the first shard of those it was written with
  };

  [[nodiscard]] const std::vector<std::uint64_t>& first_words() const { return uploaders_.first_words(); }

  /// The first shards of what is in a frame at a time, and the end.
  [[nodiscard]] std::vector<std::uint32_t> frame_begins() const {
    std::vector<std::uint32_t> begins{shards_.first};
    for (std::uint32_t shard = shards_.first; shard < shards_.end; ++shard) {
      if (first_words()[shard + 1] - first_words()[begins.back()] > plan_.frame_words)
        begins.push_back(shard);
    }
    if (shards_.end > shards_.first) begins.push_back(shards_.end);
    return begins;
  }

  /// Merges the first of some shards of a frame, as many as fit. Returns the next.
  std::uint32_t merge_some(index::ShardRange range, std::uint32_t first_of_frame, const Frame& frame,
                           const ChunkOutlets& outlets) {
    const FrozenChunk* const added = chunk_of(added_, range);
    const FrozenChunk* const removed = chunk_of(removed_, range);
    std::uint32_t shard = range.first, pieces = 0;
    for (std::uint64_t words = 0; shard < range.end; ++shard) {
      const std::uint64_t at = first_words()[shard] - first_words()[first_of_frame];
      const index::ShardView views[] = {
          {index_.shape(shard), frame.words.data() + at, first_words()[shard + 1] - first_words()[shard]},
          view_of(added, shard),
          view_of(removed, shard)};
      const std::uint32_t bits =
          piece_bits(views[0].shape.entries + views[1].shape.entries + views[2].shape.entries);
      const std::uint64_t more = most_words(views[0].shape, views[1].shape, k_);
      if (more > plan_.most_payload_words) throw_too_large(shard, more);
      const bool fits = words + more <= plan_.payload_words && pieces + (1u << bits) <= plan_.most_pieces;
      if (!fits && shard > range.first) break;
      made_[shard - range.first] = {index::ShardReader<Key>(views[0], k_),
                                    index::ShardReader<Key>(views[1], k_),
                                    index::ShardReader<Key>(views[2], k_), pieces, bits};
      words += more;
      pieces += 1u << bits;
    }
    merge({range.first, shard}, pieces, outlets);
    return shard;
  }

  /// What a feed has of shards from `range.first` on; the range then ends where that ends.
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

  void merge(index::ShardRange shards, std::uint32_t pieces, const ChunkOutlets& outlets) {
    const std::uint32_t count = shards.end - shards.first;
    Payload& payload = payloads_[turn_++ % kPayloads];
    MergeTask<Key> task{merged_.data(),
                        count,
                        pieces,
                        k_,
                        next_.data(),
                        entries_.data(),
                        widths_.data(),
                        entries_before_.data(),
                        exceptions_before_.data(),
                        shard_widths_.data(),
                        bins_.data(),
                        shortfall_.data(),
                        damaged_.data(),
                        plans_.data(),
                        nullptr};
    copy_to_device(merged_.data(), made_.data(), count, stream_);
    fill_bytes(shard_widths_.data(), 0, std::size_t{count} * kWidths, stream_);
    clock_.time(stream_, [&] { launch_measure_merge(task, stream_); });
    copy_to_host(measured_.data(), shard_widths_.data(), std::size_t{count} * kWidths, stream_);
    copy_to_host(host_damaged_.data(), damaged_.data(), 1, stream_);
    stream_.wait();
    if (host_damaged_[0] > 0) {
      throw InputError(index_.path() + ": the entries of shard " +
                       std::to_string(shards.first + host_damaged_[0] - 1) + " are damaged");
    }
    FrozenChunk frozen;
    frozen.first_shard = shards.first;
    const std::uint64_t words = lay_out(count, frozen.plans);
    if (words > std::max(plan_.payload_words, plan_.most_payload_words))
      throw InternalError("merged shards are larger than they can be");
    if (payload.holds != UINT32_MAX) outlets.reclaim(payload.holds);
    payload.holds = shards.first;
    payload.words.reserve(std::max(words, plan_.payload_words) + kSpareWords);
    task.output = payload.words.data();
    std::copy(frozen.plans.begin(), frozen.plans.end(), made_plans_.data());
    copy_to_device(plans_.data(), made_plans_.data(), count, stream_);
    fill_bytes(payload.words.data(), 0, words + kSpareWords, stream_);
    clock_.time(stream_, [&] { launch_write_merge(task, stream_); });
    payload.written.record(stream_);
    frozen.payload = payload.words.data();
    frozen.ready = &payload.written;
    outlets.take(std::move(frozen));
  }

  /// Decides on the payloads of the shards that were measured. Returns their words.
  std::uint64_t lay_out(std::uint32_t shards, std::vector<ShardPlan>& plans) const {
    std::uint64_t words = 0;
    for (std::uint32_t s = 0; s < shards; ++s) {
      index::CountWidths of_width{};
      std::copy_n(measured_.data() + std::size_t{s} * kWidths, kWidths, of_width.begin());
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
    const PinnedArray<unsigned long long> bins(bins_.size());
    const PinnedArray<ShortfallCounts> shortfall(1);
    copy_to_host(bins.data(), bins_.data(), bins_.size(), stream_);
    copy_to_host(shortfall.data(), shortfall_.data(), 1, stream_);
    stream_.wait();
    histogram_.assign(bins.data(), bins.data() + bins.size());
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
  Stream stream_{Stream::Priority::high};  ///< the chunks that come next are being counted beside it
  Frame frames_[kFrames];
  Payload payloads_[kPayloads];
  std::uint32_t turn_ = 0;  ///< of the payloads
  DeviceArray<std::uint32_t> entries_, widths_;
  DeviceArray<std::uint64_t> entries_before_, exceptions_before_;
  DeviceArray<MergedShard<Key>> merged_;
  PinnedArray<MergedShard<Key>> made_;  ///< on their way there
  DeviceArray<ShardPlan> plans_;
  PinnedArray<ShardPlan> made_plans_;
  DeviceArray<std::uint32_t> shard_widths_;
  PinnedArray<std::uint32_t> measured_;
  DeviceArray<unsigned long long> bins_{CountHistogram::kBins};
  DeviceArray<ShortfallCounts> shortfall_{1};
  DeviceArray<std::uint32_t> damaged_{1};
  PinnedArray<std::uint32_t> host_damaged_{1};
  DeviceArray<std::uint32_t> next_{1};
  std::vector<std::uint64_t> histogram_;
  engine::Shortfall what_is_short_;
  SpanClock clock_;
  double waited_ = 0;
  UploadTeam uploaders_;  ///< ends before its frames go
};

}  // namespace

std::uint64_t MergerPlan::device_bytes(const index::IndexParams& params) const {
  constexpr std::uint64_t kRounding = std::uint64_t{4} << 20;  // the allocator's, and what is small
  return (kFrames * frame_words + kPayloads * most_payload_words) * sizeof(std::uint64_t) +
         most_pieces * kPieceBytes + params.shards() * shard_bytes() +
         CountHistogram::kBins * sizeof(unsigned long long) + kRounding;
}

MergerPlan plan_merger(const index::IndexFile& index, std::uint64_t device_bytes, std::uint64_t host_bytes,
                       std::size_t devices) {
  const std::vector<std::uint64_t> words = shard_words(index);
  const std::uint64_t all = std::accumulate(words.begin(), words.end(), std::uint64_t{0});
  const std::uint64_t largest = *std::max_element(words.begin(), words.end());
  const auto plan_for = [&](std::uint64_t frame_words) {
    MergerPlan plan;
    plan.frame_words = frame_words;
    plan.payload_words = payload_words_for(frame_words);
    plan.most_pieces = static_cast<std::uint32_t>(
        std::max<std::uint64_t>(index.params().shards(), plan.payload_words / kWordsPerPiece));
    plan.uploader_bytes = UploadTeam::bytes_of_thread(largest);
    plan.uploaders = static_cast<unsigned>(
        std::clamp<std::uint64_t>(host_bytes / plan.uploader_bytes, 1, upload_threads(frame_words, devices)));
    // The largest shard may become twice as large, at least.
    plan.most_payload_words = std::max(plan.payload_words, 2 * largest);
    return plan;
  };
  const auto bytes = [&](const MergerPlan& plan) { return plan.device_bytes(index.params()); };
  std::uint64_t frame_words =
      std::max({largest, std::min(kMostFrameWords, all / kLeastFrames), std::uint64_t{1}});
  MergerPlan plan = plan_for(frame_words);
  while (frame_words > largest + 1 && bytes(plan) > device_bytes) {
    frame_words = std::max(largest + 1, frame_words / 8 * 7);
    plan = plan_for(frame_words);
  }
  if (bytes(plan) > device_bytes) {
    throw ResourceError("updating " + index.path() + " takes " + megabytes(bytes(plan) + (1u << 20) - 1) +
                        " of the GPU's memory beside what counting takes, and " + megabytes(device_bytes) +
                        " are free or allowed for it; raise --device-memory, choose another GPU, or use "
                        "--device cpu");
  }
  if (plan.host_bytes() > host_bytes) {
    throw ResourceError("-m leaves " + megabytes(host_bytes) + " for copying " + index.path() +
                        " to the GPU, which takes " + megabytes(plan.host_bytes() + (1u << 20) - 1) +
                        "; raise -m");
  }
  const std::uint64_t more = (device_bytes - bytes(plan)) / kPayloads / sizeof(std::uint64_t);
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
