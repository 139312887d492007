#pragma once
/// The queue of frozen shards on their way from the devices to the threads that write them.

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "kernels/freeze/frozen_chunk.cuh"

namespace warpmer::gpu {

/// Thread-safe. Shards leave in order of their numbers, as far as they are there: the file is written in this
/// order, and a shard that comes too early has to wait in memory.
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

  /// `gpus` GPUs put chunks of shards; each calls `close`.
  explicit ShardQueue(std::uint32_t gpus) : open_(gpus) {}

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
  /// Waits for an item, and returns it; none when no more come.
  std::optional<QueuedShard> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_ == 0 || failure_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    return pop(items_.begin());
  }
  /// Returns an item that is there and comes no later than the chunk that begins with this shard, if any. A
  /// thread that waits for a chunk helps with these; with later ones it would keep the GPU waiting, and
  /// itself, if it makes the shards before them.
  std::optional<QueuedShard> try_take(std::uint32_t first_shard) {
    return try_take_after(std::nullopt, first_shard);
  }
  /// Returns such an item that comes behind `before`, for a thread that already has that one. It must not get
  /// any that comes earlier: it may be waiting, with its first item, until all shards before that are
  /// written.
  std::optional<QueuedShard> try_take_after(std::optional<std::uint32_t> before, std::uint32_t first_shard) {
    const std::lock_guard lock(mutex_);
    const auto at = before ? items_.upper_bound(*before) : items_.begin();
    if (at == items_.end() || at->second.chunk->first_shard > first_shard) return std::nullopt;
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
  /// Ends the chunks of one of the GPUs.
  void close() {
    const std::lock_guard lock(mutex_);
    --open_;
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
  QueuedShard pop(std::map<std::uint32_t, QueuedShard>::iterator at) {
    QueuedShard item = std::move(at->second);
    items_.erase(at);
    return item;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint32_t, QueuedShard> items_;  ///< by shard
  std::map<std::uint32_t, std::size_t> left_;   ///< number of shards not fetched, by the chunk's first shard
  std::uint32_t open_;                          ///< number of GPUs that may put more
  std::exception_ptr failure_;                  ///< the first failure
};

}  // namespace warpmer::gpu
