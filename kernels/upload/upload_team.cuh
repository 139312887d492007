#pragma once
/// The way of an index's payloads to the device.

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

/// Threads that copy shards to the device that was current when they were made, for as long as the team
/// lives. Each reads some shards of the file into pinned memory while those before are on their way, and, if
/// it is told to, before there is room for them on the device, so that the link has work while one range of
/// shards ends and the next begins. Or, where the same shards are copied again and again, the pages of the
/// file are pinned, as soon as that is done: then threads only say what is to be copied, and nothing takes
/// the host's time.
class UploadTeam {
 public:
  /// `index` must outlive the team. `pages`, if there are any, are pinned once the team begins to copy what
  /// it has copied before. ResourceError when there is no room for so many threads.
  UploadTeam(const index::IndexFile& index, unsigned threads, std::shared_ptr<FilePages> pages);
  /// After an error, too, nothing is under way afterwards.
  ~UploadTeam();
  UploadTeam(const UploadTeam&) = delete;
  UploadTeam& operator=(const UploadTeam&) = delete;

  /// Begins to copy the payloads of shards `first` to `end` - 1, one behind the other, when those begun
  /// before have been read, and checks the shards that have not been.
  void start(std::uint32_t first, std::uint32_t end, std::uint64_t* to);
  /// The same in two steps, the first of which may be some parts ahead: begins to read the shards `first` to
  /// `end` - 1, a part; and says where the first part that has no place yet is to go, which is free when
  /// `free`, if there is one, has passed.
  void read_ahead(std::uint32_t first, std::uint32_t end);
  void place_next(std::uint64_t* to, const std::shared_ptr<const Event>& free);
  /// Each has one part at a time in its hands.
  [[nodiscard]] unsigned threads() const { return static_cast<unsigned>(lanes_.size()); }
  /// Whether everything begun has been read up to shard `end`, which comes after those finished.
  [[nodiscard]] bool has_read(std::uint32_t end);
  /// Waits until it has; what is enqueued in `stream` from then on finds it copied. Throws what a thread has
  /// thrown: InputError for a damaged shard.
  void finish(std::uint32_t end, cudaStream_t stream);

  /// The end of the part that begins with shard `first`: one shard, or some small ones.
  [[nodiscard]] std::uint32_t end_of_part(std::uint32_t first, std::uint32_t end) const;

  /// Words that are read together, at most, by those of the largest shard.
  static std::uint64_t most_part_words(std::uint64_t largest_words);
  /// Host memory for each thread, by the largest shard: pinned, and, if that shard is very large, mapped.
  static std::uint64_t bytes_of_thread(std::uint64_t largest_words);

  /// Words of all payloads before a shard's, by shard; and of all.
  [[nodiscard]] const std::vector<std::uint64_t>& first_words() const { return first_words_; }

 private:
  /// Shards that are read together.
  struct Part {
    std::uint32_t first_shard = 0, end_shard = 0;
    std::uint64_t* to = nullptr;        ///< once it has a place
    std::shared_ptr<const Event> free;  ///< when this has passed, if there is one, the place is free
    std::condition_variable placed;
    bool is_read = false;  ///< and its copy is enqueued
    Event copied;
  };
  /// One thread's way: buffers by turn.
  struct Lane;

  void work(Lane& lane);
  void copy_part(Lane& lane, Part& part);
  void copy_large_shard(Lane& lane, Part& part);
  /// Waits until a part has a place, and lets the lane's stream wait until that is free. None when nothing is
  /// to be copied any more.
  std::uint64_t* place_of(const Lane& lane, Part& part);
  /// Nothing more is copied; with the mutex.
  void end();
  void join();

  const index::IndexFile& index_;
  int gpu_;
  std::vector<std::uint64_t> first_words_;
  std::uint64_t buffer_words_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::mutex mutex_;
  std::condition_variable begun_, read_;
  std::deque<Part> parts_;  ///< begun and not finished
  std::size_t taken_ = 0;   ///< of these, by threads
  std::size_t placed_ = 0;  ///< of these, that have a place
  bool is_over_ = false;
  std::exception_ptr failure_;
  const std::shared_ptr<FilePages> pages_;  ///< or none
  std::vector<bool> was_first_;             ///< shards from which on it has copied
  std::vector<std::thread> threads_;
};

}  // namespace warpmer::gpu
