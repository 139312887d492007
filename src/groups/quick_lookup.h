#pragma once
/// Looking super-k-mers up with few loads, for GPUs, and so that the lanes of a warp stay together: each
/// loads from somewhere else, and has another number of strings to go through. Does what find_super_kmer
/// does, but for what is rare.

#include <cstdint>

#include "groups/flanked_kmer.h"
#include "groups/shard_bits.h"
#include "groups/string_lookup.h"
#include "kmer/bit_stream.h"
#include "kmer/kmer.h"
#include "kmer/lanes.h"
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

/// Fields of one width, fewer than 32 bits, that lie one behind the other: as many as 64 bits have are loaded
/// at once.
class FieldReader {
 public:
  FieldReader() = default;
  WARPMER_HD FieldReader(const std::uint64_t* words, std::uint32_t at, std::uint32_t width)
      : words_(words), at_(at), width_(width), bits_(read_bits<std::uint64_t>(words, at, 64)) {}

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
  std::uint32_t at_ = 0;  ///< of the bits that were loaded
  std::uint32_t width_ = 0, used_ = 0;
  std::uint64_t bits_ = 0;  ///< those of them that have not been used
};

/// A super-k-mer on its way through the strings of its group. Buckets with a large group or with many strings
/// are left to find_super_kmer. The others are so small that 32 bits say where in them something is.
template <class Flanks>
class QuickSearch {
 public:
  WARPMER_HD QuickSearch(const StringLayout& layout, const FlankedSuperKmer<Flanks>& query)
      : layout_(layout), query_(query) {}

  /// Looks in the group with the id `rest` of a shard. Calls `visit(first, number, counts, from)` for every
  /// string that has k-mers of the super-k-mer: the counts of `number` of its k-mers, from its k-mer `from`
  /// on, are those of the super-k-mer's from `first` on. Returns the number of k-mers found; or, without a
  /// call, kLeft: find_super_kmer has to look. All of `lanes` call it together.
  template <class Visit>
  WARPMER_HD std::uint32_t run(const ShardRecord& shard, std::uint32_t rest, Lanes lanes, Visit&& visit) {
    if (shard.buckets > 0) open_bucket(shard, rest);
    lanes.meet();
    const bool is_there = flags_ != 0;
    lanes = lanes.those(is_there);
    if (!is_there) return is_left_ ? kLeft : 0;
    add_up_bases();
    lanes = lanes.those(!is_left_);
    if (is_left_) return kLeft;
    begin_strings();
    for (;;) {
      const bool is_found = find_next();
      if (!lanes.any(is_found)) return answered_;
      const Lanes finders = lanes.those(is_found);
      if (!is_found) continue;
      pass_counts(string_ - 1);
      finders.meet();
      BitCursor codes{words_, codes_at_};
      const StringCounts counts = StringCounts::read(codes, kmers_of(found_.string));
      finders.meet();
      visit(found_.first, found_.kmers, counts, found_.from);
    }
  }
  static constexpr std::uint32_t kLeft = UINT32_MAX;

 private:
  /// Buckets of more strings are left. The gamma code of one more than kMostStrings begins with kMostZeros
  /// zeros.
  static constexpr std::uint32_t kMostStrings = 64, kMostZeros = 6;
  static_assert((kMostStrings + 1) >> kMostZeros == 1);

  struct CommonBases {
    std::uint32_t left, right;
  };
  struct FoundString {
    FlankLengths string;
    std::uint32_t first, kmers, from;  ///< as they are visited
  };

  WARPMER_HD static std::uint32_t least(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }
  WARPMER_HD std::uint32_t kmers_of(FlankLengths string) const {
    return string.bases() - layout_.flank_bases + 1;
  }

  /// As ShardLayout::first_of.
  WARPMER_HD std::uint64_t first_of(const ShardRecord& shard, std::uint64_t bucket) const {
    if (shard.buckets < 2) return bucket << layout_.rest_bits;
    const std::uint64_t dividend = (bucket << layout_.rest_bits) + shard.buckets - 1;
#if defined(__CUDA_ARCH__)
    return __umul64hi(dividend, shard.reciprocal);
#else
    return static_cast<std::uint64_t>((Key128{dividend} * shard.reciprocal) >> 64);
#endif
  }
  /// Finds the flags of the bucket's strings from the group's first on, if it is there.
  WARPMER_HD void open_bucket(const ShardRecord& shard, std::uint32_t rest) {
    const std::uint64_t number = (std::uint64_t{rest} * shard.buckets) >> layout_.rest_bits;
    const std::uint64_t at =
        std::uint64_t{shard.strings_at_word} * 64 +
        read_bits<std::uint64_t>(shard.words, number * shard.offset_bits, shard.offset_bits);
    words_ = shard.words + at / 64;
    const auto begin = static_cast<std::uint32_t>(at % 64);
    const auto head = read_bits<std::uint64_t>(words_, begin, 64);
    const std::uint32_t zeros = trailing_zeros(head | std::uint64_t{1} << 63);
    is_left_ = zeros > kMostZeros;
    if (is_left_) return;
    strings_ = static_cast<std::uint32_t>(gamma_number(head, zeros) - 1);
    is_left_ = strings_ > kMostStrings;
    if (is_left_ || strings_ == 0) return;
    const std::uint32_t code_bits = 2 * zeros + 1;
    flags_ = head >> code_bits;
    if (code_bits + strings_ > 64) flags_ = word_at(words_, begin + code_bits, strings_);
    flags_ &= ~std::uint64_t{0} >> (64 - strings_);
    const std::uint32_t remainders_at = begin + code_bits + strings_;
    lengths_at_ = remainders_at + ones(flags_) * shard.remainder_bits;
    const auto remainder = static_cast<std::uint32_t>(rest - first_of(shard, number));
    FieldReader remainders(words_, remainders_at, shard.remainder_bits);
    while (flags_ != 0 && remainders.next() != remainder) flags_ &= flags_ - 1;
  }
  /// Finds where the bases of the group's first string are, and where those of all strings of the bucket end.
  WARPMER_HD void add_up_bases() {
    string_ = trailing_zeros(flags_);
    FieldReader lengths(words_, lengths_at_, layout_.length_bits);
    std::uint32_t bases = 0, before = 0, lefts = 0;
    for (std::uint32_t i = 0; i < strings_; ++i) {
      if (i == string_) before = bases;
      const FlankLengths here = layout_.lengths[lengths.next()];
      bases += here.bases();
      lefts |= here.left;
    }
    // Only a large group has such a left flank.
    static_assert(kMaxK < 128 && FlankLengths::kLarge >= 128);
    is_left_ = lefts >= 128;
    const std::uint32_t first_at = lengths_at_ + strings_ * layout_.length_bits;
    bases_at_ = first_at + 2 * before;
    codes_at_ = first_at + 2 * bases;
  }
  /// Makes the group's first string the next one.
  WARPMER_HD void begin_strings() {
    const std::uint64_t behind = flags_ & (flags_ - 1);
    end_ = behind == 0 ? strings_ : trailing_zeros(behind);
    wanted_ = query_.left_bases + query_.right_bases - layout_.flank_bases + 1;
    lengths_ = FieldReader(words_, lengths_at_ + string_ * layout_.length_bits, layout_.length_bits);
    next_ = layout_.lengths[lengths_.next()];
  }
  /// Goes on to the next string that has k-mers of the super-k-mer. Returns whether there is one.
  WARPMER_HD bool find_next() {
    while (string_ != end_ && answered_ != wanted_) {
      const FlankLengths lengths = next_;
      const auto [a, b] = bases_in_common();
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
  /// Compares the next string with the super-k-mer. Bits behind a flank may be anything: no more bases are
  /// compared than both have.
  WARPMER_HD CommonBases bases_in_common() const {
    const std::uint32_t most_left = least(next_.left, query_.left_bases);
    const std::uint32_t most_right = least(next_.right, query_.right_bases);
    if constexpr (sizeof(Flanks) == 8) {
      if (layout_.flank_bases <= 16) {  // as many as 32 bits have
        const auto both = word_at(words_, bases_at_, 2 * next_.bases());
        const auto left = static_cast<std::uint32_t>(both ^ query_.left);
        const auto right = static_cast<std::uint32_t>((both >> (2 * next_.left)) ^ query_.right);
        return {least(trailing_zeros(left) / 2, most_left), least(trailing_zeros(right) / 2, most_right)};
      }
      if (next_.bases() <= 32) {
        const auto both = word_at(words_, bases_at_, 2 * next_.bases());
        const std::uint64_t right = next_.left == 32 ? 0 : both >> (2 * next_.left);
        return {common_bases(both, query_.left, most_left), common_bases(right, query_.right, most_right)};
      }
    }
    BitCursor bases{words_, bases_at_};
    const auto left = bases.template read_flank<Flanks>(next_.left);
    const auto right = bases.template read_flank<Flanks>(next_.right);
    return {common_bases(left, query_.left, most_left), common_bases(right, query_.right, most_right)};
  }
  /// Goes over the counts of strings up to this one. A string whose counts are all 1 takes two bits; many
  /// such strings are passed at once, together with the code behind them.
  WARPMER_HD void pass_counts(std::uint32_t string) {
    while (counted_ < string) {
      const std::uint32_t next = read_32_bits(words_, codes_at_);
      const std::uint32_t passed = least(trailing_zeros(~next) / 2, string - counted_);
      codes_at_ += 2 * passed;
      counted_ += passed;
      if (passed == 16 || counted_ == string) continue;
      const GammaPair<std::uint32_t> code(next >> (2 * passed));
      if (code.bits < 32 - 2 * passed) {  // nearly always
        codes_at_ += code.bits;
        if (code.first > 1) codes_at_ += (code.first - 1) * kmers_of(lengths_of(counted_));
        ++counted_;
      } else if (passed == 0) {
        BitCursor codes{words_, codes_at_};
        StringCounts::read(codes, kmers_of(lengths_of(counted_)));
        codes_at_ = static_cast<std::uint32_t>(codes.at);
        ++counted_;
      }
    }
  }
  WARPMER_HD FlankLengths lengths_of(std::uint32_t string) const {
    return layout_.lengths[read_bits<std::uint64_t>(words_, lengths_at_ + string * layout_.length_bits,
                                                    layout_.length_bits)];
  }

  const StringLayout& layout_;
  const FlankedSuperKmer<Flanks>& query_;
  const std::uint64_t* words_ = nullptr;  ///< from the one in which the bucket begins; all bits count from it
  bool is_left_ = false;
  std::uint32_t strings_ = 0;           ///< of the bucket
  std::uint64_t flags_ = 0;             ///< of those from the group's first on: whether a group begins
  std::uint32_t lengths_at_ = 0;        ///< where the lengths of all begin
  std::uint32_t string_ = 0, end_ = 0;  ///< the next string, and that behind the group's last
  std::uint32_t wanted_ = 0, answered_ = 0;
  FlankLengths next_{};         ///< lengths of the next string
  std::uint32_t bases_at_ = 0;  ///< where it begins
  FieldReader lengths_;         ///< of those behind it
  std::uint32_t counted_ = 0;   ///< strings whose counts are before `codes_at_`
  std::uint32_t codes_at_ = 0;
  FoundString found_{};
};

}  // namespace warpmer::groups
