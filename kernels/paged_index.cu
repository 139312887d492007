#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "current_device.cuh"
#include "engine/child_carousel.h"
#include "engine/thread_team.h"
#include "frozen_shards.cuh"
#include "paged_index.cuh"
#include "peers.cuh"
#include "shard_uploader.cuh"

namespace warpmer::gpu {

namespace {

using engine::PagedLookupPlan;

/// A text on the device whose k-mers are looked up in one child after another.
struct TextQuestion {
  const char* text;
  std::uint32_t bytes, starts;
  std::uint32_t* answers;
  CutStatus* status;
  Event arrived;   ///< the text
  Event answered;  ///< by all children
};

/// The device as a carousel sees it (engine/child_carousel.h). All texts are asked about in one stream, and
/// all children are loaded by a team, beside it.
template <class Key>
class ShardFrames {
 public:
  using Question = TextQuestion;

  ShardFrames(const index::IndexFile& index, const PagedLookupPlan& plan)
      : index_(index),
        plan_(plan),
        words_(shard_words(index)),
        params_(index.params()),
        gpu_(current_gpu()),
        uploaders_(upload_threads(plan.frame_words)) {
    std::uint32_t most_shards = 0;
    for (std::uint32_t child = 0; child < plan.children(); ++child)
      most_shards = std::max(most_shards, plan.first_shard[child + 1] - plan.first_shard[child]);
    for (Frame& frame : frames_) {
      frame.words.reserve(plan.frame_words + index::kReadAheadWords);
      frame.readers.reserve(most_shards);
      // What is read behind a payload does not matter, but tools that look for such reads cannot know.
      fill_bytes(frame.words.data(), 0, frame.words.size(), stream_);
    }
    stream_.wait();
  }
  ShardFrames(const ShardFrames&) = delete;
  ShardFrames& operator=(const ShardFrames&) = delete;
  ~ShardFrames() { settle(); }

  [[nodiscard]] std::vector<std::uint64_t> child_bytes() const {
    std::vector<std::uint64_t> bytes(plan_.children());
    for (std::uint32_t child = 0; child < bytes.size(); ++child) {
      for (std::uint32_t s = plan_.first_shard[child]; s < plan_.first_shard[child + 1]; ++s)
        bytes[child] += words_[s] * sizeof(std::uint64_t);
    }
    return bytes;
  }

  void begin() { check(cudaSetDevice(gpu_), "choosing a GPU"); }

  void load(std::uint32_t child, std::uint32_t number) {
    Frame& frame = frames_[number];
    frame.asked.wait();  // passed at once when it was never recorded
    const std::uint32_t first = plan_.first_shard[child], end = plan_.first_shard[child + 1];
    std::vector<std::uint64_t> begins(end - first + std::size_t{1});
    for (std::uint32_t s = first; s < end; ++s) begins[s - first + 1] = begins[s - first] + words_[s];
    upload(frame, first, begins);
    std::vector<index::ShardReader<Key>> readers;
    readers.reserve(end - first);
    for (std::uint32_t s = first; s < end; ++s) {
      readers.emplace_back(
          index::ShardView{index_.shape(s), frame.words.data() + begins[s - first], words_[s]},
          index_.params().k);
    }
    frame.shards = {frame.readers.data(), first, end - first};
    copy_to_device(frame.readers.data(), readers.data(), readers.size(), stream_);
    stream_.wait();  // for `readers`
  }

  void ask(std::uint32_t /*child*/, std::uint32_t number, const TextQuestion& question) {
    check(cudaStreamWaitEvent(stream_, question.arrived), "ordering streams");
    look_up_in_shards<Key>(question.text, question.bytes, question.starts, params_, frames_[number].shards,
                           question.answers, question.status, stream_);
    frames_[number].asked.record(stream_);
  }
  void finish(const TextQuestion& question) { question.answered.record(stream_); }
  /// After an error: nothing works on any text any more.
  void settle() const { cudaStreamSynchronize(stream_); }

 private:
  struct Frame {
    DeviceArray<std::uint64_t> words;  ///< payloads, one behind the other
    DeviceArray<index::ShardReader<Key>> readers;
    ShardsThere<Key> shards{nullptr, 0, 0};
    Event asked;
  };

  /// Copies the payloads of shards from `first` on, which begin where `begins` says.
  void upload(const Frame& frame, std::uint32_t first, const std::vector<std::uint64_t>& begins) {
    constexpr std::uint32_t kShardsAtOnce = 8;
    const auto shards = static_cast<std::uint32_t>(begins.size() - 1);
    std::atomic<std::uint32_t> next{0};
    const auto work = [&](unsigned thread) {
      check(cudaSetDevice(gpu_), "choosing a GPU");
      Uploader& uploader = uploaders_[thread];
      for (std::uint32_t s = 0; (s = next.fetch_add(kShardsAtOnce)) < shards;) {
        uploader.begin(frame.words.data() + begins[s]);
        for (const std::uint32_t end = std::min(s + kShardsAtOnce, shards); s < end; ++s) {
          const index::ShardView view = shard_of_words(index_, first + s, words_[first + s]);
          uploader.add(view.payload, view.payload_words);
        }
      }
      uploader.finish();
    };
    engine::run_team(static_cast<unsigned>(uploaders_.size()), work, [&] { next = shards; });
  }

  const index::IndexFile& index_;
  PagedLookupPlan plan_;
  std::vector<std::uint64_t> words_;  ///< by shard
  LookupParams params_;
  int gpu_;
  Frame frames_[engine::kPagedFrames];
  std::vector<Uploader> uploaders_;
  Stream stream_{Stream::Priority::high};
};

template <class Key>
class PagedShards : public PagedIndex {
 public:
  PagedShards(const index::IndexFile& index, const PagedLookupPlan& plan)
      : frames_(index, plan), carousel_(frames_, engine::kPagedFrames, frames_.child_bytes()) {}

  void look_up(const char* text, std::uint32_t bytes, std::uint32_t starts, std::uint32_t* answers,
               CutStatus* status, cudaStream_t stream) const override {
    if (starts == 0) return;
    TextQuestion question{text, bytes, starts, answers, status, Event(), Event()};
    question.arrived.record(stream);
    try {
      carousel_.ask(question, starts);
    } catch (...) {
      frames_.settle();
      throw;
    }
    check(cudaStreamWaitEvent(stream, question.answered), "ordering streams");
  }
  [[nodiscard]] table::PagingCounts counts() const override { return carousel_.counts(); }

 private:
  ShardFrames<Key> frames_;
  mutable engine::ChildCarousel<ShardFrames<Key>> carousel_;  ///< ends before its frames go
};

}  // namespace

engine::PagedLookupCosts paged_costs(const index::IndexFile& index, std::uint32_t bytes_per_start,
                                     std::uint64_t bytes_per_slice) {
  constexpr std::uint64_t kRounding = std::uint64_t{64} << 10;  // the allocator's
  return {kTileStarts, bytes_per_start, bytes_per_slice,
          index::kReadAheadWords * sizeof(std::uint64_t) +
              index.params().shards() * sizeof(index::ShardReader<Key128>) + kRounding,
          kRounding};
}

std::unique_ptr<PagedIndex> page_index(const index::IndexFile& index, const PagedLookupPlan& plan) {
  return with_key_type(index.params().k, [&]<class Key>(Key) -> std::unique_ptr<PagedIndex> {
    return std::make_unique<PagedShards<Key>>(index, plan);
  });
}

}  // namespace warpmer::gpu
