#pragma once
/// Shows how evenly work is divided: what each owner of shards has got. One per thread, merged at the end.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kmer/ownership.h"

namespace warpmer::backend {

struct OwnerLoad {
  std::uint64_t super_kmers = 0;
  std::uint64_t distinct_kmers = 0;  ///< before any filter on counts
};

class OwnerLoads {
 public:
  OwnerLoads(std::uint32_t owners, std::uint32_t shards) : shards_(shards), loads_(owners) {}

  void note_super_kmers(std::uint32_t owner, std::uint64_t number) { loads_[owner].super_kmers += number; }
  void note_shard(std::uint32_t shard, std::uint64_t distinct_kmers) {
    loads_[owner(shard)].distinct_kmers += distinct_kmers;
  }
  /// Returns the owner of one of the shards, numbered from 0.
  [[nodiscard]] std::uint32_t owner(std::uint32_t shard) const {
    return owner_of(shard, static_cast<std::uint32_t>(loads_.size()), shards_);
  }
  void merge(const OwnerLoads& other) {
    for (std::size_t owner = 0; owner < loads_.size(); ++owner) {
      loads_[owner].super_kmers += other.loads_[owner].super_kmers;
      loads_[owner].distinct_kmers += other.loads_[owner].distinct_kmers;
    }
  }

  /// Returns the loads by owner.
  [[nodiscard]] const std::vector<OwnerLoad>& loads() const { return loads_; }

 private:
  std::uint32_t shards_;
  std::vector<OwnerLoad> loads_;
};

}  // namespace warpmer::backend
