#pragma once
/// The ways of texts between GPUs that hold something together, each a range of shards, which may be an index
/// (kernels/lookup/routed_index.cuh) or a live table. Every GPU cuts its own texts; their k-mers go to the
/// owners of their shards, and answers come back: multisplit, transposition, the owner's work, transposition
/// back, original order (Juenger et al. 2018, section IV-B), with a row of the partition table for each text.
/// So no text waits for others. All GPUs send at once, and stages overlap, because several texts are under
/// way.

#include <cstdint>
#include <memory>
#include <vector>

#include "base/buffer_pool.h"
#include "index/index_file.h"
#include "kernels/exchange/transposition.cuh"
#include "kernels/lookup/device_index.cuh"
#include "kernels/lookup/routed_runs.cuh"
#include "kernels/memory/current_device.cuh"

namespace warpmer::gpu {

/// The index that the GPUs hold together, as parts of texts see it.
class PartOwners {
 public:
  virtual ~PartOwners() = default;

  /// Enqueues the answers to a part, in the order that its runs name. The owner's GPU is current.
  /// Thread-safe.
  virtual void answer(std::uint32_t owner, const RoutedPart& part, std::uint32_t* answers,
                      cudaStream_t stream) const = 0;
};

/// Says where texts go, and what room they have.
struct RoutePlan {
  std::vector<int> gpus;                ///< by owner; one GPU may be several
  std::vector<std::uint16_t> owner_of;  ///< by shard
  index::IndexParams params;            ///< k above kMaxDenseK
  std::uint32_t slice_starts = 0;       ///< the largest number of starts of a text
  std::uint32_t most_runs = 0;       ///< of its runs for an owner; as many as starts suffice for every text
  std::uint32_t routed_batches = 0;  ///< number of texts of each GPU that are under way at a time
  Route route = Route::direct;

  [[nodiscard]] std::uint32_t owners() const { return static_cast<std::uint32_t>(gpus.size()); }
};

/// Returns the memory, on each GPU, of a text that each of so many GPUs has under way.
std::uint64_t routed_batch_bytes(std::uint32_t starts, std::uint32_t gpus, std::uint32_t most_runs);

/// The texts of one GPU that are under way, and memory for them on all GPUs.
class RoutedBatches {
 public:
  RoutedBatches(const RoutePlan& plan, std::uint32_t asker);
  RoutedBatches(const RoutedBatches&) = delete;
  RoutedBatches& operator=(const RoutedBatches&) = delete;
  ~RoutedBatches();

  /// Does what DeviceIndex::look_up does, with any `owners`, while the asker's GPU is current. Waits for the
  /// text to be cut, and returns when all is enqueued. If a text has more runs than there is room for,
  /// answers are kLargeCountAnswer.
  void carry(const PartOwners& owners, const char* text, std::uint32_t bytes, std::uint32_t starts,
             std::uint32_t* answers, CutStatus* status, cudaStream_t stream) const;

 private:
  class RoutedBatch;
  using Pool = BufferPool<OnOneDevice<RoutedBatch>>;

  const RoutePlan plan_;
  const OnOneDevice<DeviceArray<std::uint16_t>> owner_of_;
  /// Taken is the one whose last text is over, or the first that will be.
  std::unique_ptr<Pool> pool_;
};

/// The index that the GPUs hold together, as one of them asks it. Texts have up to the plan's starts.
class RoutedTexts : public DeviceIndex {
 public:
  RoutedTexts(std::shared_ptr<const PartOwners> owners, std::shared_ptr<const RoutedBatches> batches)
      : owners_(std::move(owners)), batches_(std::move(batches)) {}

  void look_up(const char* text, std::uint32_t bytes, std::uint32_t starts, std::uint32_t* answers,
               CutStatus* status, cudaStream_t stream) const override {
    batches_->carry(*owners_, text, bytes, starts, answers, status, stream);
  }

 private:
  const std::shared_ptr<const PartOwners> owners_;
  const std::shared_ptr<const RoutedBatches> batches_;
};

}  // namespace warpmer::gpu
