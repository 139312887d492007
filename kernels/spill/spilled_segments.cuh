#pragma once
/// Segments for which the device has no room. They lie in host memory as far as that suffices, then in a
/// temporary file. Threads of its own move them there while reads are cut, and bring ranges of bins back.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "file/spill_file.h"
#include "kernels/count/count_plan.cuh"
#include "kernels/count/segment.cuh"

namespace warpmer::gpu {

/// The bytes of words and offsets that have been moved.
struct SpillTotals {
  std::uint64_t to_host = 0, to_file = 0;  ///< from the device
  std::uint64_t from_host = 0, from_file = 0;
  double out_seconds = 0, back_seconds = 0;  ///< seconds of threads, added up

  void add(const SpillTotals& other) {
    to_host += other.to_host;
    to_file += other.to_file;
    from_host += other.from_host;
    from_file += other.from_file;
    out_seconds += other.out_seconds;
    back_seconds += other.back_seconds;
  }
};

/// The words of a range of bins, back on the device: one slice for each part of a spilled segment, one after
/// the other.
template <int Words>
struct Slices {
  std::uint32_t first_bin = 0, bins = 0;
  DeviceArray<SuperKmer<Words>> words;
  DeviceArray<std::uint32_t>
      offsets;  ///< bins + 1 numbers for each slice; the first of them may be any number
  std::vector<std::uint32_t> begins;  ///< number of each slice's first word, and of all words

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(begins.size()) - 1; }
  [[nodiscard]] std::uint32_t word_count() const { return begins.back(); }
};

/// Serves one GPU, the one that is current when it is made. One thread at a time may use it.
template <int Words>
class SpilledSegments {
 public:
  /// The host memory that a thread takes, beside the words that it puts there: pinned buffers for words and
  /// for offsets, a part's offsets, a buffer for reading the file, and notes about parts. Words go to fresh
  /// huge pages, not to pinned ones: pinning pages ahead makes all other calls of the driver wait.
  static constexpr std::uint64_t kWordsBytes = std::uint64_t{4} << 20;
  static constexpr std::uint64_t kOffsetsBytes = std::uint64_t{2} << 20, kReadBytes = std::uint64_t{2} << 20;
  static constexpr std::uint64_t kRememberedBytes = std::uint64_t{8} << 20;
  static constexpr std::uint64_t kLeastBytesOfThread =
      kWordsBytes + 3 * kOffsetsBytes + kReadBytes + kRememberedBytes;

  /// Takes segments of the bins from `first_bin` on, which are whole shards.
  SpilledSegments(SpillPlan plan, std::uint32_t first_bin, std::uint32_t bins_per_shard);
  ~SpilledSegments();

  /// Takes a segment that is complete in the order of `stream`. Its device memory is given back when it is
  /// out. Throws an earlier failure: a ResourceError when neither memory nor file take more.
  void put(Segment<Words>&& segment, cudaStream_t stream);
  [[nodiscard]] bool is_empty() const { return puts_ == 0; }
  /// Waits until segments of at most so many bytes of device memory are on their way out, and returns their
  /// bytes.
  std::uint64_t wait_until_leaving(std::uint64_t most);

  // The following may be called once everything is out, after `wait_until_leaving(0)`.

  /// Returns the number of parts of spilled segments.
  [[nodiscard]] std::uint32_t parts() const;
  /// Returns the number of words that a part has of a shard.
  [[nodiscard]] std::uint32_t words_of(std::uint32_t part, std::uint32_t shard) const;

  /// Begins to bring the words that the parts [first_part, end_part) have of some shards back to `to`, whose
  /// arrays must be large enough; they are free when `event` has passed. There is one fetch at a time.
  void begin_fetch(std::uint32_t first_shard, std::uint32_t shards, std::uint32_t first_part,
                   std::uint32_t end_part, Slices<Words>& to, const Event& event);
  /// Waits until the words are on their way; work that is enqueued in `stream` from then on finds them there.
  void wait_fetched(cudaStream_t stream);
  /// Waits until the words are there, also after a failure.
  void let_fetch_end() noexcept;

  [[nodiscard]] SpillTotals totals() const;

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(char* memory) const;
  };
  /// Unpinned memory of the host: the driver pins for one thread at a time, and lets no thread copy
  /// meanwhile.
  using HostBytes = std::unique_ptr<char, Unmap>;
  struct SpilledPart;
  struct SpilledSlice;
  struct Leaving;
  struct SpillPiece;
  class SpillThread;

  file::SpillFile& file();
  HostBytes allocate(std::uint64_t bytes);
  void remember(SpilledPart&& part);
  void work(SpillThread& worker);
  void move_piece(SpillThread& worker, const SpillPiece& piece, std::unique_lock<std::mutex>& lock);

  const SpillPlan plan_;
  const std::uint32_t first_bin_, bins_per_shard_;
  const int gpu_;
  /// One part in this many of the host's bytes is kept for notes about parts when the rest is full.
  static constexpr std::uint64_t kRememberedShare = 32;
  std::uint64_t puts_ = 0;

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::unique_ptr<file::SpillFile> file_;
  std::uint64_t host_bytes_left_, remembered_bytes_left_;
  std::deque<SpilledPart> parts_;  ///< parts that are out
  std::list<Leaving> leaving_;
  std::uint64_t leaving_bytes_ = 0;
  std::deque<SpillPiece>
      pieces_;  ///< pieces of these that no thread has taken yet, whole segments behind others
  std::uint32_t fetching_ = 0;  ///< number of workers that are fetching
  bool stop_ = false;
  std::exception_ptr failure_;
  std::vector<std::unique_ptr<SpillThread>> workers_;
};

}  // namespace warpmer::gpu
