#pragma once
/// The way of a caller's batches through a GPU: the text goes to the device in slices and answers come back,
/// while the caller joins the next slice and hands out the answers of the one before.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/lookup/lookup.h"
#include "io/text/batch.h"
#include "kernels/lookup/device_index.cuh"
#include "kernels/lookup/read_sums.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/host_fence.cuh"
#include "kernels/text/cut.cuh"
#include "kernels/text/joined_text.cuh"
#include "kmer/kmer.h"

namespace warpmer::gpu {

/// The shape of a lane, by which the text of a batch goes to the device.
struct LaneShape {
  unsigned slots = 3;                     ///< one slice comes, one is looked up, one goes
  std::uint32_t slice_starts = 1u << 19;  ///< starts of k-mers that a slice has, a multiple of kTileStarts
  bool is_cut_once = false;  ///< the text is not needed any more when answers come, and lies in their memory
  std::uint32_t slice_reads = 1u << 14;  ///< reads of a slice that is summed up; 0: none is

  /// Characters of a slice, with those that its last k-mers reach into.
  [[nodiscard]] std::uint32_t slice_bytes() const { return slice_starts + kMaxK - 1; }
  /// Returns the bytes that a lane holds on the device, the allocator's rounding included.
  [[nodiscard]] std::uint64_t device_bytes() const {
    return slots *
           (slice_starts * (sizeof(char) + kAnswerBytes) + slice_reads * kBytesPerRead + kBytesPerSlice);
  }
  /// Answers of a slice, with the text behind three quarters of them where it lies there.
  [[nodiscard]] std::size_t answer_room() const {
    if (!is_cut_once) return slice_starts;
    return (text_begin() + text_room(slice_bytes())) / kAnswerBytes;
  }
  /// Returns the begin of the text then, in bytes.
  [[nodiscard]] std::size_t text_begin() const { return std::size_t{slice_starts} * kAnswerBytes / 4 * 3; }

  static constexpr std::uint32_t kAnswerBytes = sizeof(std::uint32_t);
  static constexpr std::uint64_t kBytesPerRead = sizeof(std::uint32_t) + sizeof(ReadSums);
  static constexpr std::uint64_t kBytesPerSlice =
      text_room(kMaxK - 1) + kTileStarts + (std::uint64_t{64} << 10);
};

/// Used by one caller at a time, with the device current on which it was made.
class LookupLane {
 public:
  LookupLane(const DeviceIndex& index, const LaneShape& shape, std::uint32_t k, bool lenient);
  LookupLane(const LookupLane&) = delete;
  LookupLane& operator=(const LookupLane&) = delete;
  ~LookupLane() { drain(); }

  /// Takes the memory of a profile, so that one which follows does not want for it when some of it is done.
  void take_memory();
  /// Fills in the narrow counts of `out`, which is laid out. Returns whether there are any that Lookup::widen
  /// has to look up.
  bool profile(const io::Batch& batch, backend::Profile& out);

  /// Sums up every piece. Returns false, and does nothing useful, if one is longer than a slice or has a
  /// count that is too large for an answer.
  bool summarise(const io::Batch& batch, std::vector<backend::ReadSummary>& out);

 private:
  /// A part of the joined text of a batch. Slices share no starts.
  struct TextSlice {
    JoinedPiece piece;  ///< which holds the first start
    std::uint64_t begin = 0;
    std::uint32_t starts = 0;
    std::uint32_t bytes = 0;
    std::uint32_t reads = 0;  ///< if it is summed up, and then nothing but whole reads
  };

  /// The memory and events that a slice needs on its way. Its stream keeps the steps in order; those of
  /// different slices overlap.
  struct BatchSlot {
    explicit BatchSlot(const LaneShape& shape);

    PinnedArray<char> joined;
    DeviceArray<char> own_text;
    DeviceArray<std::uint32_t> answers;
    char* text;
    PinnedArray<std::uint32_t> results;  ///< none until a profile is asked for
    // The next ones, until a summary is.
    PinnedArray<std::uint32_t> joined_begins;
    DeviceArray<std::uint32_t> begins;
    DeviceArray<ReadSums> sums;
    PinnedArray<ReadSums> result_sums;
    DeviceArray<CutStatus> status{1};
    PinnedArray<CutStatus> result{1};
    Stream stream;
    HostFence done;
    TextSlice slice;
    bool busy = false;
  };

  /// In turn, so that slices are completed in order: the first bad character is found first.
  BatchSlot& next_slot() {
    turn_ = (turn_ + 1) % shape_.slots;
    return slots_[turn_];
  }

  [[nodiscard]] TextSlice slice_of_reads(const io::Batch& batch, const JoinedPiece& first) const;
  void look_up(BatchSlot& slot, const io::Batch& batch);
  void send_answers(BatchSlot& slot, const io::Batch& batch);
  void send_sums(BatchSlot& slot, const io::Batch& batch);
  void end(BatchSlot& slot);
  bool wait(BatchSlot& slot, const io::Batch& batch) const;
  bool take_answers(BatchSlot& slot, const io::Batch& batch, backend::Profile& out) const;
  bool take_sums(BatchSlot& slot, const io::Batch& batch, std::vector<backend::ReadSummary>& out) const;
  void drain() noexcept;

  const DeviceIndex& index_;
  const LaneShape shape_;
  std::uint32_t k_;
  bool lenient_;
  std::vector<BatchSlot> slots_;
  unsigned turn_ = 0;
};

}  // namespace warpmer::gpu
