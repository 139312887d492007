#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "current_device.cuh"
#include "frozen_shards.cuh"
#include "upload_team.cuh"

namespace warpmer::gpu {

namespace {

/// Of a part: 4 MB. With 8 to 16 threads 51 GB/s come to the device, of the 55 that the link takes; 48 with
/// 2 MB, 39 with 1 MB (docs/benchmarks.md, "Paged tables").
constexpr std::size_t kPartWords = std::size_t{1} << 19;
constexpr unsigned kBuffers = 2;
static_assert(kBuffers * kPartWords * sizeof(std::uint64_t) == UploadTeam::kPinnedBytes);

}  // namespace

struct UploadTeam::Lane {
  Lane() {
    for (unsigned i = 0; i < kBuffers; ++i) {
      buffers.emplace_back(kPartWords);
      copied.emplace_back();
    }
  }
  ~Lane() { cudaStreamSynchronize(stream); }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  std::vector<PinnedArray<std::uint64_t>> buffers;
  std::vector<Event> copied;
  Event issued;  ///< the last part of the job
  Stream stream;
  unsigned turn = 0;
};

UploadTeam::UploadTeam(const index::IndexFile& index, unsigned threads, std::shared_ptr<FilePages> pages)
    : index_(index),
      gpu_(current_gpu()),
      first_words_(warpmer::gpu::first_words(index)),
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
    next_ = job_.end;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void UploadTeam::start(std::uint32_t first, std::uint32_t end, std::uint64_t* to) {
  if (pages_ && was_first_[first]) pages_->begin_to_pin();
  was_first_[first] = true;
  const std::lock_guard lock(mutex_);
  job_ = {first, first_words_[first], first_words_[end], to};
  next_ = job_.begin;
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
      next_ = job_.end;
    }
    if (--busy_ == 0) finished_.notify_all();
  }
}

void UploadTeam::copy_parts(Lane& lane, const Job& job) {
  for (;;) {
    std::uint64_t begin = 0;
    {
      const std::lock_guard lock(mutex_);
      if (next_ >= job.end) return;
      begin = std::exchange(next_, std::min(next_ + kPartWords, job.end));
    }
    const std::uint64_t end = std::min(begin + kPartWords, job.end);
    check_shards(job.first_shard, begin, end);
    const std::uint64_t* from = index_.payloads() + begin;
    std::uint64_t* const to = job.to + (begin - job.begin);
    if (pages_ && pages_->are_pinned()) {
      copy_to_device<std::uint64_t>(to, from, end - begin, lane.stream);
      continue;
    }
    const PinnedArray<std::uint64_t>& buffer = lane.buffers[lane.turn];
    lane.copied[lane.turn].wait();  // passed at once when it was never recorded
    std::memcpy(buffer.data(), from, (end - begin) * sizeof *from);
    copy_to_device<std::uint64_t>(to, buffer.data(), end - begin, lane.stream);
    lane.copied[lane.turn].record(lane.stream);
    lane.turn = (lane.turn + 1) % kBuffers;
  }
}

void UploadTeam::check_shards(std::uint32_t shard, std::uint64_t begin, std::uint64_t end) const {
  const auto first = first_words_.begin();
  shard = static_cast<std::uint32_t>(std::lower_bound(first + shard, first_words_.end(), begin) - first);
  for (; first_words_[shard] < end; ++shard)
    (void)shard_of_words(index_, shard, first_words_[shard + 1] - first_words_[shard]);
}

}  // namespace warpmer::gpu
