#pragma once
/// The queue of frozen shards on their way from the devices to the threads that write them.

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "kernels/freeze/frozen_chunk.cuh"

namespace warpmer::gpu {

/// Thread-safe. Shards leave in order of their numbers, as far as they are there: the file is written in this
/// order, and a shard that comes too early has to wait in memory. Where many do, the thread that brought one
/// has to wait, too. So one thread takes shards `strictly` in order, only when all shards before are taken:
/// then there always is a thread that can bring what the others wait for.
class ShardQueue {
 public:
  struct QueuedShard {
    std::shared_ptr<const FrozenChunk> chunk;
    std::uint32_t number;  ///< number of the shard in the chunk
    std::uint32_t gpu;     ///< GPU that has it

    [[nodiscard]] std::uint32_t shard() const { return chunk->first_shard + number; }
    [[nodiscard]] std::uint64_t first_word() const { return chunk->strings[number].first_word; }
    [[nodiscard]] std::uint64_t words() const { return chunk->strings[number].sizes.words; }
    /// Returns it without its payload.
    [[nodiscard]] index::FrozenShard head() const { return chunk->head(number); }
  };

  /// `gpus` GPUs put chunks of shards, each in order, and those of a GPU come before those of the next; each
  /// calls `close`.
  explicit ShardQueue(std::uint32_t gpus) {
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) open_.insert(gpu);
  }

  /// Throws when a thread has failed.
  void put(FrozenChunk&& frozen, std::uint32_t gpu) {
    const auto chunk = std::make_shared<const FrozenChunk>(std::move(frozen));
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    left_[chunk->first_shard] = chunk->shards();
    for (std::uint32_t s = 0; s < chunk->shards(); ++s)
      items_.emplace(chunk->first_shard + s, QueuedShard{chunk, s, gpu});
    changed_.notify_all();
  }
  /// Waits for an item, and returns it; none when no more come, or when a thread has failed.
  std::optional<QueuedShard> take(bool strictly) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_.empty() || failure_ || may_leave(items_.begin(), strictly); });
    if (items_.empty()) return std::nullopt;
    return pop(items_.begin());
  }
  /// Returns an item that is there and comes behind `before`, if any, for a thread that already has that one.
  /// It must not get any that comes earlier: it may be waiting, with its first item, until all shards before
  /// that are written.
  std::optional<QueuedShard> try_take_after(std::uint32_t before, bool strictly) {
    const std::lock_guard lock(mutex_);
    const auto at = items_.upper_bound(before);
    if (!may_leave(at, strictly)) return std::nullopt;
    return pop(at);
  }
  /// Reports that the item's part of the chunk's memory is no longer needed.
  void fetched(const QueuedShard& item) {
    const std::lock_guard lock(mutex_);
    --left_[item.chunk->first_shard];
    changed_.notify_all();
  }
  /// Waits until all shards of a chunk are fetched. Throws when a thread has failed; it throws the same
  /// error, because the error of the thread that returns first is reported.
  void wait_for(std::uint32_t first_shard) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || left_[first_shard] == 0; });
    if (failure_) std::rethrow_exception(failure_);
  }
  /// Ends the chunks of a GPU.
  void close(std::uint32_t gpu) {
    const std::lock_guard lock(mutex_);
    open_.erase(gpu);
    changed_.notify_all();
  }
  /// Stops all threads, because one has failed.
  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    items_.clear();
    changed_.notify_all();
  }

 private:
  using Items = std::map<std::uint32_t, QueuedShard>;  ///< by shard

  /// Strictly in order, no GPU before the item's may put more.
  [[nodiscard]] bool may_leave(Items::const_iterator at, bool strictly) const {
    if (at == items_.end()) return false;
    return !strictly || open_.empty() || at->second.gpu <= *open_.begin();
  }
  QueuedShard pop(Items::iterator at) {
    QueuedShard item = std::move(at->second);
    items_.erase(at);
    return item;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Items items_;
  std::map<std::uint32_t, std::size_t> left_;  ///< number of shards not fetched, by the chunk's first shard
  std::set<std::uint32_t> open_;               ///< GPUs that may put more
  std::exception_ptr failure_;                 ///< the first failure
};

}  // namespace warpmer::gpu
