#pragma once
/// One reading thread's way to the GPU: batches become joined text in pinned memory, are copied to the
/// device and counted there; FASTQ text is copied as it is, and joined on the device. Two batches are under
/// way: while the device works on one, the thread prepares the next.

#include <cstdint>
#include <mutex>
#include <vector>

#include "device_counter.cuh"
#include "engine/backend.h"
#include "io/batch.h"
#include "plain_fastq.cuh"

namespace warpmer::gpu {

/// The counter that all feeds share, with the lock that makes them take turns.
struct SharedCounter {
  TextCounter* counter;
  std::mutex* mutex;
};

class BatchFeed {
 public:
  /// Works on the current device; so must every call.
  BatchFeed(const SharedCounter& shared, bool lenient, char lowest_quality)
      : shared_(shared), lenient_(lenient), lowest_quality_(lowest_quality) {}

  /// Sends a batch on its way and leaves an earlier one in its place. Returns the number of k-mers of
  /// batches completed meanwhile. For a character that is no nucleotide code, in an earlier batch, unless
  /// lenient: InputError. In FASTQ text, for that and for all that is not plain: io::NotPlainFastq.
  std::uint64_t add(io::Batch& batch);

  /// Waits for what is under way.
  std::uint64_t finish();

  [[nodiscard]] const engine::FoundInText& found_in_text() const { return found_; }
  [[nodiscard]] double join_seconds() const { return join_seconds_; }
  [[nodiscard]] double find_seconds() const { return find_seconds_; }
  [[nodiscard]] double copy_seconds() const { return copy_seconds_; }
  [[nodiscard]] std::uint64_t copied_bytes() const { return copied_bytes_; }

 private:
  struct Slot {
    io::Batch batch;
    PinnedArray<char> joined;
    DeviceArray<char> fastq;  ///< as it is in the file
    PlainFastq records;
    PinnedArray<FastqFindings> found{1};
    DeviceArray<char> text;              ///< joined
    DeviceArray<std::uint32_t> left[2];  ///< tiles that found no room: to do, and again
    DeviceArray<CutStatus> status{1};
    PinnedArray<CutStatus> result{1};
    Event copy_begin{Event::Kind::timing}, copy_end{Event::Kind::timing};
    Event ready{Event::Kind::timing};  ///< to be cut
    Event done;
    std::uint32_t bytes = 0;
    bool busy = false;
  };

  void join(Slot& slot);
  void send(Slot& slot);
  void copy_joined(Slot& slot);
  void copy_fastq(Slot& slot);
  void note_records(const Slot& slot);
  [[noreturn]] void throw_bad_base(const Slot& slot, std::uint32_t offset) const;
  void enqueue(Slot& slot, const std::uint32_t* tiles, std::uint32_t tile_count, std::uint32_t* left);
  std::uint64_t complete(Slot& slot);
  std::uint64_t cut_rest(Slot& slot);

  SharedCounter shared_;
  bool lenient_;
  char lowest_quality_;
  Stream copies_;
  Slot slots_[2];
  unsigned turn_ = 0;
  engine::FoundInText found_;
  double join_seconds_ = 0, copy_seconds_ = 0, find_seconds_ = 0;
  std::uint64_t copied_bytes_ = 0;
};

}  // namespace warpmer::gpu
