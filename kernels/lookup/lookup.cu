// Lookups on one GPU or several: every caller has a lane of its own.

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "backend/lookup/lookup.h"
#include "backend/lookup/paged_lookup_plan.h"
#include "base/buffer_pool.h"
#include "base/error.h"
#include "host/limits.h"
#include "kernels/exchange/peers.cuh"
#include "kernels/lookup/device_index.cuh"
#include "kernels/lookup/lookup.cuh"
#include "kernels/lookup/lookup_lane.cuh"
#include "kernels/lookup/paged_index.cuh"
#include "kernels/lookup/raw_lane.cuh"
#include "kernels/lookup/routed_index.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/held_memory.cuh"
#include "kernels/memory/pinned_text.cuh"
#include "kernels/upload/frozen_shards.cuh"

namespace warpmer::gpu {

namespace {

using backend::Lookup;
using backend::Profile;

/// A GPU on which k-mers are looked up, with the lanes there.
class Station {
 public:
  Station(int gpu, const LaneShape& shape, std::uint64_t most_lanes, std::uint64_t most_raw_lanes,
          std::unique_ptr<DeviceIndex> loaded, std::uint32_t k, bool lenient)
      : gpu_(gpu),
        loaded_(std::move(loaded)),
        lanes_(
            [this, shape, k, lenient] { return std::make_unique<LookupLane>(*loaded_, shape, k, lenient); },
            most_lanes),
        raw_lanes_([this, k, lenient] { return std::make_unique<RawLane>(*loaded_, k, lenient); },
                   most_raw_lanes) {}
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;
  /// Memory is given back to the device that is current.
  ~Station() { cudaSetDevice(gpu_); }

  bool profile(const io::Batch& batch, Profile& out) {
    check(cudaSetDevice(gpu_), "choosing a GPU");
    return lanes_.take()->profile(batch, out);
  }

  /// Returns whether it could.
  bool summarise(const io::Batch& batch, std::vector<backend::ReadSummary>& out) {
    check(cudaSetDevice(gpu_), "choosing a GPU");
    return lanes_.take()->summarise(batch, out);
  }

  void answer_raw(const io::Batch& raw, char lowest_quality, backend::RawAnswer& out) {
    check(cudaSetDevice(gpu_), "choosing a GPU");
    raw_lanes_.take()->answer(raw, lowest_quality, out);
  }

  void cancel() const noexcept { loaded_->cancel(); }

 private:
  const int gpu_;
  const std::unique_ptr<DeviceIndex> loaded_;
  BufferPool<LookupLane> lanes_;  ///< as many as there is memory for
  BufferPool<RawLane> raw_lanes_;
};

/// Returns the memory of each GPU that a lookup may hold: the least of all. Unused memory that earlier jobs
/// of this process have left in the pools goes back, so that these begin with nothing.
LookupMemory allowed_memory(const std::vector<int>& gpus, std::uint64_t cap_bytes) {
  for (const int gpu : gpus) {
    const CurrentDevice current(gpu);
    forget_peak();
  }
  const std::uint64_t least = usable_bytes_of_each(gpus);
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
class CudaLookup : public backend::IndexLookup {
 public:
  CudaLookup(const index::IndexFile& index, const backend::LookupOptions& options,
             const std::vector<int>& gpus, const LookupMemory& memory)
      : IndexLookup(index),
        lenient_(options.lenient),
        peers_(gpus),
        text_memory_(peers_.pinned_blocks(), gpus.front()) {
    const std::uint64_t allowed = memory.bytes;
    const std::uint64_t whole = frozen_shards_bytes(index);
    const std::uint64_t needed = whole + LaneShape{}.device_bytes();
    const bool has_shards = index.params().shards() > 1, can_divide = has_shards && peers_.size() > 1;
    const RoutedLookupPlan routed =
        can_divide ? plan_routed_lookup(index, peers_.size(), allowed) : RoutedLookupPlan{};
    if (needed <= allowed) {
      sums_up_ = true;
      hold_all(allowed - whole);
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
    if (next_station().profile(batch, out)) widen(batch, out);
  }

  void summarise(const io::Batch& batch, backend::BatchSummary& out) const override {
    if (!sums_up_ || !next_station().summarise(batch, out.pieces)) Lookup::summarise(batch, out);
  }

  [[nodiscard]] const io::TextMemory* text_memory() const override {
    return takes_raw_ ? &text_memory_ : nullptr;
  }

  void answer_raw(const io::Batch& raw, char lowest_quality, backend::RawAnswer& out) const override {
    next_station().answer_raw(raw, lowest_quality, out);
  }

  void cancel() const noexcept override {
    for (const auto& station : stations_) station->cancel();
  }

 private:
  [[nodiscard]] Station& next_station() const {
    return *stations_[turn_.fetch_add(1, std::memory_order_relaxed) % stations_.size()];
  }

  /// Each GPU has `spare` bytes for lanes. A part is for those of raw text, unless that is very little, or
  /// there are counts that their answers cannot have.
  void hold_all(std::uint64_t spare) {
    const std::uint64_t most = std::min(spare / 2 / RawLane::device_bytes(), kMostRawLanes);
    takes_raw_ = most >= kLeastRawLanes && index().totals().largest_count < kLargeCountAnswer;
    const std::uint64_t raw_lanes = takes_raw_ ? most : 0;
    const std::uint64_t lanes = (spare - raw_lanes * RawLane::device_bytes()) / LaneShape{}.device_bytes();
    const auto copies = FrozenPayloads::copies(index(), peers_);
    for (std::uint32_t i = 0; i < peers_.size(); ++i) {
      const CurrentDevice current(peers_.gpu(i));
      add_station(peers_.gpu(i), {}, lanes, load_index(copies[i]), raw_lanes);
    }
  }

  void divide(const RoutedLookupPlan& plan, std::uint64_t allowed) {
    const LaneShape shape{2, plan.slice_starts, true, 0};
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
      add_station(gpu, {1, plan.slice_starts, true, 0}, plan.slices, page_index(index(), plan, pages));
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

  void add_station(int gpu, const LaneShape& shape, std::uint64_t lanes, std::unique_ptr<DeviceIndex> loaded,
                   std::uint64_t raw_lanes = 0) {
    stations_.push_back(std::make_unique<Station>(gpu, shape, lanes, raw_lanes, std::move(loaded),
                                                  index().params().k, lenient_));
  }

  /// More would not make it faster, and of fewer the GPU would often have nothing to do.
  static constexpr std::uint64_t kMostRawLanes = 64, kLeastRawLanes = 4;

  bool lenient_;
  bool sums_up_ = false;    ///< lanes do
  bool takes_raw_ = false;  ///< there are lanes for raw text
  unsigned waiting_ = 0;    ///< callers that wait while others work
  Peers peers_;
  PinnedText text_memory_;
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
