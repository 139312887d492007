// Lookups on a GPU: every caller has a lane of its own, on which the text of a batch goes to the device in
// slices and answers come back, while the caller joins the next slice and hands out the answers of the one
// before.

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/kmer.h"
#include "device_index.cuh"
#include "device_memory.cuh"
#include "engine/lookup.h"
#include "frozen_shards.cuh"
#include "joined_text.cuh"
#include "lookup_table.cuh"

namespace warpmer::gpu {

namespace {

using engine::Lookup;
using engine::LookupTable;
using engine::Profile;

/// Starts of k-mers that a slice has, and characters with those that its last k-mers reach into.
constexpr std::uint32_t kSliceStarts = 1u << 19;
constexpr std::uint32_t kSliceBytes = kSliceStarts + kMaxK - 1;
static_assert(kSliceStarts % kTileStarts == 0);

/// A part of the joined text of a batch. Slices share no starts.
struct Slice {
  JoinedPiece piece;  ///< which holds the first start
  std::uint64_t begin = 0;
  std::uint32_t starts = 0;
  std::uint32_t bytes = 0;
};

/// What a slice needs on its way. Its stream keeps the steps in order; those of different slices overlap.
struct Slot {
  PinnedArray<char> joined{kSliceBytes};
  DeviceArray<char> text{text_room(kSliceBytes)};
  DeviceArray<std::uint32_t> answers{kSliceStarts};
  PinnedArray<std::uint32_t> results{kSliceStarts};
  DeviceArray<CutStatus> status{1};
  PinnedArray<CutStatus> result{1};
  Stream stream;
  Event done;
  Slice slice;
  bool busy = false;

  /// What one holds on the device, the allocator's rounding included.
  static constexpr std::uint64_t kDeviceBytes =
      text_room(kSliceBytes) + kSliceStarts * sizeof(std::uint32_t) + (std::uint64_t{64} << 10);
};

/// Copies answers to counts. Returns whether there are counts among them that no answer can hold.
bool widen(const std::uint32_t* answers, std::size_t n, std::uint64_t* counts) {
  std::uint32_t large = 0;
  for (std::size_t i = 0; i < n; ++i) {
    counts[i] = answers[i] == kNoKmerAnswer ? Profile::kNoKmer : answers[i];
    large |= answers[i] == kLargeCountAnswer ? 1u : 0u;
  }
  return large != 0;
}

/// Used by one caller at a time, with the device current on which it was made.
class Lane {
 public:
  /// One slice comes, one is looked up, one goes.
  static constexpr unsigned kSlots = 3;
  static constexpr std::uint64_t kDeviceBytes = kSlots * Slot::kDeviceBytes;

  Lane(const DeviceIndex& index, std::uint32_t k, bool lenient) : index_(index), k_(k), lenient_(lenient) {
    // What stands behind a text does not matter, but tools that look for reads of it cannot know.
    for (const Slot& slot : slots_) fill_bytes(slot.text.data(), 0, slot.text.size(), slot.stream);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane() { drain(); }

  /// Fills in `out`, which is laid out; `lookup` finds what is too large for an answer.
  void profile(const io::Batch& batch, const Lookup& lookup, Profile& out) {
    try {
      const std::uint64_t bytes = joined_bytes(batch);
      JoinedPiece piece;
      for (std::uint64_t begin = 0; begin < bytes; begin += kSliceStarts) {
        piece.go_to(batch, begin);
        Slot& slot = next_slot();
        complete(slot, batch, lookup, out);
        slot.slice.piece = piece;
        slot.slice.begin = begin;
        slot.slice.starts = static_cast<std::uint32_t>(std::min<std::uint64_t>(kSliceStarts, bytes - begin));
        slot.slice.bytes =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(slot.slice.starts + k_ - 1, bytes - begin));
        send(slot, batch);
      }
      for (unsigned i = 0; i < kSlots; ++i) complete(next_slot(), batch, lookup, out);
    } catch (...) {
      drain();
      throw;
    }
  }

 private:
  /// In turn, so that slices are completed in order: the first bad character is found first.
  Slot& next_slot() {
    turn_ = (turn_ + 1) % kSlots;
    return slots_[turn_];
  }

  void send(Slot& slot, const io::Batch& batch) {
    const Slice& slice = slot.slice;
    join(batch, slice.piece, slice.begin, slice.bytes, slot.joined.data());
    copy_to_device(slot.text.data(), slot.joined.data(), slice.bytes, slot.stream);
    reset_status(slot.status.data(), slot.stream);
    index_.look_up(slot.text.data(), slice.bytes, slice.starts, slot.answers.data(), slot.status.data(),
                   slot.stream);
    copy_to_host(slot.results.data(), slot.answers.data(), slice.starts, slot.stream);
    copy_to_host(slot.result.data(), slot.status.data(), 1, slot.stream);
    slot.done.record(slot.stream);
    slot.busy = true;
  }

  void complete(Slot& slot, const io::Batch& batch, const Lookup& lookup, Profile& out) {
    if (!slot.busy) return;
    slot.done.wait();
    slot.busy = false;
    const std::uint32_t first_invalid = slot.result[0].first_invalid;
    if (first_invalid != UINT32_MAX && !lenient_) throw_bad_base(batch, slot.slice.begin + first_invalid);
    hand_out(slot, batch, lookup, out);
  }

  void hand_out(const Slot& slot, const io::Batch& batch, const Lookup& lookup, Profile& out) const {
    const std::uint64_t begin = slot.slice.begin, end = begin + slot.slice.starts;
    for (JoinedPiece piece = slot.slice.piece; piece.number < batch.pieces.size() && piece.at < end;
         piece.go_to_next(batch)) {
      const std::size_t place = out.first[piece.number];
      const std::uint64_t from = std::max(piece.at, begin);
      const std::uint64_t to = std::min(piece.at + (out.first[piece.number + 1] - place), end);
      if (from >= to) continue;
      const std::uint32_t* answers = slot.results.data() + (from - begin);
      std::uint64_t* counts = out.counts.data() + place + (from - piece.at);
      if (!widen(answers, to - from, counts)) continue;
      const std::string_view bases = batch.bases(batch.pieces[piece.number]).substr(from - piece.at);
      for (std::size_t i = 0; i < to - from; ++i) {
        if (answers[i] == kLargeCountAnswer) counts[i] = lookup.find(bases.substr(i, k_));
      }
    }
  }

  /// Nothing is under way afterwards, whatever went wrong.
  void drain() noexcept {
    for (Slot& slot : slots_) {
      cudaStreamSynchronize(slot.stream);
      slot.busy = false;
    }
  }

  const DeviceIndex& index_;
  std::uint32_t k_;
  bool lenient_;
  Slot slots_[kSlots];
  unsigned turn_ = 0;
};

/// How many lanes there is memory for, beside what k-mers are looked up in, on the current device.
std::uint64_t lanes_beside(const index::IndexFile& index, LookupTable table, std::uint64_t cap_bytes) {
  const std::uint64_t usable = usable_bytes();
  const bool capped = cap_bytes > 0 && cap_bytes < usable;
  const std::uint64_t bytes = capped ? cap_bytes : usable;
  const bool builds = table != LookupTable::index;
  const std::uint64_t shards = frozen_shards_bytes(index);
  const LookupTableBytes of_table =
      builds ? lookup_table_bytes(index, table) : LookupTableBytes{shards, shards};
  const std::uint64_t needed = std::max(of_table.building, of_table.table + Lane::kDeviceBytes);
  if (needed > bytes) {
    throw ResourceError("looking up in " + index.path() + (builds ? " by a table" : "") + " needs " +
                        megabytes(needed + (1u << 20) - 1) + " of the GPU's memory, and " +
                        (capped ? "--device-memory allows " + megabytes(bytes) + "; raise it, or"
                                : megabytes(bytes) + " can be had;") +
                        (builds ? " use --table index" : " use --device cpu"));
  }
  return (bytes - of_table.table) / Lane::kDeviceBytes;
}

class CudaLookup : public Lookup {
 public:
  CudaLookup(const index::IndexFile& index, bool lenient, int gpu, std::uint64_t device_memory_bytes,
             LookupTable table)
      : Lookup(index, table), lenient_(lenient), gpu_(gpu) {
    use_device();
    most_lanes_ = lanes_beside(index, table, device_memory_bytes);
    loaded_ = table == LookupTable::index ? load_index(index) : build_lookup_table(index, table);
  }
  /// Memory is given back to the device that is current.
  ~CudaLookup() override { cudaSetDevice(gpu_); }

  void profile(const io::Batch& batch, Profile& out) const override {
    use_device();
    lay_out(batch, out);
    const auto give_back = [this](Lane* lane) {
      const std::lock_guard lock(mutex_);
      idle_.push_back(lane);
      returned_.notify_one();
    };
    const std::unique_ptr<Lane, decltype(give_back)> lane(borrow(), give_back);
    lane->profile(batch, *this, out);
  }

 private:
  void use_device() const { check(cudaSetDevice(gpu_), "choosing a GPU"); }

  /// Waits for a lane when there is no memory for another.
  Lane* borrow() const {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return !idle_.empty() || lanes_.size() < most_lanes_; });
    if (idle_.empty()) {
      idle_.reserve(lanes_.size() + 1);  // so that giving back cannot fail
      lanes_.push_back(std::make_unique<Lane>(*loaded_, index().params().k, lenient_));
      return lanes_.back().get();
    }
    Lane* lane = idle_.back();
    idle_.pop_back();
    return lane;
  }

  const bool lenient_;
  const int gpu_;
  std::uint64_t most_lanes_ = 0;
  std::unique_ptr<DeviceIndex> loaded_;
  mutable std::mutex mutex_;
  mutable std::condition_variable returned_;
  mutable std::vector<std::unique_ptr<Lane>> lanes_;
  mutable std::vector<Lane*> idle_;
};

}  // namespace

}  // namespace warpmer::gpu

namespace warpmer::engine {

std::unique_ptr<Lookup> make_cuda_lookup(const index::IndexFile& index, bool lenient, int gpu,
                                         std::uint64_t device_memory_bytes, LookupTable table) {
  return std::make_unique<gpu::CudaLookup>(index, lenient, gpu, device_memory_bytes, table);
}

}  // namespace warpmer::engine
