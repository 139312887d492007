#pragma once
/// Looking super-k-mers up with few loads, for GPUs: there each lane loads from somewhere else, and the
/// number of such loads is what limits lookups. Does what StringSearch does, but for what is rare.

#include <cstdint>

#include "groups/flanked_kmer.h"
#include "groups/shard_bits.h"
#include "groups/string_lookup.h"
#include "kmer/bit_stream.h"
#include "kmer/platform.h"

namespace warpmer::groups {

/// The numbers of a shard with which a lookup begins, to be loaded at once.
struct alignas(16) ShardRecord {
  const std::uint64_t* words;
  std::uint64_t reciprocal;
  std::uint32_t buckets, strings_at_word;
  std::uint8_t offset_bits, remainder_bits, large_bits;

  ShardRecord() = default;
  explicit ShardRecord(const ShardBits& shard)
      : words(shard.words),
        reciprocal(shard.layout.reciprocal),
        buckets(static_cast<std::uint32_t>(shard.layout.buckets)),  // at most 2^rest_bits
        strings_at_word(static_cast<std::uint32_t>(shard.layout.strings_at / 64)),
        offset_bits(static_cast<std::uint8_t>(shard.layout.offset_bits)),
        remainder_bits(static_cast<std::uint8_t>(shard.layout.remainder_bits)),
        large_bits(static_cast<std::uint8_t>(shard.layout.large_bits)) {}
};

/// Says how all shards of an index are read.
struct StringLayout {
  std::uint32_t flank_bases, rest_bits, length_bits;
  const FlankLengths* lengths;  ///< make_length_table

  WARPMER_HD StringLayout(const GroupShape& shape, const FlankLengths* table)
      : flank_bases(shape.flank_bases()),
        rest_bits(shape.rest_bits()),
        length_bits(StringLengths(shape.flank_bases()).bits()),
        lengths(table) {}
};

/// A super-k-mer on its way through the strings of its group, as StringSearch. The head of a bucket, up to
/// the lengths of its strings, is loaded at once, if it has no more than 128 bits.
template <class Flanks>
class QuickSearch {
 public:
  WARPMER_HD QuickSearch(const ShardRecord& shard, const StringLayout& layout, std::uint32_t rest,
                         const FlankedSuperKmer<Flanks>& query)
      : shard_(shard),
        layout_(layout),
        query_(query),
        wanted_(query.left_bases + query.right_bases - layout.flank_bases + 1) {
    if (shard.buckets == 0) return;
    const std::uint64_t number = (std::uint64_t{rest} * shard.buckets) >> layout.rest_bits;
    const std::uint64_t begin =
        std::uint64_t{shard.strings_at_word} * 64 +
        read_bits<std::uint64_t>(shard.words, number * shard.offset_bits, shard.offset_bits);
    HeadBits head(shard.words, begin);
    const std::uint32_t zeros = trailing_zeros(head.low | std::uint64_t{1} << 63);
    is_left_ = zeros > kMostZeros;
    if (is_left_) return;
    const auto strings = static_cast<std::uint32_t>(gamma_number(head.low, zeros) - 1);
    head.skip(2 * zeros + 1);
    std::uint64_t flags = head.take(strings);
    const std::uint32_t groups = ones(flags);
    std::uint32_t used = 2 * zeros + 1 + strings + groups * shard.remainder_bits;
    is_left_ = used > kHeadBits;
    if (is_left_) return;
    const std::uint64_t remainder = rest - first_of(number);
    std::uint32_t group = groups;
    for (std::uint32_t i = 0; i < groups; ++i) {
      if (head.take(shard.remainder_bits) == remainder) group = i;
    }
    if (group == groups) return;
    used += strings * layout.length_bits;
    is_left_ = used > kHeadBits;
    if (is_left_) return;
    for (; group > 0; --group) flags &= flags - 1;
    string_ = trailing_zeros(flags);
    flags &= flags - 1;
    end_ = flags == 0 ? strings : trailing_zeros(flags);
    lengths_ = counted_lengths_ = head;
    bases_at_ = codes_at_ = begin + used;
    for (std::uint32_t i = 0; i < strings; ++i) {
      const FlankLengths lengths = take_lengths(head);
      const std::uint32_t bits = base_bits(lengths);
      codes_at_ += bits;
      if (i >= string_) continue;
      bases_at_ += bits;
      (void)take_lengths(lengths_);
    }
    next_ = take_lengths(lengths_);
    is_left_ = next_.is_large();
  }

  /// True when nothing is known of the super-k-mer: StringSearch has to look.
  WARPMER_HD bool is_left() const { return is_left_; }
  /// Are as those of StringSearch, unless it is left.
  WARPMER_HD bool is_done() const { return string_ == end_ || answered_ == wanted_; }
  WARPMER_HD std::uint32_t answered() const { return answered_; }

  template <class Found>
  WARPMER_HD void compare_next(Found&& found) {
    const std::uint32_t n = layout_.flank_bases;
    const auto [left, right] = flanks();
    const std::uint32_t a =
        common_bases(left, query_.left, next_.left < query_.left_bases ? next_.left : query_.left_bases);
    const std::uint32_t b = common_bases(right, query_.right,
                                         next_.right < query_.right_bases ? next_.right : query_.right_bases);
    if (a + b >= n) {
      const std::uint32_t kmers = a + b - n + 1;
      StringCounts counts = counts_of_next();
      counts.bases_at = bases_at_;
      found(query_.left_bases - a, kmers, counts, next_.left - a);
      answered_ += kmers;
    }
    bases_at_ += base_bits(next_);
    ++string_;
    if (string_ != end_) next_ = take_lengths(lengths_);
  }

 private:
  static constexpr std::uint32_t kHeadBits = 128;
  /// Of the code of the number of strings, which is then below 64.
  static constexpr std::uint32_t kMostZeros = 5;

  /// Some bits of a shard, which are taken from the front.
  struct HeadBits {
    std::uint64_t low, high;

    HeadBits() = default;
    WARPMER_HD HeadBits(const std::uint64_t* words, std::uint64_t at) {
      const auto both = read_bits<Key128>(words, at, kHeadBits);
      low = static_cast<std::uint64_t>(both);
      high = static_cast<std::uint64_t>(both >> 64);
    }
    /// Takes less than 64 bits.
    WARPMER_HD void skip(std::uint32_t bits) {
      low = low >> bits | high << 1 << (63 - bits);
      high >>= bits;
    }
    WARPMER_HD std::uint64_t take(std::uint32_t bits) {
      const std::uint64_t value = low & ((std::uint64_t{1} << bits) - 1);
      skip(bits);
      return value;
    }
  };
  struct FlankPair {
    Flanks left, right;
  };

  /// As ShardLayout::first_of.
  WARPMER_HD std::uint64_t first_of(std::uint64_t bucket) const {
    if (shard_.buckets < 2) return bucket << layout_.rest_bits;
    const std::uint64_t dividend = (bucket << layout_.rest_bits) + shard_.buckets - 1;
#if defined(__CUDA_ARCH__)
    return __umul64hi(dividend, shard_.reciprocal);
#else
    return static_cast<std::uint64_t>((Key128{dividend} * shard_.reciprocal) >> 64);
#endif
  }
  WARPMER_HD FlankLengths take_lengths(HeadBits& from) const {
    return layout_.lengths[from.take(layout_.length_bits)];
  }
  WARPMER_HD std::uint32_t base_bits(FlankLengths string) const {
    return string.is_large() ? shard_.large_bits : 2 * string.bases();
  }
  WARPMER_HD FlankPair flanks() const {
    if constexpr (sizeof(Flanks) == 8) {
      if (next_.bases() <= 32) {
        const auto both = read_bits<std::uint64_t>(shard_.words, bases_at_, 2 * next_.bases());
        return {both & key_mask<Key64>(next_.left), next_.left == 32 ? 0 : both >> (2 * next_.left)};
      }
    }
    BitCursor bases{shard_.words, bases_at_};
    const auto left = bases.template read_flank<Flanks>(next_.left);
    return {left, bases.template read_flank<Flanks>(next_.right)};
  }
  /// Returns the counts of the next string: those of the strings before it are read over.
  WARPMER_HD StringCounts counts_of_next() {
    BitCursor codes{shard_.words, codes_at_};
    for (; counted_ < string_; ++counted_) {
      const FlankLengths here = take_lengths(counted_lengths_);
      if (!here.is_large()) StringCounts::read(codes, here.bases() - layout_.flank_bases + 1);
    }
    codes_at_ = codes.at;
    return StringCounts::read(codes, next_.bases() - layout_.flank_bases + 1);
  }

  const ShardRecord& shard_;
  const StringLayout& layout_;
  const FlankedSuperKmer<Flanks>& query_;
  std::uint32_t wanted_, answered_ = 0;
  bool is_left_ = false;
  std::uint32_t string_ = 0, end_ = 0;  ///< the next string, and that behind the group's last
  FlankLengths next_{};                 ///< lengths of the next string
  std::uint64_t bases_at_ = 0;          ///< where it begins
  HeadBits lengths_{};                  ///< of those behind it
  std::uint32_t counted_ = 0;           ///< strings whose counts are before `codes_at_`
  HeadBits counted_lengths_{};          ///< of those behind them
  std::uint64_t codes_at_ = 0;
};

}  // namespace warpmer::groups
