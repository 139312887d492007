#pragma once
/// Strings of groups into the bits of a shard.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "groups/path_cover.h"
#include "groups/shard_layout.h"
#include "kmer/bit_stream.h"
#include "kmer/kmer.h"

namespace warpmer::groups {

/// A shard in memory, as it will lie in the file.
struct EncodedShard {
  ShardSizes sizes;
  std::vector<std::uint64_t> payload;  ///< `sizes.words` words
};

/// Appends a number of 1 or more in Elias's gamma code (Elias 1975, Universal codeword sets and
/// representations of the integers): its length in unary with the one last, so that counting zeros reads it.
template <class Words>
void write_gamma(BitWriter<Words>& out, std::uint64_t v) {
  const std::uint32_t behind = bits_of(v >> 1);  // the highest one
  out.write(std::uint64_t{1} << behind, behind + 1);
  if (behind > 0) out.write(v & ~(std::uint64_t{1} << behind), behind);
}
constexpr std::uint32_t gamma_bits(std::uint64_t v) { return 2 * bits_of(v) - 1; }

/// Makes the bits of one shard from its groups. One per thread; its memory is reused.
template <class Flanks>
class ShardEncoder {
 public:
  explicit ShardEncoder(std::uint32_t k) : shape_(k), n_(shape_.flank_bases()) {}

  /// Begins a shard.
  void begin() {
    groups_.clear();
    strings_.clear();
    counts_.clear();
    kmers_ = large_groups_ = 0;
  }

  /// Adds a group: `rest` is its id below the shard's number, larger than those before. `append(strings,
  /// counts)` appends its strings in their order, and their counts (1 or more), and returns the number of
  /// k-mers: a GroupCounter's `finish` or a PathCover's `cover`. A group without k-mers is none.
  template <class Append>
  void add_group(std::uint32_t rest, Append&& append) {
    const std::size_t first = strings_.size();
    const std::uint64_t kmers = append(strings_, counts_);
    if (kmers == 0) return;
    kmers_ += kmers;
    groups_.push_back({first, static_cast<std::uint32_t>(strings_.size() - first), rest});
    large_groups_ += groups_.back().is_large() ? 1 : 0;
  }

  /// Ends the shard. `spent` is a payload of no more use, whose memory may be taken.
  EncodedShard finish(std::vector<std::uint64_t>&& spent = {}) {
    EncodedShard shard;
    shard.sizes.kmers = kmers_;
    shard.sizes.groups = groups_.size();
    shard.sizes.large_groups = large_groups_;
    if (groups_.empty()) return shard;
    std::uint64_t strings = 0;
    for (const Group& group : groups_) strings += group.is_large() ? 1 : group.strings;
    shard.sizes.buckets = buckets_for(strings, shape_.rest_bits());
    order_groups(ShardLayout(shape_, shard.sizes));
    // Widths of offsets need the sizes of buckets, and these nothing of offsets.
    measure(ShardLayout(shape_, shard.sizes));
    shard.sizes.offset_bits = bits_of(ends_.back());
    const ShardLayout layout(shape_, shard.sizes);
    shard.sizes.words = (layout.strings_at + ends_.back() + 63) / 64;
    const std::size_t room = shard.sizes.words + kReadAheadWords;
    if (spent.capacity() >= room) shard.payload = std::move(spent);
    // Not more than it needs: it may be kept.
    shard.payload.reserve(room);
    shard.payload.resize(room);
    write(layout, shard.payload.data());
    shard.payload.resize(shard.sizes.words);
    return shard;
  }

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return groups_.capacity() * sizeof(Group) + strings_.capacity() * sizeof(String) +
           (counts_.capacity() + ends_.capacity() + layer_begins_.capacity()) * sizeof(std::uint64_t) +
           in_layer_.capacity() * sizeof(in_layer_[0]);
  }
  /// Gives memory back.
  void clear() { *this = ShardEncoder(shape_.k); }
  /// Returns the number of strings of the shard that was finished last.
  [[nodiscard]] std::size_t strings() const { return strings_.size(); }

 private:
  struct Group {
    std::size_t first;  ///< of its strings
    std::uint32_t strings, rest;
    [[nodiscard]] bool is_large() const { return strings > kMostInlineStrings; }
  };
  using String = GroupString<Flanks>;

  [[nodiscard]] std::span<const String> strings_of(const Group& group) const {
    return {strings_.data() + group.first, group.strings};
  }
  [[nodiscard]] std::uint64_t base_bits(const String& string) const {
    return 2 * (string.left_bases + string.right_bases);
  }
  /// Returns the bits of each count of a string beyond its smallest.
  [[nodiscard]] static std::uint32_t spread_bits(const String& string) {
    return bits_of(string.largest_count - string.smallest_count);
  }
  [[nodiscard]] std::uint64_t count_bits(const String& string) const {
    const std::uint32_t spread = spread_bits(string);
    return gamma_bits(spread + 1) + gamma_bits(string.smallest_count) +
           std::uint64_t{spread} * string.kmers(n_);
  }

  /// Puts the groups of each bucket in the order of their largest counts: what is asked for most often is
  /// found first.
  void order_groups(const ShardLayout& layout) {
    const auto is_sooner = [&](const Group& a, const Group& b) {
      const std::uint64_t x = strings_[a.first].largest_count, y = strings_[b.first].largest_count;
      return x != y ? x > y : a.rest < b.rest;
    };
    for (std::size_t begin = 0, end = 0; begin < groups_.size(); begin = end) {
      const std::uint64_t bucket = layout.bucket_of(groups_[begin].rest);
      while (end < groups_.size() && layout.bucket_of(groups_[end].rest) == bucket) ++end;
      std::sort(groups_.data() + begin, groups_.data() + end, is_sooner);
    }
  }

  /// Fills `ends_` with where each bucket, then each large group's record, ends, from the first bucket's
  /// beginning.
  void measure(const ShardLayout& layout) {
    ends_.clear();
    std::uint64_t end = 0;
    for (std::size_t at = 0, bucket = 0; bucket < layout.buckets; ++bucket) {
      std::uint64_t strings = 0;
      for (; at < groups_.size() && layout.bucket_of(groups_[at].rest) == bucket; ++at) {
        const Group& group = groups_[at];
        end += layout.remainder_bits;
        strings += group.is_large() ? 1 : group.strings;
        if (group.is_large()) {
          end += layout.large_bits;
          continue;
        }
        for (const String& string : strings_of(group)) end += base_bits(string) + count_bits(string);
      }
      end += gamma_bits(strings + 1) + strings * (1 + layout.length_bits);
      ends_.push_back(end);
    }
    for (Group& group : groups_) {
      if (!group.is_large()) continue;
      end += record_bits(group, layout);
      ends_.push_back(end);
    }
  }

  /// The numbers that the record of a large group begins with, and the widths that follow from them.
  struct Record {
    std::uint64_t strings, kmers, bases, count_bits;
    std::uint32_t base_mark_bits, count_mark_bits, number_bits, begin_bits;
  };
  [[nodiscard]] Record record_of(const Group& group) const {
    Record record{};
    record.strings = group.strings;
    for (const String& string : strings_of(group)) {
      record.kmers += string.kmers(n_);
      record.bases += string.left_bases + string.right_bases;
      record.count_bits += count_bits(string);
    }
    record.base_mark_bits = bits_of(record.bases);
    record.count_mark_bits = bits_of(record.count_bits);
    record.number_bits = bits_of(record.strings - 1);
    record.begin_bits = bits_of(record.kmers);
    return record;
  }
  [[nodiscard]] std::uint64_t record_bits(const Group& group, const ShardLayout& layout) const {
    const Record record = record_of(group);
    const std::uint64_t marks = (record.strings + kStringsPerMark - 1) / kStringsPerMark;
    return gamma_bits(record.strings) + gamma_bits(record.kmers) + gamma_bits(record.count_bits) +
           record.strings * layout.length_bits + marks * (record.base_mark_bits + record.count_mark_bits) +
           2 * record.bases + record.count_bits + (n_ + 2) * record.begin_bits +
           record.kmers * record.number_bits;
  }

  void write(const ShardLayout& layout, std::uint64_t* words) {
    BitWriter<> offsets(words);
    offsets.write(0, layout.offset_bits);
    for (const std::uint64_t end : ends_) offsets.write(end, layout.offset_bits);
    offsets.flush();
    BitWriter<> out(words + layout.strings_at / 64);
    std::uint64_t large = 0;
    for (std::size_t at = 0, bucket = 0; bucket < layout.buckets; ++bucket) {
      std::size_t end = at;
      while (end < groups_.size() && layout.bucket_of(groups_[end].rest) == bucket) ++end;
      write_bucket(layout, bucket, {groups_.data() + at, end - at}, large, out);
      at = end;
    }
    for (const Group& group : groups_) {
      if (group.is_large()) write_record(layout, group, out);
    }
    out.flush();
  }

  void write_bucket(const ShardLayout& layout, std::uint64_t bucket, std::span<const Group> groups,
                    std::uint64_t& large, BitWriter<>& out) const {
    std::uint64_t strings = 0;
    for (const Group& group : groups) strings += group.is_large() ? 1 : group.strings;
    write_gamma(out, strings + 1);
    for (const Group& group : groups) {
      const std::uint32_t bits = group.is_large() ? 1 : group.strings;
      out.write(1, bits);  // a one for the first, zeros for the others
    }
    const auto first = static_cast<std::uint32_t>(layout.first_of(bucket));
    if (layout.remainder_bits > 0) {
      for (const Group& group : groups) out.write(group.rest - first, layout.remainder_bits);
    }
    for (const Group& group : groups) {
      if (group.is_large()) {
        out.write(StringLengths(n_).large(), layout.length_bits);
      } else {
        for (const String& string : strings_of(group)) write_lengths(string, layout, out);
      }
    }
    for (const Group& group : groups) {
      if (!group.is_large()) {
        for (const String& string : strings_of(group)) write_bases(string, out);
      } else if (const std::uint64_t number = large++; layout.large_bits > 0) {
        out.write(number, layout.large_bits);
      }
    }
    for (const Group& group : groups) {
      if (group.is_large()) continue;
      for (const String& string : strings_of(group)) write_counts(string, out);
    }
  }

  void write_lengths(const String& string, const ShardLayout& layout, BitWriter<>& out) const {
    out.write(StringLengths::code(string.left_bases, string.kmers(n_)), layout.length_bits);
  }
  void write_bases(const String& string, BitWriter<>& out) const {
    out.write_wide(string.left, 2 * string.left_bases);
    out.write_wide(string.right, 2 * string.right_bases);
  }
  void write_counts(const String& string, BitWriter<>& out) const {
    const std::uint32_t spread = spread_bits(string);
    write_gamma(out, spread + 1);
    write_gamma(out, string.smallest_count);
    if (spread == 0) return;
    for (std::uint32_t i = 0; i < string.kmers(n_); ++i)
      out.write(counts_[string.first_count + i] - string.smallest_count, spread);
  }

  void write_record(const ShardLayout& layout, const Group& group, BitWriter<>& out) {
    const Record record = record_of(group);
    const std::span<const String> strings = strings_of(group);
    write_gamma(out, record.strings);
    write_gamma(out, record.kmers);
    write_gamma(out, record.count_bits);
    for (const String& string : strings) write_lengths(string, layout, out);
    std::uint64_t bases = 0, count_codes = 0;
    for (std::size_t i = 0; i < strings.size(); ++i) {
      if (i % kStringsPerMark == 0) {
        out.write(bases, record.base_mark_bits);
        out.write(count_codes, record.count_mark_bits);
      }
      bases += strings[i].left_bases + strings[i].right_bases;
      count_codes += count_bits(strings[i]);
    }
    for (const String& string : strings) write_bases(string, out);
    for (const String& string : strings) write_counts(string, out);
    write_layers(strings, record, out);
  }

  /// Writes, for each layer, the numbers of the strings that have a k-mer there, in order of its flanks.
  void write_layers(std::span<const String> strings, const Record& record, BitWriter<>& out) {
    layer_begins_.assign(n_ + 2, 0);
    for (const String& string : strings) {
      for (std::uint32_t layer = n_ - string.right_bases; layer <= string.left_bases; ++layer)
        ++layer_begins_[layer + 1];
    }
    for (std::uint32_t layer = 0; layer <= n_; ++layer) layer_begins_[layer + 1] += layer_begins_[layer];
    for (std::uint32_t layer = 0; layer <= n_ + 1; ++layer)
      out.write(layer_begins_[layer], record.begin_bits);
    for (std::uint32_t layer = 0; layer <= n_; ++layer) {
      in_layer_.clear();
      for (std::size_t i = 0; i < strings.size(); ++i) {
        if (layer <= strings[i].left_bases && layer >= n_ - strings[i].right_bases)
          in_layer_.push_back({flanks_in(strings[i], layer), i});
      }
      std::sort(in_layer_.begin(), in_layer_.end());
      for (const auto& [flanks, number] : in_layer_) out.write(number, record.number_bits);
    }
  }
  [[nodiscard]] Flanks flanks_in(const String& string, std::uint32_t layer) const {
    return flanks_at(string.left, string.right, layer, n_);
  }

  GroupShape shape_;
  std::uint32_t n_;
  std::vector<Group> groups_;
  std::vector<String> strings_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t kmers_ = 0, large_groups_ = 0;
  std::vector<std::uint64_t> ends_;
  std::vector<std::uint64_t> layer_begins_;
  std::vector<std::pair<Flanks, std::size_t>> in_layer_;
};

}  // namespace warpmer::groups
