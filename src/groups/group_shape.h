#pragma once
/// Groups of k-mers that share their minimizer: the numbers that follow from k.

#include <cstdint>

#include "kmer/kmer.h"
#include "kmer/minimizer.h"
#include "kmer/platform.h"

namespace warpmer::groups {

/// The numbers that k, 13 to 64, fixes. n = k - m bases of a k-mer lie beside its minimizer.
struct GroupShape {
  std::uint32_t k, m;

  WARPMER_HD explicit constexpr GroupShape(std::uint32_t k_bases)
      : k(k_bases), m(minimizer_length(k_bases)) {}

  /// Returns n: the bases of both flanks of a k-mer. Layers are 0 to n.
  WARPMER_HD constexpr std::uint32_t flank_bases() const { return k - m; }
  /// Returns the bits of a group's id: its minimizer, mixed.
  WARPMER_HD constexpr std::uint32_t id_bits() const { return 2 * m; }
  /// Returns the bits of an id that are not the shard's number.
  WARPMER_HD constexpr std::uint32_t rest_bits() const { return id_bits() - kShardBits; }
  /// Return the shard of a group, and its id below the shard's number.
  WARPMER_HD constexpr std::uint32_t shard_of(std::uint32_t id) const { return id >> rest_bits(); }
  WARPMER_HD constexpr std::uint32_t rest_of(std::uint32_t id) const {
    return id & ((1u << rest_bits()) - 1);
  }
};

/// Up to this k both flanks of a k-mer fit one 64-bit word.
inline constexpr std::uint32_t kMaxNarrowFlanksK = 47;

/// Calls `f` with a value of the type that flanks need, 64 or 128 bits.
template <class F>
inline auto with_flanks_type(std::uint32_t k, F&& f) {
  return k <= kMaxNarrowFlanksK ? f(Key64{}) : f(Key128{});
}

}  // namespace warpmer::groups
