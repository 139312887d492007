#pragma once
/// Copies an index's payloads to the device.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "index/index_file.h"
#include "kernels/memory/device_memory.cuh"
#include "kernels/upload/file_pages.cuh"

namespace warpmer::gpu {

/// The threads of a shard uploader copy shards to the device that was current when they were made, as long as
/// it lives. Each reads some shards of the file into pinned memory while those before are on their way and,
/// if it is told to, before there is room for them on the device, so that the link has work while one range
/// of shards ends and the next begins. If the same shards are copied again and again, the pages of the file
/// are pinned; as soon as that is done, threads only start copies, and nothing takes the host's time.
class ShardUploader {
 public:
  /// `pages`, if there are any, are pinned once it begins to copy shards that it has
  /// copied before. Throws a ResourceError when there is no room for so many threads.
  ShardUploader(const index::IndexFile& index, unsigned threads, std::shared_ptr<FilePages> pages);
  /// After an error, too, nothing is under way afterwards.
  ~ShardUploader();

  /// Begins to copy the payloads of shards `first` to `end` - 1, one behind the other, when those begun
  /// before have been read, and checks the shards that have not been.
  void start(std::uint32_t first, std::uint32_t end, std::uint64_t* to);
  /// The same in two steps, the first of which may be some parts ahead. The first begins to read the shards
  /// `first` to `end` - 1, which are a part. The second sets the place of the first part that has none yet;
  /// this place is free when `free`, if there is one, has passed.
  void read_ahead(std::uint32_t first, std::uint32_t end);
  void place_next(std::uint64_t* to, const std::shared_ptr<const Event>& free);
  /// Returns the number of threads; each works on one part at a time.
  [[nodiscard]] unsigned threads() const { return static_cast<unsigned>(lanes_.size()); }
  /// Waits for all shards before `end`; work that is enqueued in `stream` from then on finds them copied.
  /// Throws a thread's error: an InputError for a damaged shard.
  void finish(std::uint32_t end, cudaStream_t stream);

  /// Returns the end of the part that begins with shard `first`: one shard, or some small ones.
  [[nodiscard]] std::uint32_t end_of_part(std::uint32_t first, std::uint32_t end) const;

  /// Returns the most words that are read together, by the words of the largest shard.
  static std::uint64_t most_part_words(std::uint64_t largest_words);
  /// Returns the host memory for each thread, by the largest shard: it is pinned and, if that shard is very
  /// large, also mapped.
  static std::uint64_t bytes_of_thread(std::uint64_t largest_words);

  /// Returns, by shard, the number of words of all payloads before the shard's, and in the end of all.
  [[nodiscard]] const std::vector<std::uint64_t>& first_words() const { return first_words_; }

 private:
  /// Some shards that are read together.
  struct UploadPart {
    std::uint32_t first_shard = 0, end_shard = 0;
    std::uint64_t* to = nullptr;        ///< place on the device, once it has one
    std::shared_ptr<const Event> free;  ///< when this has passed, if there is one, the place is free
    std::condition_variable placed;
    bool is_read = false;  ///< it has been read, and its copy is enqueued
    Event copied;
  };
  /// The stream and buffers of one thread; buffers take turns.
  struct UploadLane;

  void work(UploadLane& lane);
  void copy_part(UploadLane& lane, UploadPart& part);
  void copy_large_shard(UploadLane& lane, UploadPart& part);
  /// Waits until a part has a place, and lets the lane's stream wait until that is free. Returns null when
  /// nothing is to be copied any more.
  std::uint64_t* place_of(const UploadLane& lane, UploadPart& part);
  /// Ends copying; the caller has the mutex.
  void end();
  void join();

  const index::IndexFile& index_;
  int gpu_;
  std::vector<std::uint64_t> first_words_;
  std::uint64_t buffer_words_;
  std::vector<std::unique_ptr<UploadLane>> lanes_;
  std::mutex mutex_;
  std::condition_variable begun_, read_;
  std::deque<UploadPart> parts_;  ///< parts begun and not finished
  std::size_t taken_ = 0;         ///< number of these that threads have taken
  std::size_t placed_ = 0;        ///< number of these that have a place
  bool is_over_ = false;
  std::exception_ptr failure_;
  const std::shared_ptr<FilePages> pages_;  ///< may be null
  std::vector<bool> was_first_;             ///< by shard: true when a copy has begun with it
  std::vector<std::thread> threads_;
};

}  // namespace warpmer::gpu
