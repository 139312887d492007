#pragma once
/// The keys of the table experiments: they are functions of their number, the same on CPUs and GPUs, so that
/// answers can be checked without keeping anything.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kmer/platform.h"
#include "table/word_slots.h"

namespace warpmer::bench {

using table::Key32;

/// The distribution of keys.
enum class Distribution {
  unique,   ///< each key comes once
  uniform,  ///< drawn with replacement
  zipf,     ///< drawn with replacement, the key of rank r with a probability proportional to r^-s
};

/// Zipf's exponent in Juenger et al. 2018, section V-A.
inline constexpr double kZipfExponent = 1 + 1e-6;

/// The number of different keys: all but the marks of empty slots and of tombstones.
inline constexpr std::uint64_t kKeyNumbers = (std::uint64_t{1} << 32) - 2;

/// The finalizer of MurmurHash3 (Appleby, public domain): a bijection on 32 bits.
WARPMER_HD constexpr std::uint32_t mix32(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
  x = (x ^ (x >> 13)) * 0xC2B2AE35u;
  return x ^ (x >> 16);
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
WARPMER_HD constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// Returns different keys for different numbers below kKeyNumbers, without any order.
WARPMER_HD constexpr Key32 key_number(std::uint64_t number) {
  std::uint32_t key = mix32(static_cast<std::uint32_t>(number));
  // Reserved keys are skipped along their cycle, which keeps it a bijection.
  while (key >= kKeyNumbers) key = mix32(key);
  return key;
}

/// The answer of a lookup when a key is not there. No value is like this.
inline constexpr std::uint32_t kAbsent = ~0u;

/// Returns the value that comes with a unique key: 31 bits that cannot be guessed.
WARPMER_HD constexpr std::uint32_t value_of(Key32 key) { return mix32(key ^ 0x2545F491u) >> 1; }

/// Returns the value that comes with the pair of number `i`, where the last writer's stays: that of the key,
/// but for its low bits.
inline constexpr std::uint32_t kWriters = 256;
WARPMER_HD constexpr std::uint32_t value_of_writer(Key32 key, std::uint64_t i) {
  return value_of(key) / kWriters * kWriters + static_cast<std::uint32_t>(i % kWriters);
}

/// Draws ranks from 0 to `size` - 1 by Zipf's law, with rejection-inversion (Hoermann and Derflinger 1996):
/// it takes the inverse of an integral over a hat function, and rejects few draws. Host and device compute
/// the same ranks up to the last bits of their logarithms.
class ZipfRanks {
 public:
  WARPMER_HD ZipfRanks(double size, double exponent)
      : size_(size), exponent_(exponent), low_(hat_integral(1.5) - 1), high_(hat_integral(size + 0.5)) {}

  /// Returns the rank of a draw; `draw` is its number, any 64 bits.
  [[nodiscard]] WARPMER_HD std::uint64_t operator()(std::uint64_t draw) const {
    for (std::uint64_t random = mix64(draw);; random = mix64(random + 0x9E3779B97F4A7C15u)) {
      const double u = high_ + static_cast<double>(random >> 11) * 0x1p-53 * (low_ - high_);
      const double x = hat_integral_inverse(u);
      double rank = floor(x + 0.5);
      rank = rank < 1 ? 1 : rank > size_ ? size_ : rank;
      if (u >= hat_integral(rank + 0.5) - exp(-exponent_ * log(rank)))
        return static_cast<std::uint64_t>(rank) - 1;
    }
  }

 private:
  /// Returns the integral of x^-s, as (e^t - 1) / t for small t, because s is almost 1.
  [[nodiscard]] WARPMER_HD double hat_integral(double x) const {
    const double t = (1 - exponent_) * log(x);
    return (t == 0 ? 1 : expm1(t) / t) * log(x);
  }
  [[nodiscard]] WARPMER_HD double hat_integral_inverse(double y) const {
    const double t = (1 - exponent_) * y;
    return exp((t == 0 ? 1 : log1p(t) / t) * y);
  }

  double size_, exponent_, low_, high_;
};

/// The plan of the keys from which a table is built.
struct KeyPlan {
  Distribution distribution = Distribution::unique;
  std::size_t pairs = 0;       ///< keys with their values, repeated ones included
  std::uint64_t universe = 0;  ///< number of keys from which they are drawn; for unique keys, `pairs`
  std::uint64_t seed = 1;
  /// Keys that repeat come with a value each time, and the last one that is written stays; else the
  /// occurrences of each key are counted.
  bool last_writer = false;
};

/// Makes the pairs of a plan, one by one.
class PairMaker {
 public:
  WARPMER_HD explicit PairMaker(const KeyPlan& plan)
      : plan_(plan), ranks_(static_cast<double>(plan.universe), kZipfExponent) {}

  /// Returns the number of the key of pair `i`, below the plan's universe.
  [[nodiscard]] WARPMER_HD std::uint64_t number(std::uint64_t i) const {
    const std::uint64_t draw = mix64(plan_.seed) + i;
    switch (plan_.distribution) {
      case Distribution::unique:
        break;
      case Distribution::uniform:
        return mix64(draw) % plan_.universe;
      case Distribution::zipf:
        return ranks_(draw);
    }
    return i;
  }
  [[nodiscard]] WARPMER_HD Key32 key(std::uint64_t i) const { return key_number(number(i)); }
  /// Returns pair `i`. Unique keys have values; the occurrences of other keys are counted, if not the last
  /// writer's value stays.
  [[nodiscard]] WARPMER_HD std::uint64_t pair(std::uint64_t i) const {
    const Key32 one = key(i);
    if (plan_.distribution == Distribution::unique) return table::word_of({one, value_of(one)});
    return table::word_of({one, plan_.last_writer ? value_of_writer(one, i) : 1u});
  }
  /// Returns query `i`: a key that was inserted, or one that never was.
  [[nodiscard]] WARPMER_HD Key32 query(std::uint64_t i, std::uint32_t hits_percent) const {
    return is_hit(i, hits_percent) ? key(i) : key_number(plan_.universe + i);
  }
  [[nodiscard]] WARPMER_HD static bool is_hit(std::uint64_t i, std::uint32_t hits_percent) {
    return mix32(static_cast<std::uint32_t>(i)) % 100 < hits_percent;
  }
  /// True when a query was answered correctly. Counts are checked elsewhere, key by key.
  [[nodiscard]] WARPMER_HD bool is_right(std::uint64_t i, std::uint32_t hits_percent, Key32 key,
                                         std::uint32_t answer) const {
    if (!is_hit(i, hits_percent)) return answer == kAbsent;
    if (plan_.distribution == Distribution::unique) return answer == value_of(key);
    // Which writer was the last nobody knows.
    return plan_.last_writer ? answer / kWriters == value_of(key) / kWriters : answer != kAbsent;
  }

 private:
  KeyPlan plan_;
  ZipfRanks ranks_;
};

}  // namespace warpmer::bench
