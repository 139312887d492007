#pragma once
/// The WarpDrive scheme (Juenger, Hundt, Schmidt 2018, section IV): a group of lanes probes a window
/// of adjacent slots at once; windows follow one another by double hashing.
///
/// Keys are k-mer hashes (core/hash.h), so a key's top bits are its home window: windows in order
/// hold keys in order, but for those few that found their home full. That makes putting a shard in
/// canonical order cheap (`harvest` in cpu/kernels_body.h).

#include <cstddef>
#include <cstdint>

#include "core/platform.h"
#include "table/tile.h"

namespace warpmer::table {

/// What became of an insertion.
struct Insertion {
  bool placed;   ///< false: every window of the probe sequence is full, nothing was changed
  bool is_new;   ///< the key was not there before
  bool wrapped;  ///< the 32-bit count passed 2^32; the caller owes the key a carry
};

template <Tile T>
class WarpDrive {
 public:
  using Key = typename T::Key;
  static constexpr int kWindow = T::kWidth;
  static constexpr std::uint32_t kMaxProbes = 64;

  /// `slots`: kWindow * 2^window_bits of them, all empty at first. `key_bits`: keys are below
  /// 2^key_bits, and window_bits <= key_bits.
  WARPMER_HD WarpDrive(Slots<Key> slots, std::uint32_t window_bits, std::uint32_t key_bits)
      : slots_(slots),
        window_bits_(window_bits),
        window_mask_((std::uint32_t{1} << window_bits) - 1),
        home_shift_(key_bits - window_bits) {}

  [[nodiscard]] WARPMER_HD std::size_t windows() const { return std::size_t{1} << window_bits_; }
  [[nodiscard]] WARPMER_HD std::uint32_t home(Key key) const {
    return window_bits_ == 0 ? 0 : static_cast<std::uint32_t>(key >> home_shift_);
  }
  [[nodiscard]] WARPMER_HD Slots<Key> window(std::uint32_t number) const {
    return slots_.at(std::size_t{number} * kWindow);
  }

  /// Adds `n` to the key's count. `key` is not kEmptyKey.
  WARPMER_HD Insertion insert(const T& tile, Key key, std::uint32_t n) const {
    std::uint32_t number = home(key);
    for (std::uint32_t probe = 0; probe < max_probes(); ++probe, number = next(number, key)) {
      const Slots<Key> s = window(number);
      if constexpr (T::kExclusive) {
        const auto bucket = tile.load(s);
        const SlotMask same = tile.match(bucket, key), empty = tile.empty(bucket);
        if ((same | empty) == 0) [[unlikely]]
          continue;
        // Nobody else writes: storing a key over itself is cheaper than guessing a branch.
        const int i = first_slot(same != 0 ? same : empty);
        tile.claim(s, i, key);
        const std::uint32_t before = tile.add(s, i, n);
        return {true, same == 0, before + n < before};
      } else {
        for (;;) {
          const auto bucket = tile.load(s);
          SlotMask same = tile.match(bucket, key);
          const SlotMask empty = tile.empty(bucket);
          if ((same | empty) == 0) break;
          bool is_new = false;
          int i = first_slot(same != 0 ? same : empty);
          if (same == 0) {
            const Claim claim = tile.claim(s, i, key);
            if (claim == Claim::lost) continue;  // look at the window again: the key may have come
            is_new = claim == Claim::won;
          }
          const std::uint32_t before = tile.add(s, i, n);
          return {true, is_new, before + n < before};
        }
      }
    }
    return {false, false, false};
  }

  /// The slot that holds the key, or -1.
  [[nodiscard]] WARPMER_HD std::ptrdiff_t find(const T& tile, Key key) const {
    std::uint32_t number = home(key);
    for (std::uint32_t probe = 0; probe < max_probes(); ++probe, number = next(number, key)) {
      const auto bucket = tile.load(window(number));
      const SlotMask same = tile.match(bucket, key);
      if (same != 0) return static_cast<std::ptrdiff_t>(number) * kWindow + first_slot(same);
      if (tile.empty(bucket) != 0) return -1;  // an insertion would have stopped here
    }
    return -1;
  }

 private:
  [[nodiscard]] WARPMER_HD std::uint32_t max_probes() const {
    return window_mask_ < kMaxProbes ? window_mask_ + 1 : kMaxProbes;
  }
  /// Double hashing: an odd step, from bits that do not choose the home, visits every window.
  [[nodiscard]] WARPMER_HD std::uint32_t next(std::uint32_t number, Key key) const {
    return (number + (static_cast<std::uint32_t>(key) | 1u)) & window_mask_;
  }

  Slots<Key> slots_;
  std::uint32_t window_bits_;
  std::uint32_t window_mask_;
  std::uint32_t home_shift_;
};

}  // namespace warpmer::table
