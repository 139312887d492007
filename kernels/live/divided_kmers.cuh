#pragma once
/// The k-mers of a live table in the memory of one GPU or of several, each of which owns a range of shards.

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/exchange/transposition.cuh"
#include "kernels/live/live_kmers.cuh"
#include "kernels/lookup/device_index.cuh"
#include "kernels/memory/current_device.cuh"
#include "kmer/kmer.h"

namespace warpmer::gpu {

template <class Key>
class DividedKmers {
 public:
  /// Takes about so many bytes of each GPU for k-mers; one that is named several times acts as several. Texts
  /// have up to `slice_starts` starts of k-mers.
  DividedKmers(std::vector<int> gpus, backend::LiveScheme scheme, std::uint64_t bytes, KmerParams kmers,
               std::uint32_t slice_starts, Route route = Route::direct);
  DividedKmers(const DividedKmers&) = delete;
  DividedKmers& operator=(const DividedKmers&) = delete;

  /// Returns the bytes that texts on their way between so many GPUs take on each.
  static std::uint64_t routes_bytes(std::uint32_t gpus, std::uint32_t slice_starts);

  [[nodiscard]] const KmerParams& kmers() const { return kmers_; }
  [[nodiscard]] std::uint32_t owners() const { return static_cast<std::uint32_t>(gpus_.size()); }
  [[nodiscard]] const std::vector<int>& gpus() const { return gpus_; }
  [[nodiscard]] const LiveKmers<Key>& of_owner(std::uint32_t owner) const { return **parts_[owner]; }
  /// Returns the owner of a k-mer.
  [[nodiscard]] std::uint32_t owner_of_kmer(Key kmer) const;

  /// Returns an action on texts that are on the `asker`'s GPU, which is current: to be looked up is to be
  /// served. The k-mers may be any owner's.
  [[nodiscard]] const DeviceIndex& texts(std::uint32_t asker, LiveAction action) const {
    return *texts_[asker * kActions + static_cast<std::uint32_t>(action)];
  }

 private:
  static constexpr std::uint32_t kActions = 3;

  void route(std::uint32_t slice_starts, Route route);

  const std::vector<int> gpus_;
  const KmerParams kmers_;
  std::vector<OnOneDevice<std::unique_ptr<LiveKmers<Key>>>> parts_;  ///< by owner
  std::vector<std::unique_ptr<DeviceIndex>> texts_;                  ///< by asker and action
};

extern template class DividedKmers<Key64>;
extern template class DividedKmers<Key128>;

}  // namespace warpmer::gpu
