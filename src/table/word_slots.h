#pragma once
/// Slots of one 64-bit word: a 32-bit key and a 32-bit count (or value), as in the experiments of Juenger et
/// al. 2018, Ashkiani et al. 2018 and Awad et al. 2023. One instruction claims a slot for a key with its
/// count, moves both, or reads both.

#include <cstddef>
#include <cstdint>

#include "kmer/platform.h"
#include "table/tile.h"

namespace warpmer::table {

using Key32 = std::uint32_t;

/// The count is in the high half: adding to it can only lose its own carry.
[[nodiscard]] WARPMER_HD constexpr std::uint64_t word_of(Slot<Key32> slot) {
  return (std::uint64_t{slot.count} << 32) | slot.key;
}
[[nodiscard]] WARPMER_HD constexpr Key32 key_of(std::uint64_t word) { return static_cast<Key32>(word); }
[[nodiscard]] WARPMER_HD constexpr std::uint32_t count_of(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 32);
}

/// The word of a slot that nothing was ever put into.
inline constexpr std::uint64_t kEmptyWord = word_of({kEmptyKey<Key32>, 0});

template <>
struct Slots<Key32> {
  using Key = Key32;
  static constexpr bool kOneWord = true;
  static constexpr std::size_t kBytes = sizeof(std::uint64_t);

  std::uint64_t* words;

  /// `size` slots in memory of size * kBytes bytes, aligned for words.
  WARPMER_HD static Slots in(void* memory, std::size_t /*size*/) {
    return {static_cast<std::uint64_t*>(memory)};
  }
  WARPMER_HD Slots at(std::size_t slot) const { return {words + slot}; }
  template <int Width>
  WARPMER_HD Slots group(std::uint32_t number) const {
    return at(std::size_t{number} * Width);
  }
  // While no other tile writes to the slot.
  [[nodiscard]] WARPMER_HD Slot<Key> read(std::size_t slot) const {
    return {key_of(words[slot]), count_of(words[slot])};
  }
  WARPMER_HD void write(std::size_t slot, Slot<Key> in) const { words[slot] = word_of(in); }
};

/// Returns the outcome of a claim that met `found` where it expected `over`.
[[nodiscard]] WARPMER_HD constexpr Claim claim_result(Key32 found, Key32 over, Key32 key) {
  return found == over ? Claim::won : found == key ? Claim::same_key : Claim::lost;
}

/// Claims by a compare and swap of whole words: `swap(expected, desired)` returns what it met. The count
/// stays. Slots that are claimed have a count of 0 as a rule, so that is tried first, and nothing is read.
template <class CompareAndSwap>
WARPMER_HD Claim claim_word(Key32 key, Key32 over, CompareAndSwap&& swap) {
  for (std::uint64_t expected = word_of({over, 0});;) {
    const std::uint64_t found = swap(expected, word_of({key, count_of(expected)}));
    if (found == expected) return Claim::won;
    if (key_of(found) != over) return claim_result(key_of(found), over, key);
    expected = found;
  }
}

}  // namespace warpmer::table
