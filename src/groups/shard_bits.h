#pragma once
/// Reads the bits of a shard that has been checked (shard_check.h): nothing here tests whether positions lie
/// within it.

#include <bit>
#include <cstdint>
#include <vector>

#include "groups/flanked_kmer.h"
#include "groups/shard_layout.h"
#include "kmer/bit_stream.h"
#include "kmer/platform.h"

namespace warpmer::groups {

/// Return the number of zeros below the lowest one, or the number of all bits.
WARPMER_HD constexpr std::uint32_t trailing_zeros(std::uint64_t v) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__clzll(static_cast<long long>(__brevll(v))));
#else
  return static_cast<std::uint32_t>(std::countr_zero(v));
#endif
}
WARPMER_HD constexpr std::uint32_t trailing_zeros(std::uint32_t v) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__clz(static_cast<int>(__brev(v))));
#else
  return static_cast<std::uint32_t>(std::countr_zero(v));
#endif
}
WARPMER_HD constexpr std::uint32_t ones(std::uint64_t v) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__popcll(v));
#else
  return static_cast<std::uint32_t>(std::popcount(v));
#endif
}

/// Returns the number whose gamma code is the lowest bits of `code`, and begins with so many zeros, at
/// most 31.
template <class Code>
WARPMER_HD constexpr Code gamma_number(Code code, std::uint32_t zeros) {
  const Code highest = Code{1} << zeros;
  return highest | ((code >> (zeros + 1)) & (highest - 1));
}

/// Two numbers in Elias's gamma code, one behind the other.
template <class Code>
struct GammaPair {
  Code first, second;
  std::uint32_t bits;  ///< that they take

  /// Reads them from the lowest bits of `next`. If `bits` is not less than `next` has, they are not all
  /// there, or just so.
  WARPMER_HD constexpr explicit GammaPair(Code next) {
    constexpr Code kEnd = Code{1} << (4 * sizeof(Code) - 1);
    const std::uint32_t zeros = trailing_zeros(next | kEnd);
    const Code behind = next >> (2 * zeros + 1);
    const std::uint32_t more = trailing_zeros(behind | kEnd);
    first = gamma_number(next, zeros);
    second = gamma_number(behind, more);
    bits = 2 * (zeros + more + 1);
  }
};

/// A place among bits that moves on with what is read.
struct BitCursor {
  const std::uint64_t* words;
  std::uint64_t at;

  WARPMER_HD std::uint64_t peek(std::uint32_t bits) const {
    return read_bits<std::uint64_t>(words, at, bits);
  }
  WARPMER_HD std::uint32_t peek_32() const { return read_32_bits(words, at); }
  WARPMER_HD std::uint64_t read(std::uint32_t bits) {
    const std::uint64_t value = peek(bits);
    at += bits;
    return value;
  }
  template <class Flank>
  WARPMER_HD Flank read_flank(std::uint32_t bases) {
    const Flank value = read_bits<Flank>(words, at, 2 * bases);
    at += 2 * bases;
    return value;
  }
  /// Reads a number in Elias's gamma code.
  WARPMER_HD std::uint64_t read_gamma() {
    const std::uint64_t next = peek(64);
    const std::uint32_t zeros = trailing_zeros(next | std::uint64_t{1} << 63);
    at += zeros + 1;
    if (2 * zeros + 1 <= 64) {
      at += zeros;
      return gamma_number(next, zeros);
    }
    return (std::uint64_t{1} << zeros) | read(zeros);
  }
};

/// The lengths of a string's flanks in bases, or, with `left` = kLarge, a large group.
struct FlankLengths {
  std::uint8_t left, right;

  WARPMER_HD std::uint32_t bases() const { return static_cast<std::uint32_t>(left) + right; }
  WARPMER_HD bool is_large() const { return left == kLarge; }
  static constexpr std::uint8_t kLarge = 255;
};

/// Returns the lengths by their code (StringLengths), and as many more as codes of that width could name:
/// lengths of nothing.
inline std::vector<FlankLengths> make_length_table(std::uint32_t flank_bases) {
  const StringLengths lengths(flank_bases);
  std::vector<FlankLengths> table(std::size_t{1} << lengths.bits(), FlankLengths{FlankLengths::kLarge, 0});
  for (std::uint32_t left = 0, code = 0; left <= flank_bases; ++left) {
    for (std::uint32_t kmers = 1; kmers <= left + 1; ++kmers, ++code) {
      table[code] = {static_cast<std::uint8_t>(left),
                     static_cast<std::uint8_t>(flank_bases - left + kmers - 1)};
    }
  }
  return table;
}

/// The counts of a string's k-mers: the smallest, and how much each has beyond it.
struct StringCounts {
  BitCursor beyond;
  std::uint64_t smallest;
  std::uint32_t bits;
  std::uint64_t bases_at;  ///< where the string's bases begin; see find_super_kmer

  /// Reads the head of a code at `codes`, which moves to the next string's.
  WARPMER_HD static StringCounts read(BitCursor& codes, std::uint32_t kmers) {
    StringCounts counts{};
    const GammaPair<std::uint32_t> head(codes.peek_32());
    if (head.bits < 32) {  // nearly always
      counts.bits = head.first - 1;
      counts.smallest = head.second;
      codes.at += head.bits;
    } else {
      counts.bits = static_cast<std::uint32_t>(codes.read_gamma() - 1);
      counts.smallest = codes.read_gamma();
    }
    counts.beyond = codes;
    codes.at += std::uint64_t{counts.bits} * kmers;
    return counts;
  }
  /// Returns the count of the i-th k-mer from the left.
  WARPMER_HD std::uint64_t operator[](std::uint32_t i) const {
    if (bits == 0) return smallest;
    return smallest + read_bits<std::uint64_t>(beyond.words, beyond.at + std::uint64_t{bits} * i, bits);
  }
  /// True if all counts, and all that their bits could say, are below 2^32 - 2^16.
  WARPMER_HD bool are_small() const { return bits <= 16 && smallest < 0xFFFE0000; }
  /// Calls `visit(count)` for those of `number` k-mers from the i-th on.
  template <class Visit>
  WARPMER_HD void for_each(std::uint32_t i, std::uint32_t number, Visit&& visit) const {
    if (bits > 32) {
      for (; number > 0; --number) visit((*this)[i++]);
      return;
    }
    // Words of several counts are read at a time.
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    std::uint64_t at = beyond.at + std::uint64_t{bits} * i, some = 0;
    for (std::uint32_t there = 0; number > 0; --number) {
      if (there < bits) {
        some = read_bits<std::uint64_t>(beyond.words, at, 64);
        there = 64;
      }
      visit(smallest + (some & mask));
      some >>= bits;
      there -= bits;
      at += bits;
    }
  }
  /// As for_each, if they are small; counts have 32 bits. Few instructions where one word has all.
  template <class Visit>
  WARPMER_HD void for_each_small(std::uint32_t i, std::uint32_t number, Visit&& visit) const {
    const std::uint32_t all_bits = bits * number;
    if (all_bits > 64) {
      for_each(i, number, [&](std::uint64_t count) { visit(static_cast<std::uint32_t>(count)); });
      return;
    }
    const auto least = static_cast<std::uint32_t>(smallest);
    std::uint64_t some = word_at(beyond.words, beyond.at + bits * i, all_bits);
    for (; number > 0; --number) {
      visit(least + (static_cast<std::uint32_t>(some) & ((1u << bits) - 1)));
      some >>= bits;
    }
  }
};

/// A shard that lies somewhere in memory, with kReadAheadWords readable words behind it.
struct ShardBits {
  ShardLayout layout;
  const std::uint64_t* words;
  const FlankLengths* lengths;  ///< make_length_table
  std::uint32_t flank_bases;
  std::uint64_t payload_words;

  WARPMER_HD ShardBits(const GroupShape& shape, const ShardSizes& sizes, const std::uint64_t* payload,
                       const FlankLengths* length_table)
      : layout(shape, sizes),
        words(payload),
        lengths(length_table),
        flank_bases(shape.flank_bases()),
        payload_words(sizes.words) {}

  /// Returns where bucket `i` begins, or record i - buckets, or where the last one ends.
  WARPMER_HD BitCursor part(std::uint64_t i) const {
    return {words,
            layout.strings_at + read_bits<std::uint64_t>(words, i * layout.offset_bits, layout.offset_bits)};
  }
#if !defined(__CUDA_ARCH__)
  /// Fetch into the cache what a lookup of a group begins with: where its bucket is, and, when that is there,
  /// the bucket.
  WARPMER_HD void prefetch_offset(std::uint64_t rest) const {
    __builtin_prefetch(reinterpret_cast<const char*>(words) +
                       layout.bucket_of(rest) * layout.offset_bits / 8);
  }
  WARPMER_HD void prefetch_bucket(std::uint64_t rest) const {
    if (layout.buckets == 0) return;
    const char* bucket = reinterpret_cast<const char*>(words) + part(layout.bucket_of(rest)).at / 8;
    __builtin_prefetch(bucket);
    __builtin_prefetch(bucket + 64);
  }
#endif
  WARPMER_HD FlankLengths lengths_at(std::uint64_t bit) const {
    return lengths[read_bits<std::uint64_t>(words, bit, layout.length_bits)];
  }
  WARPMER_HD std::uint32_t kmers(FlankLengths string) const { return string.bases() - flank_bases + 1; }
  /// Returns the bits that a string, or the number of a large group, takes among the bases.
  WARPMER_HD std::uint32_t base_bits(FlankLengths string) const {
    return string.is_large() ? layout.large_bits : 2 * string.bases();
  }
};

/// A bucket, as far as its head says. Its groups are numbered, and so are its strings.
struct Bucket {
  std::uint64_t strings, groups;
  std::uint64_t flags;          ///< of the first 64 strings: whether each is the first of its group
  std::uint64_t flags_at;       ///< one bit a string
  std::uint64_t remainders_at;  ///< of groups
  std::uint64_t lengths_at;     ///< of strings
  std::uint64_t bases_at;

  /// Value-initialized, it is a bucket of nothing.
  Bucket() = default;
  WARPMER_HD Bucket(const ShardBits& shard, BitCursor at) {
    const std::uint64_t begin = at.at, next = at.peek(64);
    strings = at.read_gamma() - 1;
    flags_at = at.at;
    remainders_at = flags_at + strings;
    if (remainders_at - begin <= 64) {  // nearly always: they have been read already
      flags = (next >> (flags_at - begin)) & ((std::uint64_t{1} << strings) - 1);
      groups = ones(flags);
    } else {
      flags = at.peek(strings < 64 ? static_cast<std::uint32_t>(strings) : 64);
      groups = 0;
      for (std::uint64_t i = 0; i < strings; i += 64)
        groups += ones(at.read(static_cast<std::uint32_t>(strings - i < 64 ? strings - i : 64)));
    }
    lengths_at = remainders_at + groups * shard.layout.remainder_bits;
    bases_at = lengths_at + strings * shard.layout.length_bits;
  }

  /// Returns the number of the first string of the i-th group, or of all strings for the number of groups.
  WARPMER_HD std::uint64_t first_string(const ShardBits& shard, std::uint64_t i) const {
    if (strings <= 64) {
      std::uint64_t rest = flags;
      for (; i > 0; --i) rest &= rest - 1;
      return rest == 0 ? strings : trailing_zeros(rest);
    }
    for (std::uint64_t at = 0; at < strings; at += 64) {
      const auto bits = static_cast<std::uint32_t>(strings - at < 64 ? strings - at : 64);
      std::uint64_t here = read_bits<std::uint64_t>(shard.words, flags_at + at, bits);
      const std::uint32_t groups_here = ones(here);
      if (i >= groups_here) {
        i -= groups_here;
        continue;
      }
      for (; i > 0; --i) here &= here - 1;
      return at + trailing_zeros(here);
    }
    return strings;
  }
};

/// The record of a large group, as far as its head says.
struct LargeGroup {
  std::uint64_t strings, kmers;
  std::uint64_t lengths_at, marks_at, bases_at, counts_at, begins_at, numbers_at;
  std::uint32_t base_mark_bits, count_mark_bits, number_bits, begin_bits;

  WARPMER_HD LargeGroup(const ShardBits& shard, BitCursor at) {
    strings = at.read_gamma();
    kmers = at.read_gamma();
    const std::uint64_t count_bits = at.read_gamma();
    const std::uint64_t bases = strings * (shard.flank_bases - 1) + kmers;
    base_mark_bits = bits_of(bases);
    count_mark_bits = bits_of(count_bits);
    number_bits = bits_of(strings - 1);
    begin_bits = bits_of(kmers);
    lengths_at = at.at;
    marks_at = lengths_at + strings * shard.layout.length_bits;
    bases_at =
        marks_at + (strings + kStringsPerMark - 1) / kStringsPerMark * (base_mark_bits + count_mark_bits);
    counts_at = bases_at + 2 * bases;
    begins_at = counts_at + count_bits;
    numbers_at = begins_at + (shard.flank_bases + 2) * std::uint64_t{begin_bits};
  }

  /// Returns where the strings of layer p begin among those of all layers, for p up to n + 1.
  WARPMER_HD std::uint64_t layer_begin(const ShardBits& shard, std::uint32_t layer) const {
    return read_bits<std::uint64_t>(shard.words, begins_at + std::uint64_t{layer} * begin_bits, begin_bits);
  }
  WARPMER_HD std::uint64_t number_at(const ShardBits& shard, std::uint64_t i) const {
    return read_bits<std::uint64_t>(shard.words, numbers_at + i * number_bits, number_bits);
  }
  WARPMER_HD FlankLengths lengths_of(const ShardBits& shard, std::uint64_t string) const {
    return shard.lengths_at(lengths_at + string * shard.layout.length_bits);
  }
  /// Returns where the bases of a string begin.
  WARPMER_HD BitCursor bases_of(const ShardBits& shard, std::uint64_t string) const {
    const std::uint64_t mark = string / kStringsPerMark;
    std::uint64_t bases = read_bits<std::uint64_t>(
        shard.words, marks_at + mark * (base_mark_bits + count_mark_bits), base_mark_bits);
    for (std::uint64_t i = mark * kStringsPerMark; i < string; ++i) bases += lengths_of(shard, i).bases();
    return {shard.words, bases_at + 2 * bases};
  }
  WARPMER_HD StringCounts counts_of(const ShardBits& shard, std::uint64_t string) const {
    const std::uint64_t mark = string / kStringsPerMark;
    BitCursor codes{
        shard.words,
        counts_at + read_bits<std::uint64_t>(
                        shard.words, marks_at + mark * (base_mark_bits + count_mark_bits) + base_mark_bits,
                        count_mark_bits)};
    for (std::uint64_t i = mark * kStringsPerMark;; ++i) {
      const StringCounts counts = StringCounts::read(codes, shard.kmers(lengths_of(shard, i)));
      if (i == string) return counts;
    }
  }
};

}  // namespace warpmer::groups
