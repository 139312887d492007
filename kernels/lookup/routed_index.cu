#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/lookup/routed_batch.cuh"
#include "kernels/lookup/routed_index.cuh"
#include "kernels/lookup/shard_runs.cuh"
#include "kernels/memory/current_device.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kMostRoutedBatches = 8;
constexpr std::uint32_t kEnoughRoutedBatches = 4;  ///< that texts are made smaller for
constexpr std::uint32_t kLeastRoutedStarts = 16 * kTileStarts;
static_assert(kMostSliceStarts <= kMostRoutedStarts);
constexpr std::uint64_t kArrays = 4;  ///< number of arrays of a GPU's side

/// The index that all GPUs hold together.
class DividedIndex : public PartOwners {
 public:
  explicit DividedIndex(const std::shared_ptr<const FrozenPayloads>& payloads) : params_(payloads->params()) {
    for (const int gpu : payloads->gpus()) sides_.emplace_back(gpu, payloads);
  }

  void answer(std::uint32_t owner, const RoutedPart& part, std::uint32_t* answers,
              cudaStream_t stream) const override {
    answer_part(part, params_, sides_[owner]->there(), answers, stream);
  }

 private:
  const index::IndexParams params_;
  std::vector<OnOneDevice<FrozenShards>> sides_;  ///< by owner
};

/// On a GPU, whatever is under way.
std::uint64_t bytes_held(const index::IndexFile& index, std::uint32_t gpus) {
  return frozen_shards_bytes(index, gpus) + index.params().shards() * sizeof(std::uint16_t) +
         kArrays * kArrayRounding;
}

}  // namespace

std::uint64_t least_routed_memory(const index::IndexFile& index, std::uint32_t gpus) {
  return bytes_held(index, gpus) +
         2 * routed_batch_bytes(kLeastRoutedStarts, gpus,
                                TextRuns::most_runs(kLeastRoutedStarts, index.params()));
}

RoutedLookupPlan plan_routed_lookup(const index::IndexFile& index, std::uint32_t gpus,
                                    std::uint64_t memory_bytes) {
  RoutedLookupPlan plan;
  if (memory_bytes < least_routed_memory(index, gpus)) return plan;
  const std::uint64_t held = bytes_held(index, gpus), room = (memory_bytes - held) / 2;
  const auto batch_bytes = [&](std::uint32_t starts) {
    return routed_batch_bytes(starts, gpus, TextRuns::most_runs(starts, index.params()));
  };
  plan.slice_starts = kMostSliceStarts;
  while (plan.slice_starts > kLeastRoutedStarts &&
         batch_bytes(plan.slice_starts) * kEnoughRoutedBatches > room)
    plan.slice_starts /= 2;
  const std::uint64_t routed_batch = batch_bytes(plan.slice_starts);
  plan.routed_batches =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(room / routed_batch, kMostRoutedBatches));
  plan.bytes = held + plan.routed_batches * routed_batch;
  return plan;
}

std::vector<std::unique_ptr<DeviceIndex>> route_index(const std::shared_ptr<const FrozenPayloads>& payloads,
                                                      const RoutedLookupPlan& plan, Route route) {
  RoutePlan routes{.gpus = payloads->gpus(),
                   .owner_of = {},
                   .params = payloads->params(),
                   .slice_starts = plan.slice_starts,
                   .most_runs = TextRuns::most_runs(plan.slice_starts, payloads->params()),
                   .routed_batches = plan.routed_batches,
                   .route = route};
  for (std::uint32_t shard = 0; shard < routes.params.shards(); ++shard)
    routes.owner_of.push_back(static_cast<std::uint16_t>(payloads->owner_of(shard)));
  const auto divided = std::make_shared<const DividedIndex>(payloads);
  std::vector<std::unique_ptr<DeviceIndex>> asked;
  for (std::uint32_t asker = 0; asker < routes.owners(); ++asker) {
    asked.push_back(
        std::make_unique<RoutedTexts>(divided, std::make_shared<const RoutedBatches>(routes, asker)));
  }
  return asked;
}

}  // namespace warpmer::gpu
