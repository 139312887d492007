#include <algorithm>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "current_device.cuh"
#include "frozen_shards.cuh"
#include "host_fence.cuh"
#include "pinned_pages.cuh"
#include "upload_team.cuh"

namespace warpmer::gpu {

namespace {

/// Of a part: 4 MiB, with what is read behind it. With 8 to 16 threads 51 GB/s come to the device, of the 55
/// that the link takes; 48 with 2 MB, 39 with 1 MB (docs/benchmarks.md, "Paged tables").
constexpr std::uint64_t kPartWords = (std::uint64_t{1} << 19) - index::kReadAheadWords;
/// A larger shard is read as a whole, too, so that it can be checked, unless it is larger than this: 16 MiB.
constexpr std::uint64_t kMostPartWords = (std::uint64_t{1} << 21) - index::kReadAheadWords;
constexpr unsigned kBuffers = 2;

std::uint64_t buffer_words_for(std::uint64_t largest_words) {
  return std::clamp(largest_words, kPartWords, kMostPartWords) + index::kReadAheadWords;
}
std::uint64_t largest_of(const std::vector<std::uint64_t>& first_words) {
  std::uint64_t largest = 0;
  for (std::size_t s = 1; s < first_words.size(); ++s)
    largest = std::max(largest, first_words[s] - first_words[s - 1]);
  return largest;
}

}  // namespace

struct UploadTeam::Lane {
  Lane() {
    for (unsigned i = 0; i < kBuffers; ++i) {
      buffers.emplace_back();
      copied.emplace_back();
    }
  }
  ~Lane() { cudaStreamSynchronize(stream); }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  std::vector<PinnedPageArray<std::uint64_t>> buffers;  ///< made when they are needed, by the lane's thread
  std::vector<HostFence> copied;
  Event issued;  ///< the last part of the job
  Stream stream;
  unsigned turn = 0;

  /// Calls `fill` with a buffer, and enqueues the copy of what it has put there.
  template <class Fill>
  void send(std::uint64_t buffer_words, std::uint64_t* to, std::uint64_t words, Fill&& fill) {
    PinnedPageArray<std::uint64_t>& buffer = buffers[turn];
    buffer.reserve(buffer_words);
    copied[turn].wait();  // passed at once when it was never recorded
    fill(buffer.data());
    copy_to_device<std::uint64_t>(to, buffer.data(), words, stream);
    copied[turn].record(stream);
    turn = (turn + 1) % kBuffers;
  }
};

std::uint64_t UploadTeam::bytes_of_thread(std::uint64_t largest_words) {
  const std::uint64_t mapped = largest_words > kMostPartWords ? largest_words : 0;
  return kBuffers * pinned_pages_bytes(buffer_words_for(largest_words) * sizeof(std::uint64_t)) +
         mapped * sizeof(std::uint64_t);
}

UploadTeam::UploadTeam(const index::IndexFile& index, unsigned threads, std::shared_ptr<FilePages> pages)
    : index_(index),
      gpu_(current_gpu()),
      first_words_(warpmer::gpu::first_words(index)),
      buffer_words_(buffer_words_for(largest_of(first_words_))),
      pages_(std::move(pages)),
      was_first_(first_words_.size()) {
  for (unsigned i = 0; i < threads; ++i) lanes_.push_back(std::make_unique<Lane>());
  try {
    for (const auto& lane : lanes_) threads_.emplace_back([this, &lane = *lane] { work(lane); });
  } catch (const std::system_error& error) {
    join();
    throw ResourceError("cannot start " + std::to_string(threads) +
                        " threads that copy to the GPU: " + error.what());
  }
}

UploadTeam::~UploadTeam() {
  join();
  lanes_.clear();  // when nothing is copied any more, before the pages go
}

void UploadTeam::join() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    next_ = job_.end_shard;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void UploadTeam::start(std::uint32_t first, std::uint32_t end, std::uint64_t* to) {
  if (pages_ && was_first_[first]) pages_->begin_to_pin();
  was_first_[first] = true;
  const std::lock_guard lock(mutex_);
  job_ = {first, end, to};
  next_ = first;
  busy_ = lanes_.size();
  ++number_;
  changed_.notify_all();
}

void UploadTeam::finish(cudaStream_t stream) {
  {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return busy_ == 0; });
    if (failure_) std::rethrow_exception(failure_);
  }
  for (const auto& lane : lanes_)
    check(cudaStreamWaitEvent(DriverUse(stream), lane->issued), "ordering streams");
}

void UploadTeam::work(Lane& lane) {
  for (std::uint64_t done = 0;; ++done) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return is_over_ || number_ > done; });
      if (is_over_) return;
      job = job_;
    }
    std::exception_ptr failure;
    try {
      if (done == 0) check(cudaSetDevice(gpu_), "choosing a GPU");
      copy_parts(lane, job);
      lane.issued.record(lane.stream);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    if (failure && !failure_) {
      failure_ = failure;
      next_ = job_.end_shard;
    }
    if (--busy_ == 0) finished_.notify_all();
  }
}

void UploadTeam::copy_parts(Lane& lane, const Job& job) {
  for (;;) {
    std::uint32_t first = 0, end = 0;
    {
      const std::lock_guard lock(mutex_);
      if (next_ >= job.end_shard) return;
      first = next_;
      end = next_ = end_of_part(first, job.end_shard);
    }
    copy_part(lane, first, end, job.to + (first_words_[first] - first_words_[job.first_shard]));
  }
}

std::uint32_t UploadTeam::end_of_part(std::uint32_t first, std::uint32_t end) const {
  std::uint32_t shard = first + 1;
  while (shard < end && first_words_[shard + 1] - first_words_[first] <= kPartWords) ++shard;
  return shard;
}

void UploadTeam::copy_part(Lane& lane, std::uint32_t first, std::uint32_t end, std::uint64_t* to) const {
  const std::uint64_t words = first_words_[end] - first_words_[first];
  if (pages_ && pages_->are_pinned()) {
    for (std::uint32_t shard = first; shard < end; ++shard) (void)index_.shard(shard);
    copy_to_device<std::uint64_t>(to, index_.payloads() + first_words_[first], words, lane.stream);
  } else if (words + index::kReadAheadWords > buffer_words_) {
    copy_large_shard(lane, first, to);
  } else if (words > 0) {
    lane.send(buffer_words_, to, words, [&](std::uint64_t* buffer) {
      for (std::uint32_t shard = first; shard < end; ++shard)
        index_.read(shard, buffer + (first_words_[shard] - first_words_[first]));
    });
  }
}

/// Through the mapping, so that all of it is seen while it is checked.
void UploadTeam::copy_large_shard(Lane& lane, std::uint32_t shard, std::uint64_t* to) const {
  const index::ShardView view = index_.shard(shard);
  for (std::uint64_t at = 0; at < view.payload_words; at += kPartWords) {
    const std::uint64_t n = std::min(kPartWords, view.payload_words - at);
    lane.send(buffer_words_, to + at, n,
              [&](std::uint64_t* buffer) { std::copy_n(view.payload + at, n, buffer); });
  }
  index_.release(shard);
}

}  // namespace warpmer::gpu
