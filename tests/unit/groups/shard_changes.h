#pragma once
/// Changes of a shard that leave something of it: what tests of readers try.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "groups/shard_layout.h"
#include "kmer/kmer.h"
#include "unit/groups/shard_fields.h"

namespace warpmer::tests {

using Random = std::mt19937_64;

template <class T>
T& any_of(std::vector<T>& from, Random& random) {
  return from[random() % from.size()];
}
inline Key128 wide_random(Random& random) { return Key128{random()} << 64 | random(); }
inline std::uint64_t log_random(Random& random) { return random() >> (random() % 64); }

template <class Flanks>
Flanks random_flank(std::uint32_t bases, Random& random) {
  return static_cast<Flanks>(static_cast<Flanks>(wide_random(random)) & key_mask<Flanks>(bases));
}

inline void change_value(Field& field, Random& random) {
  const Key128 mask = field.width == 0 ? Key128{UINT64_MAX} : key_mask<Key128>(64) >> (128 - field.width);
  switch (random() % 6) {
    case 0:
      field.value = field.value + 1;
      break;
    case 1:
      field.value = field.value - 1;
      break;
    case 2:
      field.value = 0;
      break;
    case 3:
      field.value = mask;
      break;
    case 4:
      field.value = log_random(random);
      break;
    default:
      field.value = wide_random(random);
  }
  field.value &= mask;
  if (field.width == 0 && field.value == 0) field.value = 1;
}

/// Puts another string in the place of one, in all its fields.
inline void change_string(Part& part, std::uint32_t n, Random& random) {
  std::vector<std::uint64_t> strings;
  std::uint32_t length_bits = 0;
  for (const Field& field : part) {
    if (field.kind == FieldKind::length) {
      strings.push_back(field.string);
      length_bits = field.width;
    }
  }
  if (strings.empty()) return;
  const std::uint64_t string = any_of(strings, random);
  const auto left = static_cast<std::uint32_t>(random() % (n + 1));
  const auto kmers = static_cast<std::uint32_t>(1 + random() % (left + 1)), right = n - left + kmers - 1;
  const auto width = static_cast<std::uint32_t>(random() % 3 == 0 ? random() % 66 : 0);
  const std::uint64_t smallest = std::max<std::uint64_t>(1, log_random(random) >> (random() % 64));
  Part result;
  bool has_bases = false, has_counts = false;
  for (const Field& field : part) {
    const bool is_mine = field.string == string;
    if (is_mine && field.kind == FieldKind::length) {
      result.push_back({FieldKind::length, length_bits, groups::StringLengths::code(left, kmers), string});
    } else if (is_mine && (field.kind == FieldKind::bases || field.kind == FieldKind::large_number)) {
      if (has_bases) continue;
      has_bases = true;
      for (const std::uint32_t bases : {left, right}) {
        if (bases > 0)
          result.push_back({FieldKind::bases, 2 * bases, random_flank<Key128>(bases, random), string});
      }
    } else if (is_mine && (field.kind == FieldKind::count_head || field.kind == FieldKind::count)) {
      if (has_counts) continue;
      has_counts = true;
      result.push_back({FieldKind::count_head, 0, width + 1, string});
      result.push_back({FieldKind::count_head, 0, smallest, string});
      for (std::uint32_t i = 0; i < kmers && width > 0; ++i)
        result.push_back({FieldKind::count, width, random() >> (width < 64 ? 64 - width : 0), string});
    } else {
      result.push_back(field);
    }
  }
  part = result;
}

/// Begins a group with a string that was of the one before, or the other way round.
inline void change_flag(Part& part, Random& random) {
  std::vector<std::size_t> flags, remainders;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i].kind == FieldKind::flag) flags.push_back(i);
    if (part[i].kind == FieldKind::remainder) remainders.push_back(i);
  }
  if (flags.empty() || remainders.empty()) return;
  Field& flag = part[any_of(flags, random)];
  const auto at = part.begin() + static_cast<std::ptrdiff_t>(any_of(remainders, random));
  flag.value ^= 1;
  if (flag.value == 0) {
    part.erase(at);
  } else {
    Field other = *at;
    other.value = other.value + 1;
    other.value &= (Key128{1} << other.width) - 1;
    part.insert(at + 1, other);
  }
}

inline void change_fields(ShardFields& fields, std::uint32_t n, Random& random) {
  Part& part = any_of(fields.parts, random);
  if (part.empty()) return;
  const std::size_t a = random() % part.size(), b = random() % part.size();
  const auto at = [&](std::size_t i) { return part.begin() + static_cast<std::ptrdiff_t>(i); };
  switch (random() % 14) {
    case 0:
      part.erase(at(a));
      break;
    case 1:
      part.insert(at(a), Field(part[b]));
      break;
    case 2:
      std::swap(part[a], part[b]);
      break;
    case 3:
      part[a] = Field{part[a].kind, 1 + static_cast<std::uint32_t>(random() % 128), 0, 0};
      break;
    case 4:
      std::swap(part, any_of(fields.parts, random));
      break;
    case 5:
      part = Part(any_of(fields.parts, random));
      break;
    case 6:
      part.erase(at(std::min(a, b)), at(std::max(a, b)));
      break;
    case 7:
      change_flag(part, random);
      break;
    case 8:
    case 9:
    case 10:
      change_string(part, n, random);
      break;
    default:
      change_value(part[a], random);
  }
}

inline void change_words(std::vector<std::uint64_t>& words, Random& random) {
  if (words.empty()) return;
  std::uint64_t& word = any_of(words, random);
  switch (random() % 8) {
    case 0:
      word = random();
      break;
    case 1:
      word = any_of(words, random);
      break;
    case 2:
      word = 0;
      break;
    case 3:
      word = UINT64_MAX;
      break;
    case 4:
      word = word >> 1 | any_of(words, random) << 63;
      break;
    default:
      word ^= std::uint64_t{1} << (random() % 64);
  }
}

inline void change_sizes(groups::ShardSizes& sizes, Random& random) {
  const auto other = [&](std::uint64_t size) {
    switch (random() % 4) {
      case 0:
        return size + 1;
      case 1:
        return size - 1;
      case 2:
        return random();
      default:
        return log_random(random);
    }
  };
  switch (random() % 6) {
    case 0:
      sizes.kmers = other(sizes.kmers);
      break;
    case 1:
      sizes.groups = other(sizes.groups);
      break;
    case 2:
      sizes.buckets = other(sizes.buckets);
      break;
    case 3:
      sizes.large_groups = other(sizes.large_groups);
      break;
    case 4:
      sizes.offset_bits = other(sizes.offset_bits);
      break;
    default:
      sizes.words = other(sizes.words);
  }
}

}  // namespace warpmer::tests
