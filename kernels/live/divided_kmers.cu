#include <utility>

#include "backend/index_params.h"
#include "kernels/live/divided_slabs.cuh"
#include "kernels/lookup/routed_batch.cuh"
#include "kmer/minimizer.h"
#include "kmer/ownership.h"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kShards = 1u << kShardBits;
constexpr std::uint32_t kSlabRoutedBatches = 6;
constexpr SlabAction kAllActions[] = {SlabAction::insert, SlabAction::remove, SlabAction::ask};

/// An action on texts of the only GPU.
template <class Key>
class SlabTexts : public DeviceIndex {
 public:
  SlabTexts(const LiveSlabs<Key>& slabs, SlabAction action) : slabs_(slabs), action_(action) {}

  void look_up(const char* text, std::uint32_t bytes, std::uint32_t starts, std::uint32_t* answers,
               CutStatus* status, cudaStream_t stream) const override {
    slabs_.serve_text(action_, text, bytes, starts, answers, status, stream);
  }

 private:
  const LiveSlabs<Key>& slabs_;
  const SlabAction action_;
};

/// An action on parts of texts, at their owners.
template <class Key>
class SlabParts : public PartOwners {
 public:
  SlabParts(const DividedSlabs<Key>& divided, SlabAction action) : divided_(divided), action_(action) {}

  void answer(std::uint32_t owner, const RoutedPart& part, std::uint32_t* answers,
              cudaStream_t stream) const override {
    divided_.slabs(owner).serve_part(action_, part, answers, stream);
  }

 private:
  const DividedSlabs<Key>& divided_;
  const SlabAction action_;
};

}  // namespace

template <class Key>
DividedSlabs<Key>::DividedSlabs(std::vector<int> gpus, std::uint64_t bytes, KmerParams kmers,
                                std::uint32_t slice_starts, Route way)
    : gpus_(std::move(gpus)), kmers_(kmers) {
  for (const int gpu : gpus_) slabs_.emplace_back(gpu, bytes, kmers);
  if (owners() > 1) {
    route(slice_starts, way);
  } else {
    for (const SlabAction action : kAllActions)
      texts_.push_back(std::make_unique<SlabTexts<Key>>(slabs(0), action));
  }
}

template <class Key>
void DividedSlabs<Key>::route(std::uint32_t slice_starts, Route way) {
  RoutePlan plan{.gpus = gpus_,
                 .owner_of = {},
                 .params = backend::params_for(kmers_.k, kmers_.canonical),
                 .slice_starts = slice_starts,
                 .most_runs = slice_starts,  // a change is made of all k-mers of a text
                 .routed_batches = kSlabRoutedBatches,
                 .route = way};
  for (std::uint32_t shard = 0; shard < kShards; ++shard)
    plan.owner_of.push_back(static_cast<std::uint16_t>(owner_of(shard, owners(), kShards)));
  for (std::uint32_t asker = 0; asker < owners(); ++asker) {
    const auto batches = std::make_shared<const RoutedBatches>(plan, asker);
    for (const SlabAction action : kAllActions) {
      texts_.push_back(
          std::make_unique<RoutedTexts>(std::make_shared<const SlabParts<Key>>(*this, action), batches));
    }
  }
}

template <class Key>
std::uint64_t DividedSlabs<Key>::routes_bytes(std::uint32_t gpus, std::uint32_t slice_starts) {
  return gpus == 1 ? 0 : kSlabRoutedBatches * routed_batch_bytes(slice_starts, gpus, slice_starts);
}

template <class Key>
std::uint32_t DividedSlabs<Key>::owner_of_kmer(Key kmer) const {
  if (owners() == 1) return 0;
  return owner_of(shard_of_kmer(kmer, kmers_.k, kmers_.canonical, kShardBits), owners(), kShards);
}

template class DividedSlabs<Key64>;
template class DividedSlabs<Key128>;

}  // namespace warpmer::gpu
