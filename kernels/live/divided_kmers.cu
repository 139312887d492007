#include <utility>

#include "backend/index_params.h"
#include "kernels/live/divided_kmers.cuh"
#include "kernels/lookup/routed_batch.cuh"
#include "kmer/minimizer.h"
#include "kmer/ownership.h"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kShards = 1u << kShardBits;
constexpr std::uint32_t kLiveRoutedBatches = 6;
constexpr LiveAction kAllActions[] = {LiveAction::insert, LiveAction::remove, LiveAction::ask};

/// An action on texts of the only GPU.
template <class Key>
class LiveTexts : public DeviceIndex {
 public:
  LiveTexts(const LiveKmers<Key>& kmers, LiveAction action) : kmers_(kmers), action_(action) {}

  void look_up(const char* text, std::uint32_t bytes, std::uint32_t starts, std::uint32_t* answers,
               CutStatus* status, cudaStream_t stream) const override {
    kmers_.serve_text(action_, text, bytes, starts, answers, status, stream);
  }

 private:
  const LiveKmers<Key>& kmers_;
  const LiveAction action_;
};

/// An action on parts of texts, at their owners.
template <class Key>
class LiveParts : public PartOwners {
 public:
  LiveParts(const DividedKmers<Key>& divided, LiveAction action) : divided_(divided), action_(action) {}

  void answer(std::uint32_t owner, const RoutedPart& part, std::uint32_t* answers,
              cudaStream_t stream) const override {
    divided_.of_owner(owner).serve_part(action_, part, answers, stream);
  }

 private:
  const DividedKmers<Key>& divided_;
  const LiveAction action_;
};

}  // namespace

template <class Key>
DividedKmers<Key>::DividedKmers(std::vector<int> gpus, backend::LiveScheme scheme, std::uint64_t bytes,
                                KmerParams kmers, std::uint32_t slice_starts, Route way)
    : gpus_(std::move(gpus)), kmers_(kmers) {
  for (const int gpu : gpus_) {
    const CurrentDevice current(gpu);
    parts_.emplace_back(gpu, make_live_kmers<Key>(scheme, bytes, kmers));
  }
  if (owners() > 1) {
    route(slice_starts, way);
  } else {
    for (const LiveAction action : kAllActions)
      texts_.push_back(std::make_unique<LiveTexts<Key>>(of_owner(0), action));
  }
}

template <class Key>
void DividedKmers<Key>::route(std::uint32_t slice_starts, Route way) {
  RoutePlan plan{.gpus = gpus_,
                 .owner_of = {},
                 .params = backend::params_for(kmers_.k, kmers_.canonical),
                 .slice_starts = slice_starts,
                 .most_runs = slice_starts,  // a change is made of all k-mers of a text
                 .routed_batches = kLiveRoutedBatches,
                 .route = way};
  for (std::uint32_t shard = 0; shard < kShards; ++shard)
    plan.owner_of.push_back(static_cast<std::uint16_t>(owner_of(shard, owners(), kShards)));
  for (std::uint32_t asker = 0; asker < owners(); ++asker) {
    const auto batches = std::make_shared<const RoutedBatches>(plan, asker);
    for (const LiveAction action : kAllActions) {
      texts_.push_back(
          std::make_unique<RoutedTexts>(std::make_shared<const LiveParts<Key>>(*this, action), batches));
    }
  }
}

template <class Key>
std::uint64_t DividedKmers<Key>::routes_bytes(std::uint32_t gpus, std::uint32_t slice_starts) {
  return gpus == 1 ? 0 : kLiveRoutedBatches * routed_batch_bytes(slice_starts, gpus, slice_starts);
}

template <class Key>
std::uint32_t DividedKmers<Key>::owner_of_kmer(Key kmer) const {
  if (owners() == 1) return 0;
  return owner_of(shard_of_kmer(kmer, kmers_.k, kmers_.canonical, kShardBits), owners(), kShards);
}

template class DividedKmers<Key64>;
template class DividedKmers<Key128>;

}  // namespace warpmer::gpu
