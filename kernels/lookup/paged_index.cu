#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backend/lookup/shard_rotation.h"
#include "base/buffer_pool.h"
#include "kernels/lookup/paged_index.cuh"
#include "kernels/lookup/shard_runs.cuh"
#include "kernels/upload/frozen_shards.cuh"
#include "kernels/upload/shard_uploader.cuh"

namespace warpmer::gpu {

namespace {

using backend::PagedLookupPlan;

/// A cut text, of which one child after another is asked.
struct TextQuestion {
  CutText text;
  std::uint32_t starts;
  Event answered;  ///< by all children
};

/// The device as a rotation sees it (backend/lookup/shard_rotation.h). All children are asked in one stream,
/// and loaded by a team, beside it.
class ShardFrames {
 public:
  using Question = TextQuestion;

  ShardFrames(const index::IndexFile& index, const PagedLookupPlan& plan, std::shared_ptr<FilePages> pages)
      : index_(index),
        plan_(plan),
        params_(index.params()),
        gpu_(current_gpu()),
        lengths_(length_table_on_device(index.params().k)),
        child_of_(index.params().shards()),
        uploaders_(index, upload_threads(plan.frame_words), std::move(pages)) {
    std::uint32_t most_shards = 0;
    for (std::uint32_t child = 0; child < plan.children(); ++child)
      most_shards = std::max(most_shards, plan.first_shard[child + 1] - plan.first_shard[child]);
    shards_.reserve(most_shards);
    for (ShardFrame& frame : frames_) {
      frame.words.reserve(plan.frame_words + warpmer::kReadAheadWords);
      frame.table.emplace(most_shards);
      // The words that are read behind a payload do not matter, but tools that look for such reads cannot
      // know.
      fill_bytes(frame.words.data(), 0, frame.words.size(), stream_);
    }
    const PinnedArray<std::uint16_t> child_of(child_of_.size());
    for (std::uint32_t child = 0; child < plan.children(); ++child) {
      std::fill(child_of.data() + plan.first_shard[child], child_of.data() + plan.first_shard[child + 1],
                static_cast<std::uint16_t>(child));
    }
    copy_to_device(child_of_.data(), child_of.data(), child_of.size(), stream_);
    stream_.wait();
  }
  ShardFrames(const ShardFrames&) = delete;
  ShardFrames& operator=(const ShardFrames&) = delete;
  ~ShardFrames() { settle(); }

  [[nodiscard]] const index::IndexParams& params() const { return params_; }
  [[nodiscard]] ShardsByChild shards() const { return {child_of_.data(), plan_.children()}; }
  [[nodiscard]] std::vector<std::uint64_t> child_bytes() const {
    std::vector<std::uint64_t> bytes(plan_.children());
    for (std::uint32_t child = 0; child < bytes.size(); ++child)
      bytes[child] = (begin_of(child + 1) - begin_of(child)) * sizeof(std::uint64_t);
    return bytes;
  }

  void begin() { check(cudaSetDevice(gpu_), "choosing a GPU"); }

  void load(std::uint32_t child, std::uint32_t number) {
    ShardFrame& frame = frames_[number];
    frame.asked.wait();  // passed at once when it was never recorded
    const std::uint32_t first = plan_.first_shard[child], end = plan_.first_shard[child + 1];
    uploaders_.start(first, end, frame.words.data());
    const groups::GroupShape shape(params_.k);
    shards_.clear();
    for (std::uint32_t s = first; s < end; ++s) {
      const std::uint64_t* const payload =
          frame.words.data() + (uploaders_.first_words()[s] - begin_of(child));
      shards_.emplace_back(shape, index_.sizes(s), payload, lengths_.data());
    }
    frame.table->set(first, shards_, stream_);
    uploaders_.finish(end, stream_);
  }

  void ask(std::uint32_t child, std::uint32_t number, const std::vector<TextQuestion*>& questions) {
    texts_.clear();
    std::uint64_t starts = 0;
    for (const TextQuestion* const question : questions) {
      texts_.push_back(question->text);
      starts += question->starts;
    }
    look_up_runs(texts_, static_cast<std::uint32_t>(starts / texts_.size() / plan_.children()), child,
                 params_, frames_[number].table->there(), stream_);
    frames_[number].asked.record(stream_);
  }
  void finish(const TextQuestion& question) { question.answered.record(stream_); }
  /// After an error: nothing works on any text any more.
  void settle() const { cudaStreamSynchronize(stream_); }

 private:
  struct ShardFrame {
    DeviceArray<std::uint64_t> words;  ///< payloads, one behind the other
    std::optional<ShardTable> table;
    Event asked;
  };

  [[nodiscard]] std::uint64_t begin_of(std::uint32_t child) const {
    return uploaders_.first_words()[plan_.first_shard[child]];
  }

  const index::IndexFile& index_;
  PagedLookupPlan plan_;
  index::IndexParams params_;
  int gpu_;
  DeviceArray<groups::FlankLengths> lengths_;
  ShardFrame frames_[backend::kPagedFrames];
  DeviceArray<std::uint16_t> child_of_;    ///< by shard
  std::vector<groups::ShardBits> shards_;  ///< of a child that comes
  std::vector<CutText> texts_;             ///< those that are asked about
  Stream stream_{Stream::Priority::high};
  ShardUploader uploaders_;  ///< ends before its frames go
};

class PagedShards : public PagedIndex {
 public:
  PagedShards(const index::IndexFile& index, const PagedLookupPlan& plan, std::shared_ptr<FilePages> pages)
      : frames_(index, plan, std::move(pages)),
        runs_(make_runs(plan, frames_.params()), BufferPool<TextRuns>::Order::last_returned),
        rotation_(frames_, backend::kPagedFrames, frames_.child_bytes()) {}

  void look_up(const char* text, std::uint32_t bytes, std::uint32_t starts, std::uint32_t* answers,
               CutStatus* status, cudaStream_t stream) const override {
    if (starts == 0) return;
    const auto runs = runs_.take();
    try {
      runs->cut(text, bytes, starts, frames_.params(), frames_.shards(), answers, status, stream);
      TextQuestion question{runs->text(), starts, Event()};
      // The rotation's stream is everybody's: it shall not wait for a text that comes.
      question.answered.record(stream);
      question.answered.wait();
      rotation_.ask(question, starts);
      question.answered.wait();
    } catch (...) {
      cudaStreamSynchronize(stream);
      frames_.settle();
      throw;
    }
  }
  void cancel() const noexcept override { rotation_.cancel(); }
  [[nodiscard]] table::PagingCounts counts() const override { return rotation_.counts(); }

 private:
  static std::vector<std::unique_ptr<TextRuns>> make_runs(const PagedLookupPlan& plan,
                                                          const index::IndexParams& params) {
    std::vector<std::unique_ptr<TextRuns>> runs;
    for (std::uint32_t i = 0; i < plan.slices; ++i)
      runs.push_back(std::make_unique<TextRuns>(plan.slice_starts, plan.children(), params));
    return runs;
  }

  mutable ShardFrames frames_;
  mutable BufferPool<TextRuns> runs_;
  mutable backend::ShardRotation<ShardFrames> rotation_;  ///< ends before its frames go
};

}  // namespace

backend::PagedLookupCosts paged_costs(const index::IndexFile& index, std::uint32_t bytes_per_start,
                                      std::uint64_t bytes_per_slice) {
  const std::uint32_t shards = index.params().shards();
  return {kTileStarts,
          kTileStarts * std::uint64_t{bytes_per_start} + TextRuns::bytes_per_tile(index.params()),
          bytes_per_slice + TextRuns::bytes_besides(shards) + kArrayRounding,
          kReadAheadWords * sizeof(std::uint64_t) + ShardTable::bytes(shards) + 2 * kArrayRounding,
          2 * kArrayRounding};  // of lengths, and of what child has a shard
}

std::unique_ptr<PagedIndex> page_index(const index::IndexFile& index, const PagedLookupPlan& plan,
                                       std::shared_ptr<FilePages> pages) {
  return std::make_unique<PagedShards>(index, plan, std::move(pages));
}

}  // namespace warpmer::gpu
