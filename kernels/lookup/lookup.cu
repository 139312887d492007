// Lookups on one GPU or several: every caller has a lane of its own, on which the text of a batch goes to the
// device in slices and answers come back, while the caller joins the next slice and hands out the answers of
// the one before.

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "backend/lookup/lookup.h"
#include "backend/lookup/paged_lookup_plan.h"
#include "base/buffer_pool.h"
#include "base/error.h"
#include "host/limits.h"
#include "kernels/exchange/peers.cuh"
#include "kernels/lookup/device_index.cuh"
#include "kernels/lookup/lookup.cuh"
#include "kernels/lookup/paged_index.cuh"
#include "kernels/lookup/routed_index.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/held_memory.cuh"
#include "kernels/memory/host_fence.cuh"
#include "kernels/text/joined_text.cuh"
#include "kernels/upload/frozen_shards.cuh"
#include "kmer/kmer.h"

namespace warpmer::gpu {

namespace {

using backend::Lookup;
using backend::Profile;

/// The shape of a lane, by which the text of a batch goes to the device.
struct LaneShape {
  unsigned slots = 3;                     ///< one slice comes, one is looked up, one goes
  std::uint32_t slice_starts = 1u << 19;  ///< starts of k-mers that a slice has, a multiple of kTileStarts
  bool is_cut_once = false;  ///< the text is not needed any more when answers come, and lies in their memory

  /// Characters of a slice, with those that its last k-mers reach into.
  [[nodiscard]] std::uint32_t slice_bytes() const { return slice_starts + kMaxK - 1; }
  /// Returns the bytes that a lane holds on the device, the allocator's rounding included.
  [[nodiscard]] std::uint64_t device_bytes() const {
    return slots * (slice_starts * (sizeof(char) + kAnswerBytes) + kBytesPerSlice);
  }
  /// Answers of a slice, with the text behind three quarters of them where it lies there.
  [[nodiscard]] std::size_t answer_room() const {
    if (!is_cut_once) return slice_starts;
    return (text_begin() + text_room(slice_bytes())) / kAnswerBytes;
  }
  /// Returns the begin of the text then, in bytes.
  [[nodiscard]] std::size_t text_begin() const { return std::size_t{slice_starts} * kAnswerBytes / 4 * 3; }

  static constexpr std::uint32_t kAnswerBytes = sizeof(std::uint32_t);
  static constexpr std::uint64_t kBytesPerSlice =
      text_room(kMaxK - 1) + kTileStarts + (std::uint64_t{64} << 10);
};

/// A part of the joined text of a batch. Slices share no starts.
struct TextSlice {
  JoinedPiece piece;  ///< which holds the first start
  std::uint64_t begin = 0;
  std::uint32_t starts = 0;
  std::uint32_t bytes = 0;
};

/// The memory and events that a slice needs on its way. Its stream keeps the steps in order; those of
/// different slices overlap.
struct BatchSlot {
  explicit BatchSlot(const LaneShape& shape)
      : joined(shape.slice_bytes()),
        own_text(shape.is_cut_once ? 0 : text_room(shape.slice_bytes())),
        answers(shape.answer_room()),
        text(shape.is_cut_once ? reinterpret_cast<char*>(answers.data()) + shape.text_begin()
                               : own_text.data()),
        results(shape.slice_starts) {
    // The bytes behind a text do not matter, but tools that look for reads of it cannot know.
    fill_bytes(text, 0, text_room(shape.slice_bytes()), stream);
  }

  PinnedArray<char> joined;
  DeviceArray<char> own_text;
  DeviceArray<std::uint32_t> answers;
  char* text;
  PinnedArray<std::uint32_t> results;
  DeviceArray<CutStatus> status{1};
  PinnedArray<CutStatus> result{1};
  Stream stream;
  HostFence done;
  TextSlice slice;
  bool busy = false;
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
class LookupLane {
 public:
  LookupLane(const DeviceIndex& index, const LaneShape& shape, std::uint32_t k, bool lenient)
      : index_(index), shape_(shape), k_(k), lenient_(lenient) {
    slots_.reserve(shape.slots);
    for (unsigned i = 0; i < shape.slots; ++i) slots_.emplace_back(shape);
  }
  LookupLane(const LookupLane&) = delete;
  LookupLane& operator=(const LookupLane&) = delete;
  ~LookupLane() { drain(); }

  /// Fills in `out`, which is laid out; `lookup` finds what is too large for an answer.
  void profile(const io::Batch& batch, const Lookup& lookup, Profile& out) {
    try {
      const std::uint64_t bytes = joined_bytes(batch);
      JoinedPiece piece;
      for (std::uint64_t begin = 0; begin < bytes; begin += shape_.slice_starts) {
        piece.go_to(batch, begin);
        BatchSlot& slot = next_slot();
        complete(slot, batch, lookup, out);
        slot.slice.piece = piece;
        slot.slice.begin = begin;
        slot.slice.starts =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(shape_.slice_starts, bytes - begin));
        slot.slice.bytes =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(slot.slice.starts + k_ - 1, bytes - begin));
        send(slot, batch);
      }
      for (unsigned i = 0; i < shape_.slots; ++i) complete(next_slot(), batch, lookup, out);
    } catch (...) {
      drain();
      throw;
    }
  }

 private:
  /// In turn, so that slices are completed in order: the first bad character is found first.
  BatchSlot& next_slot() {
    turn_ = (turn_ + 1) % shape_.slots;
    return slots_[turn_];
  }

  void send(BatchSlot& slot, const io::Batch& batch) {
    const TextSlice& slice = slot.slice;
    join(batch, slice.piece, slice.begin, slice.bytes, slot.joined.data());
    copy_to_device(slot.text, slot.joined.data(), slice.bytes, slot.stream);
    reset_status(slot.status.data(), slot.stream);
    index_.look_up(slot.text, slice.bytes, slice.starts, slot.answers.data(), slot.status.data(),
                   slot.stream);
    copy_to_host(slot.results.data(), slot.answers.data(), slice.starts, slot.stream);
    copy_to_host(slot.result.data(), slot.status.data(), 1, slot.stream);
    slot.done.record(slot.stream);
    slot.busy = true;
  }

  void complete(BatchSlot& slot, const io::Batch& batch, const Lookup& lookup, Profile& out) {
    if (!slot.busy) return;
    slot.done.wait();
    slot.busy = false;
    const std::uint32_t first_invalid = slot.result[0].first_invalid;
    if (first_invalid != UINT32_MAX && !lenient_) throw_bad_base(batch, slot.slice.begin + first_invalid);
    hand_out(slot, batch, lookup, out);
  }

  void hand_out(const BatchSlot& slot, const io::Batch& batch, const Lookup& lookup, Profile& out) const {
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
    for (BatchSlot& slot : slots_) {
      cudaStreamSynchronize(slot.stream);
      slot.busy = false;
    }
  }

  const DeviceIndex& index_;
  const LaneShape shape_;
  std::uint32_t k_;
  bool lenient_;
  std::vector<BatchSlot> slots_;
  unsigned turn_ = 0;
};

/// A GPU on which k-mers are looked up, with the lanes there.
class Station {
 public:
  Station(int gpu, const LaneShape& shape, std::uint64_t most_lanes, std::unique_ptr<DeviceIndex> loaded,
          std::uint32_t k, bool lenient)
      : gpu_(gpu),
        loaded_(std::move(loaded)),
        lanes_(
            [this, shape, k, lenient] { return std::make_unique<LookupLane>(*loaded_, shape, k, lenient); },
            most_lanes) {}
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;
  /// Memory is given back to the device that is current.
  ~Station() { cudaSetDevice(gpu_); }

  void profile(const io::Batch& batch, const Lookup& lookup, Profile& out) {
    check(cudaSetDevice(gpu_), "choosing a GPU");
    lanes_.take()->profile(batch, lookup, out);
  }

  void cancel() const noexcept { loaded_->cancel(); }

 private:
  const int gpu_;
  const std::unique_ptr<DeviceIndex> loaded_;
  BufferPool<LookupLane> lanes_;  ///< as many as there is memory for
};

/// Returns the memory of each GPU that a lookup may hold: the least of all. Unused memory that earlier jobs
/// of this process have left in the pools goes back, so that these begin with nothing.
LookupMemory allowed_memory(const std::vector<int>& gpus, std::uint64_t cap_bytes) {
  std::uint64_t least = UINT64_MAX;
  for (const int gpu : gpus) {
    const CurrentDevice current(gpu);
    forget_peak();
    const auto sharers = static_cast<std::uint64_t>(std::count(gpus.begin(), gpus.end(), gpu));
    least = std::min(least, usable_bytes() / sharers);
  }
  const std::uint64_t capped = planned_in_pieces(cap_bytes);
  if (cap_bytes == 0 || least < capped) return {least, 0};
  return {capped, cap_bytes};
}

[[noreturn]] void throw_too_little(const index::IndexFile& index, const Peers& peers, std::uint64_t needed,
                                   const LookupMemory& memory) {
  const std::uint64_t cap = memory.cap_bytes;
  throw ResourceError("looking up in " + index.path() + " needs " +
                      megabytes_up(cap > 0 ? cap_in_pieces(needed) : needed) +
                      (peers.size() == 1 ? " of the GPU's memory" : " of each GPU's memory") + ", and " +
                      (cap > 0 ? "--device-memory allows " + megabytes(cap) + "; raise it, or"
                               : megabytes(memory.bytes) + " can be had;") +
                      " use --device cpu");
}

/// Several GPUs take batches in turn. Each has the whole index, where there is memory for that; else a part
/// of the shards, and k-mers go to the GPU that has theirs; else each by itself pages. An index of one shard
/// is always whole.
class CudaLookup : public Lookup {
 public:
  CudaLookup(const index::IndexFile& index, const backend::LookupOptions& options,
             const std::vector<int>& gpus, const LookupMemory& memory)
      : Lookup(index), lenient_(options.lenient), peers_(gpus) {
    const std::uint64_t allowed = memory.bytes;
    const std::uint64_t whole = frozen_shards_bytes(index);
    const std::uint64_t needed = whole + LaneShape{}.device_bytes();
    const bool has_shards = index.params().shards() > 1, can_divide = has_shards && peers_.size() > 1;
    const RoutedLookupPlan routed =
        can_divide ? plan_routed_lookup(index, peers_.size(), allowed) : RoutedLookupPlan{};
    if (needed <= allowed) {
      hold_all((allowed - whole) / LaneShape{}.device_bytes());
    } else if (routed.slice_starts > 0) {
      divide(routed, allowed);
    } else if (!has_shards || !options.may_page) {
      throw_too_little(index, peers_, can_divide ? least_routed_memory(index, peers_.size()) : needed,
                       memory);
    } else {
      page(needed, memory);
    }
  }

  [[nodiscard]] unsigned callers(unsigned threads) const override { return threads + waiting_; }

  void profile(const io::Batch& batch, Profile& out) const override {
    lay_out(batch, out);
    const std::size_t turn = turn_.fetch_add(1, std::memory_order_relaxed);
    stations_[turn % stations_.size()]->profile(batch, *this, out);
  }

  void cancel() const noexcept override {
    for (const auto& station : stations_) station->cancel();
  }

 private:
  void hold_all(std::uint64_t lanes) {
    const auto copies = FrozenPayloads::copies(index(), peers_);
    for (std::uint32_t i = 0; i < peers_.size(); ++i) {
      const CurrentDevice current(peers_.gpu(i));
      add_station(peers_.gpu(i), {}, lanes, load_index(copies[i]));
    }
  }

  void divide(const RoutedLookupPlan& plan, std::uint64_t allowed) {
    const LaneShape shape{2, plan.slice_starts, true};
    const std::uint64_t lanes = (allowed - plan.bytes) / shape.device_bytes();
    auto asked = route_index(std::make_shared<const FrozenPayloads>(index(), peers_.gpus()), plan);
    for (std::uint32_t i = 0; i < peers_.size(); ++i) {
      const CurrentDevice current(peers_.gpu(i));
      add_station(peers_.gpu(i), shape, std::max<std::uint64_t>(lanes, 1), std::move(asked[i]));
    }
  }

  /// Each GPU by itself. A lane has one slice, which waits there for all children. Of a small index, `whole`,
  /// which is what it takes not to page, may be less.
  void page(std::uint64_t whole, const LookupMemory& memory) {
    const backend::PagedLookupCosts costs =
        paged_costs(index(), LaneShape::kAnswerBytes, LaneShape::kBytesPerSlice);
    const std::vector<std::uint64_t> words = shard_words(index());
    const backend::PagedLookupPlan plan =
        backend::plan_paged_lookup(words, memory.bytes, costs, most_callers(peers_.size()));
    if (plan.frame_words == 0) {
      const std::uint64_t least = std::min(whole, backend::least_paged_memory(words, costs));
      throw_too_little(index(), peers_, least, memory);
    }
    const std::shared_ptr<FilePages> pages = pages_to_pin(index());
    for (const int gpu : peers_.gpus()) {
      const CurrentDevice current(gpu);
      add_station(gpu, {1, plan.slice_starts, true}, plan.slices, page_index(index(), plan, pages));
      waiting_ += plan.slices;
    }
  }
  /// To each GPU. A batch that waits takes text, counts and answers on the host, where others have a claim,
  /// too; and a thread.
  static std::uint32_t most_callers(std::size_t gpus) {
    constexpr std::uint64_t kBytesOfOne = std::uint64_t{64} << 20, kMost = 64;
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(host::usable_memory_bytes() / 8 / kBytesOfOne / gpus, 1, kMost));
  }

  void add_station(int gpu, const LaneShape& shape, std::uint64_t lanes,
                   std::unique_ptr<DeviceIndex> loaded) {
    stations_.push_back(
        std::make_unique<Station>(gpu, shape, lanes, std::move(loaded), index().params().k, lenient_));
  }

  bool lenient_;
  unsigned waiting_ = 0;  ///< callers that wait while others work
  Peers peers_;
  std::vector<std::unique_ptr<Station>> stations_;
  mutable std::atomic<std::size_t> turn_{0};
};

}  // namespace

std::unique_ptr<Lookup> make_lookup_within(const index::IndexFile& index,
                                           const backend::LookupOptions& options,
                                           const std::vector<int>& gpus, const LookupMemory& memory) {
  return std::make_unique<CudaLookup>(index, options, gpus, memory);
}

}  // namespace warpmer::gpu

namespace warpmer::backend {

std::unique_ptr<Lookup> make_cuda_lookup(const index::IndexFile& index, const LookupOptions& options,
                                         const Devices& devices) {
  return gpu::make_lookup_within(index, options, devices.gpus,
                                 gpu::allowed_memory(devices.gpus, devices.memory_bytes));
}

}  // namespace warpmer::backend
