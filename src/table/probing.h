#pragma once
/// The order in which the WarpDrive scheme visits a table. Positions are numbers of **groups**: kWidth
/// adjacent slots that a tile looks at together, group 0 at the table's start. Where nothing else is said,
/// sequences visit every group once before they come again to any.

#include <concepts>
#include <cstdint>

#include "kmer/platform.h"
#include "table/bucket_choice.h"
#include "table/hash_family.h"
#include "table/tile.h"

namespace warpmer::table {

/// A window is one group, and a key's home is its top bits. For keys that are hashes already (kmer/hash.h):
/// windows in order hold keys in order, but for those few that found their home full.
template <Tile T>
class OrderedWindows {
 public:
  using Key = typename T::Key;
  static constexpr std::uint32_t kMaxProbes = 64;

  /// 2^window_bits windows, window_bits <= key_bits; keys are below 2^key_bits.
  WARPMER_HD OrderedWindows(std::uint32_t window_bits, std::uint32_t key_bits)
      : window_bits_(window_bits),
        window_mask_((std::uint32_t{1} << window_bits) - 1),
        home_shift_(key_bits - window_bits) {}

  [[nodiscard]] WARPMER_HD std::size_t groups() const { return std::size_t{1} << window_bits_; }
  [[nodiscard]] WARPMER_HD std::uint32_t home(Key key) const {
    return window_bits_ == 0 ? 0 : static_cast<std::uint32_t>(key >> home_shift_);
  }
  /// Returns the number of groups that an operation visits before it gives up.
  [[nodiscard]] WARPMER_HD std::uint32_t max_probes() const {
    return window_mask_ < kMaxProbes ? window_mask_ + 1 : kMaxProbes;
  }
  /// Returns the group after group `number`, when so many have been visited. Double hashing: an odd step,
  /// from bits that do not choose the home, visits every window.
  [[nodiscard]] WARPMER_HD std::uint32_t next(std::uint32_t number, Key key,
                                              std::uint32_t /*visited*/) const {
    return (number + (static_cast<std::uint32_t>(key) | 1u)) & window_mask_;
  }

 private:
  std::uint32_t window_bits_;
  std::uint32_t window_mask_;
  std::uint32_t home_shift_;
};

/// Returns the smallest number of at least `least` that WarpDrive's windows may have: a prime number.
inline std::uint32_t windows_from(std::uint64_t least) {
  const auto is_prime = [](std::uint64_t n) {
    if (n < 4) return n > 1;
    if (n % 2 == 0) return false;
    for (std::uint64_t d = 3; d * d <= n; d += 2) {
      if (n % d == 0) return false;
    }
    return true;
  };
  while (!is_prime(least)) ++least;
  return static_cast<std::uint32_t>(least);
}

/// The paper's sequence (Juenger et al. 2018, section IV-A, Fig. 3): windows of 32 slots, walked from front
/// to back by groups of any width, one window after another by double hashing. Which slots a key may
/// take, and in which order, does not depend on the width: a table built by one tile is read by
/// another. Any keys, and another seed is another sequence. Windows start at multiples of their slots (the
/// paper's anywhere), so that every group lies in as few sectors as it can. Windows may be smaller than the
/// paper's: a window of as many slots as a tile looks at is double hashing between buckets.
template <Tile T, int WindowSlots = 32>
class HashedWindows {
 public:
  using Key = typename T::Key;
  static constexpr std::uint32_t kWindowSlots = WindowSlots;
  static constexpr std::uint32_t kGroups = kWindowSlots / T::kWidth;  ///< in a window
  static_assert(kWindowSlots % T::kWidth == 0);

  /// `windows` of them, a power of two or a prime number: then every step between them leads to all of them.
  /// `max_windows`: the paper's p_max, at least 1; visiting a window again is never tried.
  WARPMER_HD HashedWindows(std::uint32_t windows, std::uint32_t seed, std::uint32_t max_windows)
      : windows_(windows), max_windows_(windows < max_windows ? windows : max_windows), family_(seed) {}

  [[nodiscard]] WARPMER_HD std::size_t groups() const { return std::size_t{windows_} * kGroups; }
  [[nodiscard]] WARPMER_HD std::uint32_t home(Key key) const {
    return scale(HashFamily<Key>::hash(family_.mix(key), 0), windows_) * kGroups;
  }
  [[nodiscard]] WARPMER_HD std::uint32_t max_probes() const { return max_windows_ * kGroups; }
  [[nodiscard]] WARPMER_HD std::uint32_t next(std::uint32_t number, Key key, std::uint32_t visited) const {
    if (visited % kGroups != 0) return number + 1;
    // Odd, and below the number of windows but for a single one, where there is no next.
    const std::uint32_t step = scale(HashFamily<Key>::hash(family_.mix(key), 1), windows_ - 1) | 1u;
    const std::uint32_t next = number / kGroups + step;
    return (next < windows_ ? next : next - windows_) * kGroups;
  }

 private:
  std::uint32_t windows_;
  std::uint32_t max_windows_;
  HashFamily<Key> family_;
};

/// Windows that start at any group: a key's first group is as likely to have room as any other, while windows
/// with fixed starts fill from their front, which many narrow groups then visit in vain. Which slots a key
/// may take depends on the width of groups. (The paper's windows start at any slot; these at multiples of a
/// group, so that groups lie in as few sectors as they can.) Windows overlap, so a group may be visited more
/// than once. `Home` chooses the first group of a key's first window (table/bucket_choice.h).
template <Tile T, int WindowSlots = 32, class Home = HashedBucket<typename T::Key>>
class ScatteredWindows {
 public:
  using Key = typename T::Key;
  static constexpr std::uint32_t kWindowSlots = WindowSlots;
  static constexpr std::uint32_t kGroups = kWindowSlots / T::kWidth;  ///< in a window
  static_assert(kWindowSlots % T::kWidth == 0);

  /// A window for each of home.buckets() groups, a power of two or a prime number; behind the last one the
  /// groups that it needs. `max_windows`: the paper's p_max, at least 1.
  WARPMER_HD ScatteredWindows(Home home, std::uint32_t max_windows)
      : home_(home), max_windows_(home.buckets() < max_windows ? home.buckets() : max_windows) {}
  /// Makes it with HashedBucket(starts, seed).
  WARPMER_HD ScatteredWindows(std::uint32_t starts, std::uint32_t seed,
                              std::uint32_t max_windows) requires std::same_as<Home, HashedBucket<Key>>
      : ScatteredWindows(Home(starts, seed), max_windows) {}

  [[nodiscard]] WARPMER_HD std::size_t groups() const { return std::size_t{home_.buckets()} + kGroups - 1; }
  [[nodiscard]] WARPMER_HD std::uint32_t home(Key key) const { return home_(key); }
  [[nodiscard]] WARPMER_HD std::uint32_t max_probes() const { return max_windows_ * kGroups; }
  [[nodiscard]] WARPMER_HD std::uint32_t next(std::uint32_t number, Key key, std::uint32_t visited) const {
    if (visited % kGroups != 0) return number + 1;
    const std::uint32_t starts = home_.buckets();
    const std::uint32_t step = scale(home_.other_hash(key), starts - 1) | 1u;
    const std::uint32_t next = number - (kGroups - 1) + step;
    return next < starts ? next : next - starts;
  }

 private:
  Home home_;
  std::uint32_t max_windows_;
};

}  // namespace warpmer::table
