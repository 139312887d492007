#pragma once
/// A shard as a list of its fields, to be written again with other ones: offsets and sizes follow.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "groups/shard_bits.h"
#include "groups/shard_encoder.h"

namespace warpmer::tests {

enum class FieldKind {
  strings,
  flag,
  remainder,
  length,
  bases,
  large_number,
  count_head,
  count,
  record_head,
  mark,
  begin,
  number
};

struct Field {
  FieldKind kind;
  std::uint32_t width;  ///< 0: a number in gamma code
  Key128 value;
  std::uint64_t string;  ///< number of the string in its part, of what belongs to one
};
using Part = std::vector<Field>;

struct ShardFields {
  std::uint64_t buckets = 0;
  std::vector<Part> parts;
};

/// Takes a good shard apart.
class FieldReader {
 public:
  explicit FieldReader(const groups::ShardBits& shard, const groups::ShardSizes& sizes)
      : shard_(shard), sizes_(sizes) {}

  ShardFields read() {
    ShardFields fields;
    fields.buckets = sizes_.buckets;
    for (std::uint64_t i = 0; i < sizes_.buckets; ++i) fields.parts.push_back(bucket(shard_.part(i)));
    for (std::uint64_t i = 0; i < sizes_.large_groups; ++i)
      fields.parts.push_back(record(shard_.part(sizes_.buckets + i)));
    return fields;
  }

 private:
  void take(FieldKind kind, std::uint32_t width, std::uint64_t string = 0) {
    if (width > 0) part_.push_back({kind, width, wide(width), string});
  }
  Key128 wide(std::uint32_t width) {
    const Key128 value = read_bits<Key128>(from_.words, from_.at, width);
    from_.at += width;
    return value;
  }
  std::uint64_t take_gamma(FieldKind kind, std::uint64_t string = 0) {
    const std::uint64_t value = from_.read_gamma();
    part_.push_back({kind, 0, value, string});
    return value;
  }
  void take_bases(groups::FlankLengths lengths, std::uint64_t string) {
    take(FieldKind::bases, 2u * lengths.left, string);
    take(FieldKind::bases, 2u * lengths.right, string);
  }
  void take_counts(groups::FlankLengths lengths, std::uint64_t string) {
    const auto width = static_cast<std::uint32_t>(take_gamma(FieldKind::count_head, string) - 1);
    take_gamma(FieldKind::count_head, string);
    for (std::uint32_t i = 0; i < shard_.kmers(lengths); ++i) take(FieldKind::count, width, string);
  }

  Part bucket(groups::BitCursor at) {
    const groups::Bucket bucket(shard_, at);
    const auto lengths_of = [&](std::uint64_t string) {
      return shard_.lengths_at(bucket.lengths_at + string * shard_.layout.length_bits);
    };
    part_.clear();
    from_ = at;
    take_gamma(FieldKind::strings);
    for (std::uint64_t i = 0; i < bucket.strings; ++i) take(FieldKind::flag, 1, i);
    for (std::uint64_t i = 0; i < bucket.groups; ++i)
      take(FieldKind::remainder, shard_.layout.remainder_bits);
    for (std::uint64_t i = 0; i < bucket.strings; ++i) take(FieldKind::length, shard_.layout.length_bits, i);
    for (std::uint64_t i = 0; i < bucket.strings; ++i) {
      if (lengths_of(i).is_large()) {
        take(FieldKind::large_number, shard_.layout.large_bits, i);
      } else {
        take_bases(lengths_of(i), i);
      }
    }
    for (std::uint64_t i = 0; i < bucket.strings; ++i) {
      if (!lengths_of(i).is_large()) take_counts(lengths_of(i), i);
    }
    return part_;
  }
  Part record(groups::BitCursor at) {
    const groups::LargeGroup record(shard_, at);
    part_.clear();
    from_ = at;
    for (int i = 0; i < 3; ++i) take_gamma(FieldKind::record_head);
    for (std::uint64_t i = 0; i < record.strings; ++i) take(FieldKind::length, shard_.layout.length_bits, i);
    for (std::uint64_t i = 0; i < record.strings; i += groups::kStringsPerMark) {
      take(FieldKind::mark, record.base_mark_bits);
      take(FieldKind::mark, record.count_mark_bits);
    }
    for (std::uint64_t i = 0; i < record.strings; ++i) take_bases(record.lengths_of(shard_, i), i);
    for (std::uint64_t i = 0; i < record.strings; ++i) take_counts(record.lengths_of(shard_, i), i);
    for (std::uint32_t i = 0; i < shard_.flank_bases + 2; ++i) take(FieldKind::begin, record.begin_bits);
    for (std::uint64_t i = 0; i < record.kmers; ++i) take(FieldKind::number, record.number_bits);
    return part_;
  }

  const groups::ShardBits& shard_;
  groups::ShardSizes sizes_;
  groups::BitCursor from_{};
  Part part_;
};

/// Writes fields with the offsets that they give, and counts what the sizes say: the k-mers that lengths
/// stand for, the groups that flags begin. Offsets are `wider` bits wider than they should be.
inline groups::EncodedShard write_fields(const ShardFields& fields, const groups::GroupShape& shape,
                                         const std::vector<groups::FlankLengths>& lengths,
                                         std::uint32_t wider = 0) {
  groups::EncodedShard shard;
  std::vector<std::uint64_t> words, ends{0};
  BitWriter out(std::back_inserter(words));
  std::uint64_t bits = 0;
  for (const Part& part : fields.parts) {
    for (const Field& field : part) {
      if (field.kind == FieldKind::flag) shard.sizes.groups += field.value != 0 ? 1 : 0;
      if (field.kind == FieldKind::length) {
        const groups::FlankLengths string = lengths[static_cast<std::size_t>(field.value) % lengths.size()];
        if (!string.is_large()) shard.sizes.kmers += string.bases() - shape.flank_bases() + 1;
      }
      if (field.width == 0) {
        groups::write_gamma(out, static_cast<std::uint64_t>(field.value));
        bits += groups::gamma_bits(static_cast<std::uint64_t>(field.value));
      } else {
        out.write_wide(field.value, field.width);
        bits += field.width;
      }
    }
    ends.push_back(bits);
  }
  out.flush();
  shard.sizes.buckets = fields.buckets;
  shard.sizes.large_groups = fields.parts.size() - fields.buckets;
  const std::uint32_t offset_bits = groups::bits_of(bits) + wider;
  shard.sizes.offset_bits = offset_bits;
  BitWriter offsets(std::back_inserter(shard.payload));
  for (const std::uint64_t end : ends) {
    if (offset_bits > 0) offsets.write(end, offset_bits);
  }
  offsets.flush();
  shard.payload.insert(shard.payload.end(), words.begin(), words.end());
  shard.sizes.words = shard.payload.size();
  return shard;
}

}  // namespace warpmer::tests
