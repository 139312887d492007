#pragma once
/// The filter of a groups::GroupCounter that a tally is.

#include <cstddef>
#include <cstdint>

#include "backend/tally.h"

namespace warpmer::cpu {

/// Lets a tally see the counts of a shard, and keeps those within bounds: those of the tally, or others; or
/// none.
class TallyFilter {
 public:
  explicit TallyFilter(backend::Tally& tally, bool keeps_none = false) : TallyFilter(tally, tally.bounds()) {
    keeps_none_ = keeps_none;
  }
  TallyFilter(backend::Tally& tally, const backend::CountBounds& kept)
      : tally_(tally), kept_(kept), keeps_all_(kept.contains_all()) {}

  void note(std::uint64_t count, std::uint64_t kmers) {
    tally_.note(count, kmers);
    kmers_ += kmers;
  }
  void note(const std::uint64_t* counts, std::size_t n) {
    tally_.note(counts, n);
    kmers_ += n;
  }
  [[nodiscard]] bool keeps_all() const { return keeps_all_; }
  [[nodiscard]] bool keeps_none() const { return keeps_none_; }
  [[nodiscard]] bool keeps(std::uint64_t count) const { return kept_.contains(count); }
  /// Returns the number of k-mers that it has seen.
  [[nodiscard]] std::uint64_t kmers() const { return kmers_; }

 private:
  backend::Tally& tally_;
  const backend::CountBounds kept_;
  bool keeps_all_;
  bool keeps_none_ = false;
  std::uint64_t kmers_ = 0;
};

}  // namespace warpmer::cpu
