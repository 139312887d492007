#include "groups/shard_check.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "groups/string_lookup.h"

namespace warpmer::groups {
namespace {

/// More words than any file has: numbers of bits, times what a string may take, stay within 64 bits.
constexpr std::uint64_t kMostWords = std::uint64_t{1} << 48;

/// Fields of at most so many bits are within eight bytes, whichever bit of the first one they begin with.
constexpr std::uint32_t kShortBits = 57;

/// Reads a field of at most kShortBits. Most fields are, and a shard is mostly fields.
std::uint64_t read_short(BitCursor& from, std::uint32_t bits) {
  std::uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const char*>(from.words) + from.at / 8, sizeof value);
  value >>= from.at % 8;
  from.at += bits;
  return value & ((std::uint64_t{1} << bits) - 1);
}

/// Reads a shard from its first bit to its last. Whatever is read lies before `end_`, the end of the bucket
/// or record that it is in, or begins there, and kReadAheadWords are readable behind that.
template <class Flanks>
class ShardCheck {
 public:
  ShardCheck(const GroupShape& shape, const ShardSizes& sizes, const std::uint64_t* words,
             const FlankLengths* lengths)
      : sizes_(sizes),
        shard_(shape, sizes, words, lengths),
        n_(shape.flank_bases()),
        large_(StringLengths(n_).large()),
        cursor_{words, 0} {}

  /// Returns an empty string when nothing is wrong.
  std::string run() {
    if (sizes_.buckets == 0) {
      const bool is_empty = sizes_.kmers == 0 && sizes_.groups == 0 && sizes_.large_groups == 0 &&
                            sizes_.offset_bits == 0 && sizes_.words == 0;
      return is_empty ? "" : "it has no buckets, but is not empty";
    }
    if (sizes_fit() && begin_parts() && check_parts() && end_parts()) return {};
    return std::move(fault_);
  }

 private:
  struct CheckedString {
    FlankLengths lengths;
    Flanks left, right;
    [[nodiscard]] bool has(std::uint32_t layer, std::uint32_t n) const {
      return layer <= lengths.left && layer + lengths.right >= n;
    }
  };

  /// The flanks of a string of a small group, each with the bit behind its bases: so that two flanks, which
  /// are compared for each pair of strings, differ where the shorter one ends.
  struct BoundedFlanks {
    Flanks left, right, left_end, right_end;
  };

  bool fail(std::string_view what) {
    fault_ = what;
    return false;
  }
  /// Says that what is wrong is in the bucket or the record that is read.
  bool fail_here(std::string_view what) {
    const std::uint64_t buckets = shard_.layout.buckets;
    fault_ = part_ < buckets ? fmt::format("bucket {} {}", part_, what)
                             : fmt::format("large group {} {}", part_ - buckets, what);
    return false;
  }

  bool sizes_fit() {
    const std::uint64_t ids = std::uint64_t{1} << shard_.layout.rest_bits;
    if (sizes_.buckets > ids) return fail("it has more buckets than ids");
    if (sizes_.groups > ids) return fail("it has more groups than ids");
    if (sizes_.large_groups > sizes_.groups) return fail("it has more large groups than groups");
    if (sizes_.offset_bits == 0 || sizes_.offset_bits > 64) return fail("its offsets have no such width");
    if (sizes_.words > kMostWords || sizes_.words < shard_.layout.strings_at / 64)
      return fail("its payload has no such size");
    return true;
  }
  [[nodiscard]] bool is_zero(std::uint64_t from, std::uint64_t to) const {
    return from == to ||
           read_bits<std::uint64_t>(cursor_.words, from, static_cast<std::uint32_t>(to - from)) == 0;
  }
  [[nodiscard]] std::uint64_t offset(std::uint64_t part) const {
    const std::uint32_t bits = shard_.layout.offset_bits;
    return read_bits<std::uint64_t>(cursor_.words, part * bits, bits);
  }

  bool begin_parts() {
    cursor_.at = shard_.layout.strings_at;
    if (!is_zero(ShardLayout::offsets(sizes_) * sizes_.offset_bits, shard_.layout.strings_at))
      return fail("it has bits behind its offsets");
    return offset(0) == 0 || fail("its first offset is not 0");
  }
  bool check_parts() {
    const std::uint64_t parts = sizes_.buckets + sizes_.large_groups;
    for (part_ = 0; part_ < parts; ++part_) {
      const std::uint64_t most = 64 * sizes_.words - shard_.layout.strings_at, end = offset(part_ + 1);
      if (end > most) return fail_here("does not end within the payload");
      end_ = shard_.layout.strings_at + end;
      if (end_ < cursor_.at) return fail_here("ends before it begins");
      if (!(part_ < sizes_.buckets ? check_bucket() : check_record())) return false;
      if (cursor_.at != end_) return fail_here("has not as many bits as it takes");
    }
    return true;
  }
  bool end_parts() {
    if (bits_of(end_ - shard_.layout.strings_at) != sizes_.offset_bits)
      return fail("its offsets have another width than the last of them");
    if ((end_ + 63) / 64 != sizes_.words) return fail("its payload is longer than what is in it");
    if (!is_zero(end_, 64 * sizes_.words)) return fail("it has bits behind its last part");
    if (kmers_ != sizes_.kmers) return fail("it has not as many k-mers as it says");
    if (groups_ != sizes_.groups) return fail("it has not as many groups as it says");
    if (large_groups_ != sizes_.large_groups) return fail("it has not as many large groups as it says");
    if (buckets_for(strings_, shard_.layout.rest_bits) != sizes_.buckets)
      return fail("it has not as many buckets as so many strings have");
    return true;
  }

  /// Reads a number in Elias's gamma code: false when it has no end, or ends behind its part.
  static bool read_gamma(BitCursor& from, std::uint64_t end, std::uint64_t& number) {
    if (from.peek(64) == 0) return false;
    number = from.read_gamma();
    return from.at <= end;
  }

  bool check_bucket() {
    const BitCursor begin = cursor_;
    const std::uint64_t first_id = ids_end_;
    ids_end_ = shard_.layout.first_of(part_ + 1);
    std::uint64_t strings = 0;
    if (!read_gamma(cursor_, end_, strings)) return fail_here("has no number of strings");
    // Each has a flag and lengths.
    const std::uint64_t left = end_ - cursor_.at;
    if (--strings > left || strings * (1 + shard_.layout.length_bits) > left)
      return fail_here("has more strings than bits for them");
    if (strings == 0) return true;
    const Bucket bucket(shard_, begin);
    if (bucket.bases_at > end_) return fail_here("has more groups than bits for them");
    if (read_bits<std::uint64_t>(cursor_.words, bucket.flags_at, 1) == 0)
      return fail_here("begins with a string of no group");
    strings_ += strings;
    groups_ += bucket.groups;
    return check_lengths(bucket) && check_groups(bucket, ids_end_ - first_id);
  }
  /// Returns the number of strings of the group that begins with one, or, of groups that are too large, some
  /// number above kMostInlineStrings.
  [[nodiscard]] std::uint32_t strings_of_group(const Bucket& bucket, std::uint64_t first) const {
    const std::uint64_t behind = bucket.strings - first - 1;
    const auto bits = static_cast<std::uint32_t>(behind < 64 ? behind : 64);
    const std::uint32_t others =
        trailing_zeros(read_bits<std::uint64_t>(cursor_.words, bucket.flags_at + first + 1, bits));
    return 1 + (others < bits ? others : bits);
  }
  /// Reads the lengths of a bucket, and finds where counts begin: `cursor_` moves there.
  bool check_lengths(const Bucket& bucket) {
    BitCursor codes{cursor_.words, bucket.lengths_at};
    std::uint64_t bits = 0, largest = 0;
    if (lengths_.size() < bucket.strings) lengths_.resize(bucket.strings);
    for (std::uint64_t i = 0; i < bucket.strings; ++i) {
      const std::uint64_t code = read_short(codes, shard_.layout.length_bits);
      largest = code > largest ? code : largest;
      lengths_[i] = shard_.lengths[code];
      bits += shard_.base_bits(lengths_[i]);
    }
    if (largest > large_) return fail_here("has a string of no length");
    cursor_.at = bucket.bases_at + bits;
    return cursor_.at <= end_ || fail_here("has more bases than bits for them");
  }
  /// Reads everything else of a bucket, which has a number of ids. `cursor_` is at the counts.
  bool check_groups(const Bucket& bucket, std::uint64_t ids) {
    BitCursor remainders{cursor_.words, bucket.remainders_at}, bases{cursor_.words, bucket.bases_at},
        codes = cursor_;
    is_there_.assign((ids + 63) / 64, 0);
    for (std::uint64_t i = 0; i < bucket.strings;) {
      const std::uint64_t remainder = read_short(remainders, shard_.layout.remainder_bits);
      if (remainder >= ids) return fail_here("has a group of another bucket");
      const std::uint64_t bit = std::uint64_t{1} << remainder % 64;
      if ((is_there_[remainder / 64] & bit) != 0) return fail_here("has a group twice");
      is_there_[remainder / 64] |= bit;
      const std::uint32_t strings = strings_of_group(bucket, i);
      if (!check_group(&lengths_[i], strings, bases, codes)) return false;
      i += strings;
    }
    cursor_ = codes;
    return true;
  }
  bool check_group(const FlankLengths* lengths, std::uint32_t strings, BitCursor& bases, BitCursor& codes) {
    if (strings > kMostInlineStrings) return fail_here("has a large group without a record");
    for (std::uint32_t i = 0; i < strings; ++i) {
      const FlankLengths string = lengths[i];
      if (string.is_large())
        return strings == 1 ? check_number(bases) : fail_here("has a large group beside strings");
      if (strings == 1) {
        bases.at += 2 * string.bases();
      } else {
        small_group_[i] = bounded(read_string(string, bases));
      }
      kmers_ += shard_.kmers(string);
      if (!check_counts(shard_.kmers(string), codes, end_)) return false;
    }
    return are_distinct(strings) || fail_here("has a k-mer twice");
  }
  bool check_number(BitCursor& numbers) {
    return numbers.read(shard_.layout.large_bits) == large_groups_++ ||
           fail_here("has large groups out of order");
  }
  [[nodiscard]] CheckedString read_string(FlankLengths lengths, BitCursor& bases) const {
    const Flanks left = bases.template read_flank<Flanks>(lengths.left);
    return {lengths, left, bases.template read_flank<Flanks>(lengths.right)};
  }
  [[nodiscard]] static BoundedFlanks bounded(const CheckedString& string) {
    return {string.left, string.right, end_bit(string.lengths.left), end_bit(string.lengths.right)};
  }
  /// Returns the lowest bit behind so many bases, or 0 where that is behind all bits.
  [[nodiscard]] static Flanks end_bit(std::uint32_t bases) {
    return 2 * bases < 8 * sizeof(Flanks) ? Flanks{1} << 2 * bases : Flanks{0};
  }
  /// True when no two strings of the group have a k-mer in common.
  [[nodiscard]] bool are_distinct(std::uint32_t strings) const {
    constexpr std::uint32_t kAll = 4 * sizeof(Flanks);
    for (std::uint32_t i = 1; i < strings; ++i) {
      const BoundedFlanks& a = small_group_[i];
      for (std::uint32_t j = 0; j < i; ++j) {
        const BoundedFlanks& b = small_group_[j];
        const std::uint32_t left = common_bases((a.left ^ b.left) | a.left_end | b.left_end, Flanks{0}, kAll);
        const std::uint32_t right =
            common_bases((a.right ^ b.right) | a.right_end | b.right_end, Flanks{0}, kAll);
        if (left + right >= n_) return false;
      }
    }
    return true;
  }
  /// Reads the counts of a string that may take the bits up to `end`.
  bool check_counts(std::uint32_t kmers, BitCursor& codes, std::uint64_t end) {
    if (is_all_ones(codes)) return codes.at <= end || fail_here("has a count without an end");
    std::uint64_t width = 0, smallest = 0;
    if (!read_two(codes, end, width, smallest)) return fail_here("has a count without an end");
    if (--width > 64) return fail_here("has a count of more than 64 bits");
    BitCursor beyond = codes;
    codes.at += width * kmers;
    if (codes.at > end) return fail_here("has more counts than bits for them");
    const std::uint64_t most = UINT64_MAX - smallest;
    if (most >= (width == 64 ? UINT64_MAX : (std::uint64_t{1} << width) - 1)) return true;
    for (std::uint32_t i = 0; i < kmers; ++i) {
      if (beyond.read(static_cast<std::uint32_t>(width)) > most)
        return fail_here("has a count of more than 64 bits");
    }
    return true;
  }
  /// Reads the two bits that say that all counts are 1, if they do. Most strings are errors of the sequencer
  /// or of a genome, and where they end is known before their bits have come from memory.
  static bool is_all_ones(BitCursor& codes) {
    constexpr std::uint64_t kTwoOnes = 3;
    BitCursor peek = codes;
    if (read_short(peek, 2) != kTwoOnes) return false;
    codes.at = peek.at;
    return true;
  }
  /// Reads two numbers in gamma code: of small ones, from the same 64 bits.
  static bool read_two(BitCursor& from, std::uint64_t end, std::uint64_t& first, std::uint64_t& second) {
    BitCursor peek = from;
    const GammaPair<std::uint64_t> both(read_short(peek, kShortBits));
    if (both.bits > kShortBits) return read_gamma(from, end, first) && read_gamma(from, end, second);
    first = both.first;
    second = both.second;
    from.at += both.bits;
    return from.at <= end;
  }

  bool check_record() {
    const BitCursor begin = cursor_;
    std::uint64_t strings = 0, kmers = 0, count_bits = 0;
    if (!read_gamma(cursor_, end_, strings) || !read_gamma(cursor_, end_, kmers) ||
        !read_gamma(cursor_, end_, count_bits))
      return fail_here("has a number without an end");
    if (strings <= kMostInlineStrings) return fail_here("has too few strings for a record");
    if (kmers < strings) return fail_here("has fewer k-mers than strings");
    if (kmers > UINT32_MAX) return fail_here("has 2^32 k-mers or more");
    if (count_bits > end_ - cursor_.at) return fail_here("has more counts than bits for them");
    // Now no number of bits is too large to be added.
    const LargeGroup record(shard_, begin);
    if (record.numbers_at + kmers * record.number_bits != end_)
      return fail_here("has not as many bits as it takes");
    cursor_.at = end_;
    kmers_ += kmers;
    return check_strings(record) && check_layer_begins(record) && check_layers(record);
  }
  /// Reads the strings of a record, compares marks and sums, and counts where strings begin and end.
  bool check_strings(const LargeGroup& record) {
    BitCursor lengths{cursor_.words, record.lengths_at}, marks{cursor_.words, record.marks_at},
        bases{cursor_.words, record.bases_at}, codes{cursor_.words, record.counts_at};
    begun_.assign(n_ + 2, 0);
    ended_.assign(n_ + 2, 0);
    for (std::uint64_t i = 0; i < record.strings; ++i) {
      const std::uint64_t code = read_short(lengths, shard_.layout.length_bits);
      if (code >= large_) return fail_here("has a string of no length");
      if (i % kStringsPerMark == 0) {
        const std::uint64_t bases_mark = marks.read(record.base_mark_bits);
        if (2 * bases_mark != bases.at - record.bases_at ||
            marks.read(record.count_mark_bits) != codes.at - record.counts_at)
          return fail_here("has a mark at another string");
      }
      const FlankLengths string = shard_.lengths[code];
      if (2 * string.bases() > record.counts_at - bases.at)
        return fail_here("has more bases than bits for them");
      bases.at += 2 * string.bases();
      ++begun_[n_ - string.right];
      ++ended_[string.left + 1u];
      if (!check_counts(shard_.kmers(string), codes, record.begins_at)) return false;
    }
    // So many bases of so many strings are so many k-mers.
    if (bases.at != record.counts_at) return fail_here("has not as many k-mers as it says");
    return codes.at == record.begins_at || fail_here("has not as many bits of counts as it says");
  }
  bool check_layer_begins(const LargeGroup& record) {
    std::uint64_t begin = 0, strings = 0;
    for (std::uint32_t layer = 0; layer <= n_ + 1; ++layer) {
      if (record.layer_begin(shard_, layer) != begin) return fail_here("has layers of other sizes");
      strings += begun_[layer] - ended_[layer];
      begin += strings;
    }
    return true;
  }
  [[nodiscard]] CheckedString string_of(const LargeGroup& record, std::uint64_t number) const {
    BitCursor bases = record.bases_of(shard_, number);
    return read_string(record.lengths_of(shard_, number), bases);
  }
  /// As many strings as a layer has, all of them with a k-mer in it, no two the same: these are all.
  bool check_layers(const LargeGroup& record) {
    BitCursor numbers{cursor_.words, record.numbers_at};
    for (std::uint32_t layer = 0; layer <= n_; ++layer) {
      const std::uint64_t kmers = record.layer_begin(shard_, layer + 1) - record.layer_begin(shard_, layer);
      Flanks previous = 0;
      for (std::uint64_t i = 0; i < kmers; ++i) {
        const std::uint64_t number = numbers.read(record.number_bits);
        const bool is_there = number < record.strings;
        const CheckedString string = is_there ? string_of(record, number) : CheckedString{};
        if (!is_there || !string.has(layer, n_))
          return fail_here("has a string in a layer that it is not in");
        const Flanks flanks = flanks_at(string.left, string.right, layer, n_);
        if (i > 0 && flanks <= previous) return fail_here("has a layer out of order");
        previous = flanks;
      }
    }
    return true;
  }

  const ShardSizes sizes_;
  const ShardBits shard_;
  const std::uint32_t n_;
  const std::uint64_t large_;  ///< the code of lengths that means a large group
  std::string fault_;
  std::uint64_t part_ = 0;  ///< number of the bucket, or of the record behind all buckets
  BitCursor cursor_;
  std::uint64_t end_ = 0;                ///< of the part
  std::uint64_t ids_end_ = 0;            ///< of the bucket
  std::vector<FlankLengths> lengths_;    ///< of the bucket's strings
  std::vector<std::uint64_t> is_there_;  ///< a bit for each id of the bucket
  std::array<BoundedFlanks, kMostInlineStrings> small_group_;
  std::vector<std::uint64_t> begun_, ended_;  ///< strings of a large group whose first or last layer it is
  std::uint64_t kmers_ = 0, groups_ = 0, large_groups_ = 0;
  std::uint64_t strings_ = 0;  ///< in buckets: a large group is one
};

}  // namespace

std::optional<std::string> find_shard_fault(const GroupShape& shape, const ShardSizes& sizes,
                                            const std::uint64_t* words, const FlankLengths* lengths) {
  std::string fault = with_flanks_type(
      shape.k, [&]<class Flanks>(Flanks) { return ShardCheck<Flanks>(shape, sizes, words, lengths).run(); });
  if (fault.empty()) return std::nullopt;
  return fault;
}

}  // namespace warpmer::groups
