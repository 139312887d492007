#pragma once
/// SlabAlloc as its paper has it (Ashkiani, Farach-Colton, Owens 2018, section V), beside the light one that
/// the program uses (table/slab_alloc.h).

#include <cstddef>
#include <cstdint>

#include "kmer/platform.h"
#include "table/hash_family.h"
#include "table/slab_alloc.h"
#include "table/tile.h"

namespace warpmer::bench {

/// Bits of an address that name a block, above those of the unit; 8 bits of super block are above these.
inline constexpr std::uint32_t kBlockBits = 14;
inline constexpr std::uint32_t kBlocksPerSuperBlock = 1u << kBlockBits;  ///< at most
inline constexpr std::uint32_t kMostSuperBlocks = 255;                   ///< the 256th would have kNoSlab

/// Units in several arrays of equal size. Those that are not in use yet stay untouched while the others do.
template <class UnitType>
class SuperBlocks {
 public:
  using Unit = UnitType;
  static_assert(sizeof(Unit) == table::kSlabBytes);
  struct SuperBlock {
    std::uint32_t* bitmaps;
    Unit* units;
  };

  /// `super_blocks`: `size` of them, 1 to kMostSuperBlocks, each with `blocks` blocks, 1 to
  /// kBlocksPerSuperBlock. `in_use`: a word for all tiles, how many of them hashes choose from, at least 1.
  WARPMER_HD SuperBlocks(const SuperBlock* super_blocks, std::uint32_t size, std::uint32_t blocks,
                         std::uint32_t* in_use)
      : super_blocks_(super_blocks), size_(size), blocks_(blocks), in_use_(in_use) {}

  [[nodiscard]] WARPMER_HD Unit* at(table::SlabAddress address) const {
    constexpr std::uint32_t kInside = (1u << (kBlockBits + table::kUnitBits)) - 1;
    return super_blocks_[address >> (kBlockBits + table::kUnitBits)].units + (address & kInside);
  }
  [[nodiscard]] WARPMER_HD std::uint32_t* bitmap(std::uint32_t block) const {
    constexpr std::uint32_t kInside = kBlocksPerSuperBlock - 1;
    return super_blocks_[block >> kBlockBits].bitmaps + std::size_t{block & kInside} * table::kBitmapWords;
  }
  [[nodiscard]] WARPMER_HD std::uint32_t blocks() const { return size_ * blocks_; }
  [[nodiscard]] WARPMER_HD std::uint32_t block(std::uint32_t number) const {
    return (number / blocks_ << kBlockBits) | number % blocks_;
  }
  template <class Words>
  [[nodiscard]] WARPMER_HD std::uint32_t choose(const Words& words, std::uint32_t super_hash,
                                                std::uint32_t block_hash) const {
    const std::uint32_t in_use = words.count(table::as_counts(in_use_), 0);
    return (table::scale(super_hash, in_use) << kBlockBits) | table::scale(block_hash, blocks_);
  }
  template <class Words>
  WARPMER_HD void widen(const Words& words) const {
    const std::uint32_t in_use = words.count(table::as_counts(in_use_), 0);
    if (in_use < size_) words.claim(table::as_slots(in_use_), 0, in_use + 1, in_use);
  }

 private:
  const SuperBlock* super_blocks_;
  std::uint32_t size_;
  std::uint32_t blocks_;
  std::uint32_t* in_use_;
};

}  // namespace warpmer::bench
