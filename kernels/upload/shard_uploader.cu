#include <algorithm>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "kernels/memory/current_device.cuh"
#include "kernels/memory/host_fence.cuh"
#include "kernels/memory/pinned_pages.cuh"
#include "kernels/upload/frozen_shards.cuh"
#include "kernels/upload/shard_uploader.cuh"
#include "system/huge_pages.h"

namespace warpmer::gpu {

namespace {

/// The words of a part: 4 MiB, with the words that are read behind it. With 8 to 16 threads 51 GB/s come to
/// the device, of the 55 that the link takes; 48 with 2 MB, 39 with 1 MB.
constexpr std::uint64_t kPartWords = (std::uint64_t{1} << 19) - warpmer::kReadAheadWords;
/// A larger shard is read as a whole, too, so that it can be checked, unless it is larger than this: 16 MiB.
constexpr std::uint64_t kMostPartWords = (std::uint64_t{1} << 21) - warpmer::kReadAheadWords;
constexpr unsigned kBuffers = 2;

std::uint64_t buffer_words_for(std::uint64_t largest_words) {
  return std::clamp(largest_words, kPartWords, kMostPartWords) + warpmer::kReadAheadWords;
}
std::uint64_t largest_of(const std::vector<std::uint64_t>& first_words) {
  std::uint64_t largest = 0;
  for (std::size_t s = 1; s < first_words.size(); ++s)
    largest = std::max(largest, first_words[s] - first_words[s - 1]);
  return largest;
}

}  // namespace

struct ShardUploader::UploadLane {
  UploadLane() {
    for (unsigned i = 0; i < kBuffers; ++i) {
      buffers.emplace_back();
      copied.emplace_back();
    }
  }
  ~UploadLane() { cudaStreamSynchronize(stream); }

  std::vector<PinnedPageArray<std::uint64_t>> buffers;  ///< made when they are needed, by the lane's thread
  std::vector<HostFence> copied;
  Stream stream;
  unsigned turn = 0;

  /// Calls `fill` with a buffer, and enqueues the copy of what it has put there to where `place()` is, if
  /// that is anywhere.
  template <class Fill, class Place>
  void send(std::uint64_t buffer_words, std::uint64_t words, Fill&& fill, Place&& place) {
    PinnedPageArray<std::uint64_t>& buffer = buffers[turn];
    buffer.reserve(buffer_words);
    copied[turn].wait();  // passed at once when it was never recorded
    fill(buffer.data());
    std::uint64_t* const to = place();
    if (to == nullptr) return;
    copy_to_device<std::uint64_t>(to, buffer.data(), words, stream);
    copied[turn].record(stream);
    turn = (turn + 1) % kBuffers;
  }
};

std::uint64_t ShardUploader::most_part_words(std::uint64_t largest_words) {
  return std::max(largest_words, kPartWords);
}

std::uint64_t ShardUploader::bytes_of_thread(std::uint64_t largest_words) {
  const std::uint64_t mapped = largest_words > kMostPartWords ? largest_words : 0;
  return kBuffers * system::whole_huge_pages(buffer_words_for(largest_words) * sizeof(std::uint64_t)) +
         mapped * sizeof(std::uint64_t);
}

ShardUploader::ShardUploader(const index::IndexFile& index, unsigned threads,
                             std::shared_ptr<FilePages> pages)
    : index_(index),
      gpu_(current_gpu()),
      first_words_(warpmer::gpu::first_words(index)),
      buffer_words_(buffer_words_for(largest_of(first_words_))),
      pages_(std::move(pages)),
      was_first_(first_words_.size()) {
  for (unsigned i = 0; i < threads; ++i) lanes_.push_back(std::make_unique<UploadLane>());
  try {
    for (const auto& lane : lanes_) threads_.emplace_back([this, &lane = *lane] { work(lane); });
  } catch (const std::system_error& error) {
    join();
    throw ResourceError("cannot start " + std::to_string(threads) +
                        " threads that copy to the GPU: " + error.what());
  }
}

ShardUploader::~ShardUploader() {
  join();
  lanes_.clear();  // when nothing is copied any more, before the pages go
}

void ShardUploader::join() {
  {
    const std::lock_guard lock(mutex_);
    end();
  }
  for (std::thread& thread : threads_) thread.join();
}

void ShardUploader::start(std::uint32_t first, std::uint32_t end, std::uint64_t* to) {
  if (first == end) return;
  if (pages_ && was_first_[first]) pages_->begin_to_pin();
  was_first_[first] = true;
  for (std::uint32_t shard = first; shard < end;) {
    const std::uint32_t part_end = end_of_part(shard, end);
    read_ahead(shard, part_end);
    place_next(to + (first_words_[shard] - first_words_[first]), nullptr);
    shard = part_end;
  }
}

void ShardUploader::read_ahead(std::uint32_t first, std::uint32_t end) {
  const std::lock_guard lock(mutex_);
  UploadPart& part = parts_.emplace_back();
  part.first_shard = first;
  part.end_shard = end;
  begun_.notify_one();
}

void ShardUploader::place_next(std::uint64_t* to, const std::shared_ptr<const Event>& free) {
  const std::lock_guard lock(mutex_);
  UploadPart& part = parts_[placed_++];
  part.to = to;
  part.free = free;
  part.placed.notify_one();
}

void ShardUploader::finish(std::uint32_t end, cudaStream_t stream) {
  std::unique_lock lock(mutex_);
  while (!parts_.empty() && parts_.front().first_shard < end) {
    const UploadPart& part = parts_.front();
    read_.wait(lock, [&] { return failure_ || part.is_read; });
    if (failure_) std::rethrow_exception(failure_);
    part.copied.let_follow(stream);
    parts_.pop_front();
    --taken_;
    --placed_;
  }
}

void ShardUploader::work(UploadLane& lane) {
  bool knows_gpu = false;
  for (;;) {
    UploadPart* part = nullptr;
    {
      std::unique_lock lock(mutex_);
      begun_.wait(lock, [&] { return is_over_ || taken_ < parts_.size(); });
      if (is_over_) return;
      part = &parts_[taken_++];
    }
    std::exception_ptr failure;
    try {
      if (!knows_gpu) check(cudaSetDevice(gpu_), "choosing a GPU");
      knows_gpu = true;
      copy_part(lane, *part);
      part->copied.record(lane.stream);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    part->is_read = true;
    if (failure && !failure_) failure_ = failure;
    if (failure_) end();
    read_.notify_all();
  }
}

void ShardUploader::end() {
  is_over_ = true;
  begun_.notify_all();
  for (UploadPart& part : parts_) part.placed.notify_one();
}

std::uint64_t* ShardUploader::place_of(const UploadLane& lane, UploadPart& part) {
  {
    std::unique_lock lock(mutex_);
    part.placed.wait(lock, [&] { return is_over_ || part.to != nullptr; });
    if (part.to == nullptr) return nullptr;
  }
  if (part.free) part.free->let_follow(lane.stream);
  return part.to;
}

std::uint32_t ShardUploader::end_of_part(std::uint32_t first, std::uint32_t end) const {
  std::uint32_t shard = first + 1;
  while (shard < end && first_words_[shard + 1] - first_words_[first] <= kPartWords) ++shard;
  return shard;
}

void ShardUploader::copy_part(UploadLane& lane, UploadPart& part) {
  const std::uint64_t begin = first_words_[part.first_shard], words = first_words_[part.end_shard] - begin;
  if (pages_ && pages_->are_pinned()) {
    for (std::uint32_t shard = part.first_shard; shard < part.end_shard; ++shard) (void)index_.payload(shard);
    std::uint64_t* const to = place_of(lane, part);
    if (to != nullptr) copy_to_device<std::uint64_t>(to, index_.all_payloads() + begin, words, lane.stream);
  } else if (words + warpmer::kReadAheadWords > buffer_words_) {
    copy_large_shard(lane, part);
  } else if (words > 0) {
    const auto read = [&](std::uint64_t* buffer) {
      for (std::uint32_t shard = part.first_shard; shard < part.end_shard; ++shard)
        index_.read_payload(shard, buffer + (first_words_[shard] - begin));
    };
    lane.send(buffer_words_, words, read, [&] { return place_of(lane, part); });
  }
}

/// Through the mapping, so that all of it is seen while it is checked.
void ShardUploader::copy_large_shard(UploadLane& lane, UploadPart& part) {
  const std::uint64_t* const payload = index_.payload(part.first_shard);
  const std::uint64_t words = index_.payload_words(part.first_shard);
  std::uint64_t* const to = place_of(lane, part);
  for (std::uint64_t at = 0; to != nullptr && at < words; at += kPartWords) {
    const std::uint64_t n = std::min(kPartWords, words - at);
    const auto read = [&](std::uint64_t* buffer) { std::copy_n(payload + at, n, buffer); };
    lane.send(buffer_words_, n, read, [&] { return to + at; });
  }
  index_.release(part.first_shard);
}

}  // namespace warpmer::gpu
