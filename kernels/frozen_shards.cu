#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "engine/limits.h"
#include "engine/thread_team.h"
#include "frozen_shards.cuh"

namespace warpmer::gpu {

namespace {

/// One thread's way of copying to the device: while one pinned buffer is on its way, the other is filled.
class Uploader {
 public:
  Uploader() = default;
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;
  /// After an error, too, a copy may be under way from buffers that are about to go.
  ~Uploader() { cudaStreamSynchronize(stream_); }

  /// What is added from here on goes to `to` and behind.
  void begin(std::uint64_t* to) {
    flush();
    to_ = to;
  }
  void add(const std::uint64_t* words, std::size_t n) {
    while (n > 0) {
      if (filled_ == kWords) flush();
      if (filled_ == 0) copied_[turn_].wait();  // passed at once when it was never recorded
      const std::size_t some = std::min(n, kWords - filled_);
      std::memcpy(buffers_[turn_].data() + filled_, words, some * sizeof(std::uint64_t));
      filled_ += some;
      words += some;
      n -= some;
    }
  }
  void finish() {
    flush();
    stream_.wait();
  }

 private:
  static constexpr std::size_t kWords = std::size_t{1} << 18;  // pin small, reuse

  void flush() {
    if (filled_ == 0) return;
    copy_to_device(to_, buffers_[turn_].data(), filled_, stream_);
    copied_[turn_].record(stream_);
    to_ += filled_;
    filled_ = 0;
    turn_ ^= 1;
  }

  PinnedArray<std::uint64_t> buffers_[2] = {PinnedArray<std::uint64_t>(kWords),
                                            PinnedArray<std::uint64_t>(kWords)};
  Event copied_[2];
  Stream stream_;
  std::uint64_t* to_ = nullptr;
  std::size_t filled_ = 0;
  unsigned turn_ = 0;
};

/// Where each shard's payload begins on the device, in words; and where the last one ends.
std::vector<std::uint64_t> first_words(const index::IndexFile& index) {
  std::vector<std::uint64_t> first{0};
  const std::uint32_t shards = index.params().shards();
  first.reserve(std::size_t{shards} + 1);
  for (std::uint32_t s = 0; s < shards; ++s)
    first.push_back(first.back() + index::payload_layout(index.shape(s), index.params().k).words);
  return first;
}

/// Checks all shards and copies their payloads.
void upload(const index::IndexFile& index, const std::vector<std::uint64_t>& first, std::uint64_t* payloads) {
  constexpr std::uint64_t kWordsPerThread = std::uint64_t{1} << 21;  // fewer are not worth a thread
  constexpr std::uint64_t kMostThreads = 8;
  constexpr std::uint32_t kShardsAtOnce = 32;
  const std::uint32_t shards = index.params().shards();
  const auto threads = static_cast<unsigned>(
      std::min<std::uint64_t>({engine::usable_cores(), kMostThreads, 1 + first.back() / kWordsPerThread}));
  int gpu = 0;
  check(cudaGetDevice(&gpu), "choosing a GPU");
  std::atomic<std::uint32_t> next{0};
  const auto work = [&](unsigned /*thread*/) {
    check(cudaSetDevice(gpu), "choosing a GPU");
    Uploader uploader;
    for (std::uint32_t s = 0; (s = next.fetch_add(kShardsAtOnce)) < shards;) {
      uploader.begin(payloads + first[s]);
      for (const std::uint32_t end = std::min(s + kShardsAtOnce, shards); s < end; ++s) {
        const index::ShardView view = index.shard(s);
        if (view.payload_words != first[s + 1] - first[s])
          throw InternalError("a shard of " + index.path() + " has another size than its shape says");
        uploader.add(view.payload, view.payload_words);
      }
    }
    uploader.finish();
  };
  engine::run_team(threads, work, [&] { next = shards; });
}

}  // namespace

template <class Key>
FrozenShards<Key>::FrozenShards(const index::IndexFile& index) {
  static_assert(std::is_trivially_copyable_v<Reader>, "it is copied to the device");
  const std::vector<std::uint64_t> first = first_words(index);
  payloads_.reserve(first.back() + index::kReadAheadWords);
  const Stream stream;
  fill_bytes(payloads_.data() + first.back(), 0, index::kReadAheadWords, stream);
  std::vector<Reader> readers;
  readers.reserve(index.params().shards());
  for (std::uint32_t s = 0; s < index.params().shards(); ++s) {
    const index::ShardView on_device{index.shape(s), payloads_.data() + first[s], first[s + 1] - first[s]};
    readers.emplace_back(on_device, index.params().k);
  }
  readers_.reserve(readers.size());
  copy_to_device(readers_.data(), readers.data(), readers.size(), stream);
  stream.wait();
  upload(index, first, payloads_.data());
}

std::uint64_t frozen_shards_bytes(const index::IndexFile& index) {
  const std::uint64_t payload = (first_words(index).back() + index::kReadAheadWords) * sizeof(std::uint64_t);
  return payload + index.params().shards() * sizeof(index::ShardReader<Key128>);
}

template class FrozenShards<Key64>;
template class FrozenShards<Key128>;

}  // namespace warpmer::gpu
