#pragma once
/// SlabAlloc (Ashkiani, Farach-Colton, Owens 2018, section V): hands out units of 128 bytes to tiles, one at
/// a time, on the device that asks. Super blocks are divided into memory blocks of 1024 units; a block has a
/// bitmap of 32 words, a set bit for each unit that is taken. A tile has a **resident** block, chosen by a
/// hash, and remembers one word of its bitmap: a unit costs one compare and swap as long as no other tile
/// changes that word. When the block is full another hash chooses another one.
///
/// A unit's address has 32 bits: 8 of super block, 14 of memory block, 10 of unit. From there to memory leads
/// what the paper calls light: `ContiguousUnits`, one array, in which an address is a number. Its other way,
/// through a table of super blocks, is measured beside it (bench/tables/super_blocks.h).
///
/// Any number of tiles allocate and free side by side. A unit is handed out to one of them. Out of units is
/// an answer (kNoSlab), which comes only after every block has been looked at and found full; until something
/// is freed it then comes at once.

#include <cstddef>
#include <cstdint>

#include "kmer/kmer.h"
#include "kmer/platform.h"
#include "table/hash_family.h"
#include "table/tile.h"

namespace warpmer::table {

using SlabAddress = std::uint32_t;
/// No unit has it: all ones, so that an empty slot of a tile of words holds it.
inline constexpr SlabAddress kNoSlab = kEmptyKey<std::uint32_t>;

inline constexpr std::uint32_t kSlabBytes = 128;
inline constexpr std::uint32_t kUnitBits = 10;  ///< bits of an address, lowest
inline constexpr std::uint32_t kUnitsPerBlock = 1u << kUnitBits;
inline constexpr std::uint32_t kBitmapWords = kUnitsPerBlock / 32;  ///< words of a block's bitmap

/// Returns the number of memory blocks that so many units need; the last one may be cut short.
[[nodiscard]] WARPMER_HD constexpr std::uint32_t slab_blocks_for(std::uint64_t units) {
  return static_cast<std::uint32_t>((units + kUnitsPerBlock - 1) / kUnitsPerBlock);
}
/// Returns word `word` of the bitmaps of an array of `units` units, none of which is taken. Bits that stand
/// for no unit are set.
[[nodiscard]] WARPMER_HD constexpr std::uint32_t bitmap_at_first(std::uint64_t units, std::size_t word) {
  const std::uint64_t before = std::uint64_t{word} * 32;
  if (before >= units) return ~0u;
  return units - before >= 32 ? 0 : ~0u << (units - before);
}

/// Units in one array: SlabAlloc-light.
template <class UnitType>
class ContiguousUnits {
 public:
  using Unit = UnitType;
  static_assert(sizeof(Unit) == kSlabBytes);

  /// `bitmaps`: kBitmapWords words for each of slab_blocks_for(units) blocks, as `bitmap_at_first` says;
  /// units fewer than 255 * 2^24.
  WARPMER_HD ContiguousUnits(std::uint32_t* bitmaps, Unit* units, std::uint64_t size)
      : bitmaps_(bitmaps), units_(units), blocks_(slab_blocks_for(size)) {}

  [[nodiscard]] WARPMER_HD Unit* at(SlabAddress address) const { return units_ + address; }
  /// The upper 22 bits of an address name a block.
  [[nodiscard]] WARPMER_HD std::uint32_t* bitmap(std::uint32_t block) const {
    return bitmaps_ + std::size_t{block} * kBitmapWords;
  }
  [[nodiscard]] WARPMER_HD std::uint32_t blocks() const { return blocks_; }
  /// Returns the name of the block with a number below `blocks()`.
  [[nodiscard]] WARPMER_HD std::uint32_t block(std::uint32_t number) const { return number; }
  /// Returns a block for a mix of bits: `super_hash` chooses the super block, `block_hash` the block in it.
  template <class Words>
  [[nodiscard]] WARPMER_HD std::uint32_t choose(const Words& /*words*/, std::uint32_t /*super_hash*/,
                                                std::uint32_t block_hash) const {
    return scale(block_hash, blocks_);
  }
  /// Lets the hashes choose from more super blocks.
  template <class Words>
  WARPMER_HD void widen(const Words& /*words*/) const {}

 private:
  std::uint32_t* bitmaps_;
  Unit* units_;
  std::uint32_t blocks_;
};

/// The state that a tile keeps between its allocations.
struct ResidentBlock {
  std::uint32_t worker;        ///< the tile's number among all
  std::uint32_t changes = 0;   ///< changes of resident blocks, so far
  std::uint32_t block = 0;     ///< its name
  std::uint32_t word = 0;      ///< number of the word in the block's bitmap
  std::uint32_t bitmap = ~0u;  ///< that word when it was last seen
};

/// The state of an allocator that tiles share: words that are 0 at first.
struct SlabAllocState {
  std::uint32_t freed;  ///< number of units that have been given back, modulo 2^32
  std::uint32_t full;   ///< 1 more than `freed` was when a search that found nothing began; 0: none has
};

/// Lets others see what is written before it, before they may see what is written after.
WARPMER_HD void fence() {
#if defined(__CUDA_ARCH__)
  __threadfence();
#endif  // host tiles order what they do themselves
}

template <class UnitsType>
class SlabAlloc {
 public:
  using Units = UnitsType;
  using Unit = typename Units::Unit;

  /// `state`: shared, as the units are.
  WARPMER_HD SlabAlloc(Units units, SlabAllocState* state) : units_(units), state_(state) {}

  [[nodiscard]] WARPMER_HD Unit* at(SlabAddress address) const { return units_.at(address); }

  /// Returns the state that a tile begins with; tiles with different numbers get in each other's way least.
  template <SlabTile Words>
  [[nodiscard]] WARPMER_HD ResidentBlock resident(const Words& words, std::uint32_t worker) const {
    ResidentBlock mine{.worker = worker};
    if (units_.blocks() > 0) mine.block = hashed_block(words, mine);
    return mine;
  }

  /// Returns a unit that no tile has, or kNoSlab. `words`: the tile of words of the tile that asks.
  template <SlabTile Words>
  [[nodiscard]] WARPMER_HD SlabAddress allocate(const Words& words, ResidentBlock& mine) const {
    static_assert(Words::kWidth == kBitmapWords);
    const std::uint32_t blocks = units_.blocks();
    if (blocks == 0) return kNoSlab;
    SlabAddress address = take(words, mine);
    if (address != kNoSlab) return address;
    const std::uint32_t freed = words.count(as_counts(&state_->freed), 0);
    if (words.count(as_counts(&state_->full), 0) == freed + 1) return kNoSlab;
    fence();  // what is freed from here on is counted as later than that
    for (std::uint32_t i = 1; address == kNoSlab && i <= kHashedTries; ++i) {
      if (i % kTriesBeforeWidening == 0) units_.widen(words);
      mine.changes += 1;
      move(mine, hashed_block(words, mine));
      address = take(words, mine);
    }
    // Nearly everything is taken: look everywhere, each tile from another block.
    for (std::uint32_t i = 0; address == kNoSlab && i < blocks; ++i) {
      move(mine, units_.block((mine.worker + i) % blocks));
      address = take(words, mine);
    }
    if (address == kNoSlab) words.exchange_key(as_slots(&state_->full), 0, freed + 1);
    return address;
  }

  /// Gives a unit back that was handed out.
  template <SlabTile Words>
  WARPMER_HD void free(const Words& words, SlabAddress address) const {
    const std::uint32_t unit = address % kUnitsPerBlock;
    // The bit is set, so that taking it away takes nothing else; unlike compare and swap it never fails.
    words.add(as_counts(units_.bitmap(address >> kUnitBits) + unit / 32), 0, 0u - (1u << unit % 32));
    // In this order: a tile that reads the number and then finds no unit has looked before it was free, or
    // sees here that another one is.
    fence();
    words.add(as_counts(&state_->freed), 0, 1);
  }

 private:
  static constexpr std::uint32_t kHashedTries = 16;
  static constexpr std::uint32_t kTriesBeforeWidening = 4;

  template <class Words>
  [[nodiscard]] WARPMER_HD std::uint32_t hashed_block(const Words& words, const ResidentBlock& mine) const {
    using Family = HashFamily<Key64>;
    const std::uint64_t mixed = Family(0x51AB).mix((std::uint64_t{mine.worker} << 32) | mine.changes);
    return units_.choose(words, Family::hash(mixed, 0), Family::hash(mixed, 1));
  }

  WARPMER_HD static void move(ResidentBlock& mine, std::uint32_t block) {
    mine.block = block;
    mine.bitmap = ~0u;
  }

  /// Takes a unit of the resident block, or kNoSlab when it is full.
  template <class Words>
  [[nodiscard]] WARPMER_HD SlabAddress take(const Words& words, ResidentBlock& mine) const {
    const Slots<PlainWord> bitmap = as_slots(units_.bitmap(mine.block));
    // A tile that owns the table does not compare when it swaps, and may have freed units meanwhile.
    if constexpr (Words::kExclusive)
      mine.bitmap = words.count(as_counts(units_.bitmap(mine.block)), static_cast<int>(mine.word));
    while (mine.bitmap != ~0u || look(words, mine)) {
      const int bit = first_slot(~mine.bitmap);
      const std::uint32_t with_it = mine.bitmap | (1u << bit);
      const Claim claim = words.claim(bitmap, static_cast<int>(mine.word), with_it, mine.bitmap);
      // Lost, or another tile has set the same bit: what the word is now has to be looked up.
      mine.bitmap = claim == Claim::won ? with_it : ~0u;
      if (claim == Claim::won)
        return (mine.block << kUnitBits) | (mine.word * 32 + static_cast<std::uint32_t>(bit));
    }
    return kNoSlab;
  }

  /// Reads the whole bitmap and remembers a word that has a free unit; false: none has.
  template <class Words>
  WARPMER_HD bool look(const Words& words, ResidentBlock& mine) const {
    const auto bitmap = words.load(as_slots(units_.bitmap(mine.block)));
    const SlotMask with_room = ~words.empty(bitmap);
    if (with_room == 0) return false;
    // Tiles with the same block begin at different words.
    const std::uint32_t first = mine.worker % 32;
    const SlotMask rotated = (with_room >> first) | (with_room << (32 - first) % 32);
    mine.word = (static_cast<std::uint32_t>(first_slot(rotated)) + first) % 32;
    mine.bitmap = words.key_in(bitmap, static_cast<int>(mine.word));
    return true;
  }

  Units units_;
  SlabAllocState* state_;
};

}  // namespace warpmer::table
