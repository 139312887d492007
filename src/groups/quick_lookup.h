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
  std::uint8_t offset_bits, remainder_bits;

  ShardRecord() = default;
  explicit ShardRecord(const ShardBits& shard)
      : words(shard.words),
        reciprocal(shard.layout.reciprocal),
        buckets(static_cast<std::uint32_t>(shard.layout.buckets)),  // at most 2^rest_bits
        strings_at_word(static_cast<std::uint32_t>(shard.layout.strings_at / 64)),
        offset_bits(static_cast<std::uint8_t>(shard.layout.offset_bits)),
        remainder_bits(static_cast<std::uint8_t>(shard.layout.remainder_bits)) {}
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

/// Fields of one width, at most 32 bits, that lie one behind the other: as many as 64 bits have are loaded at
/// once.
class FieldReader {
 public:
  FieldReader() = default;
  WARPMER_HD FieldReader(const std::uint64_t* words, std::uint64_t at, std::uint32_t width)
      : words_(words), at_(at), bits_(read_bits<std::uint64_t>(words, at, 64)), width_(width) {}

  WARPMER_HD std::uint32_t next() {
    if (used_ + width_ > 64) {
      at_ += used_;
      bits_ = read_bits<std::uint64_t>(words_, at_, 64);
      used_ = 0;
    }
    const std::uint32_t field = static_cast<std::uint32_t>(bits_) & ((1u << width_) - 1);
    bits_ >>= width_;
    used_ += width_;
    return field;
  }

 private:
  const std::uint64_t* words_ = nullptr;
  std::uint64_t at_ = 0;    ///< of the bits that were loaded
  std::uint64_t bits_ = 0;  ///< those of them that have not been used
  std::uint32_t width_ = 0, used_ = 0;
};

/// A super-k-mer on its way through the strings of its group, as StringSearch. Buckets with a large group or
/// with many strings are left to that.
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
    const auto head = read_bits<std::uint64_t>(shard.words, begin, 64);
    const std::uint32_t zeros = trailing_zeros(head | std::uint64_t{1} << 63);
    is_left_ = zeros > kMostZeros;
    if (is_left_) return;
    const auto strings = static_cast<std::uint32_t>(gamma_number(head, zeros) - 1);
    is_left_ = strings > kMostStrings;
    if (is_left_) return;
    std::uint64_t flags = (head >> (2 * zeros + 1)) & ((std::uint64_t{1} << strings) - 1);
    const std::uint64_t remainders_at = begin + 2 * zeros + 1 + strings;
    const std::uint32_t groups = ones(flags);
    const std::uint32_t group = group_of(remainders_at, groups, rest - first_of(number));
    if (group == groups) return;
    for (std::uint32_t i = group; i > 0; --i) flags &= flags - 1;
    string_ = trailing_zeros(flags);
    flags &= flags - 1;
    end_ = flags == 0 ? strings : trailing_zeros(flags);
    lengths_at_ = remainders_at + groups * shard.remainder_bits;
    bases_at_ = codes_at_ = lengths_at_ + strings * layout.length_bits;
    FieldReader lengths(shard.words, lengths_at_, layout.length_bits);
    for (std::uint32_t i = 0; i < strings; ++i) {
      if (i == string_) {
        lengths_ = lengths;
        bases_at_ = codes_at_;
      }
      const FlankLengths here = layout.lengths[lengths.next()];
      is_left_ = is_left_ || here.is_large();
      codes_at_ += 2 * here.bases();
    }
    next_ = layout.lengths[lengths_.next()];
  }

  /// True when nothing is known of the super-k-mer: StringSearch has to look.
  WARPMER_HD bool is_left() const { return is_left_; }
  /// Are as those of StringSearch, unless it is left.
  WARPMER_HD bool is_done() const { return string_ == end_ || answered_ == wanted_; }
  WARPMER_HD std::uint32_t answered() const { return answered_; }

  /// Goes on to the next string that has k-mers of the super-k-mer. Returns whether there is one. (Lanes come
  /// together then, wherever in their groups their strings are.)
  WARPMER_HD bool find_next() {
    while (!is_done()) {
      const FlankLengths lengths = next_;
      const auto [left, right] = flanks();
      const std::uint32_t a = common_bases(left, query_.left, least(lengths.left, query_.left_bases));
      const std::uint32_t b = common_bases(right, query_.right, least(lengths.right, query_.right_bases));
      bases_at_ += 2 * lengths.bases();
      ++string_;
      if (string_ != end_) next_ = layout_.lengths[lengths_.next()];
      if (a + b < layout_.flank_bases) continue;
      found_ = {lengths, query_.left_bases - a, a + b - layout_.flank_bases + 1, lengths.left - a};
      answered_ += found_.kmers;
      return true;
    }
    return false;
  }
  /// Calls `visit(first, number, counts, from)` with what the string that was found last has: the counts of
  /// `number` of its k-mers, from its k-mer `from` on, are those of the super-k-mer's from `first` on.
  template <class Visit>
  WARPMER_HD void visit_found(Visit&& visit) {
    visit(found_.first, found_.kmers, counts_of(string_ - 1, found_.string), found_.from);
  }

 private:
  /// Limits of the code of the number of strings, which with a flag for each string has at most 64 bits.
  static constexpr std::uint32_t kMostZeros = 5, kMostStrings = 53;

  struct FlankPair {
    Flanks left, right;
  };
  struct FoundString {
    FlankLengths string;
    std::uint32_t first, kmers, from;  ///< visit_found
  };

  WARPMER_HD static std::uint32_t least(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }

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
  /// Returns which of the bucket's groups has this remainder, or their number.
  WARPMER_HD std::uint32_t group_of(std::uint64_t remainders_at, std::uint32_t groups,
                                    std::uint64_t remainder) const {
    FieldReader remainders(shard_.words, remainders_at, shard_.remainder_bits);
    std::uint32_t i = 0;
    while (i < groups && remainders.next() != remainder) ++i;
    return i;
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
  /// Returns the counts of a string. Those of the strings before it are read over; such that are all 1 take
  /// two bits, and many at once.
  WARPMER_HD StringCounts counts_of(std::uint32_t string, FlankLengths lengths) {
    BitCursor codes{shard_.words, codes_at_};
    while (counted_ < string) {
      const std::uint32_t ones = trailing_zeros(~codes.peek_32()) / 2, most = string - counted_;
      const std::uint32_t passed = least(ones, most);
      codes.at += 2 * passed;
      counted_ += passed;
      if (passed > 0) continue;
      const FlankLengths here = layout_.lengths[read_bits<std::uint64_t>(
          shard_.words, lengths_at_ + counted_ * layout_.length_bits, layout_.length_bits)];
      StringCounts::read(codes, here.bases() - layout_.flank_bases + 1);
      ++counted_;
    }
    codes_at_ = codes.at;
    return StringCounts::read(codes, lengths.bases() - layout_.flank_bases + 1);
  }

  const ShardRecord& shard_;
  const StringLayout& layout_;
  const FlankedSuperKmer<Flanks>& query_;
  std::uint32_t wanted_, answered_ = 0;
  bool is_left_ = false;
  std::uint32_t string_ = 0, end_ = 0;  ///< the next string, and that behind the group's last
  FlankLengths next_{};                 ///< lengths of the next string
  std::uint64_t bases_at_ = 0;          ///< where it begins
  FieldReader lengths_;                 ///< of those behind it
  std::uint64_t lengths_at_ = 0;        ///< of the bucket
  std::uint32_t counted_ = 0;           ///< strings whose counts are before `codes_at_`
  std::uint64_t codes_at_ = 0;
  FoundString found_{};
};

}  // namespace warpmer::groups
