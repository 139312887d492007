#pragma once
/// K-mers with counts for what freezes them, and texts that have many of one group or of one shard.

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "groups/group_key.h"
#include "random_text.h"
#include "unit/groups/random_sequences.h"

namespace warpmer::tests {

/// The k-mers of texts, counted: by shard and key, with hash and count.
template <class Kmer, class Key, class Flanks>
class CountedContent {
 public:
  using Keys = groups::GroupKeys<Key, Flanks>;
  struct Entry {
    Kmer hash;
    std::uint64_t count;
  };
  using Shards = std::map<std::pair<std::uint32_t, Key>, Entry>;

  CountedContent(std::uint32_t k, bool canonical) : params{k, canonical}, keys(k), hash_(k) {}

  void add(const std::string& text, std::uint64_t times) {
    for_each_kmer<Kmer>(text, params.k, [&](Kmer kmer) {
      if (params.canonical) kmer = canonical(kmer, params.k);
      const auto place = keys.place(kmer, params.canonical);
      Entry& entry = shards.try_emplace({place.shard, place.key}, Entry{hash_(kmer), 0}).first->second;
      entry.count += times;
    });
  }

  KmerParams params;
  Keys keys;
  Shards shards;

 private:
  KmerHash<Kmer> hash_;
};

/// Returns texts around m-mers that are often minimizers, of groups of one shard.
inline std::vector<std::string> texts_of_shard(std::uint32_t k, std::uint32_t shard,
                                               std::mt19937_64& random) {
  const groups::GroupShape shape(k);
  const GroupHash hash(shape.m);
  std::vector<std::string> texts;
  for (std::uint32_t rest = 0; rest < 1u << shape.rest_bits(); ++rest) {
    const std::uint32_t mmer = hash.inverse((shard << shape.rest_bits()) | rest);
    if (mmer > other_strand(mmer, shape.m) || minimizer_hash(mmer) >> 27 != 0) continue;
    std::string text = random_text(random, shape.flank_bases());
    for (std::uint32_t base = 0; base < shape.m; ++base) text += base_char((mmer >> (2 * base)) & 3);
    texts.push_back(text + random_text(random, shape.flank_bases()));
  }
  return texts;
}

/// A text around an m-mer that is the minimizer of nearly all its k-mers.
class OneMinimizer {
 public:
  OneMinimizer(std::uint32_t k, std::mt19937_64& random) : random_(random) {
    const groups::GroupShape shape(k);
    std::uint32_t smallest = UINT32_MAX;
    for (int i = 0; i < 1 << 16; ++i) {
      const auto mmer = static_cast<std::uint32_t>(random()) & ((1u << (2 * shape.m)) - 1);
      if (mmer > other_strand(mmer, shape.m) || minimizer_hash(mmer) > smallest) continue;
      smallest = minimizer_hash(mmer);
      minimizer_.clear();
      for (std::uint32_t base = 0; base < shape.m; ++base) minimizer_ += base_char((mmer >> (2 * base)) & 3);
    }
    left_ = random_text(random, shape.flank_bases());
    right_ = random_text(random, shape.flank_bases());
  }
  /// Returns the text with one of so many bases of its flanks changed.
  std::string changed(std::uint32_t out_of) {
    return changed(left_, out_of) + minimizer_ + changed(right_, out_of);
  }

 private:
  std::string changed(std::string text, std::uint32_t out_of) {
    for (char& c : text) {
      if (random_() % out_of == 0) c = base_char(static_cast<unsigned>(random_()));
    }
    return text;
  }
  std::mt19937_64& random_;
  std::string minimizer_, left_, right_;
};

inline std::uint64_t random_count(std::mt19937_64& random) {
  switch (random() % 16) {
    case 0:
      return 1 + random() % 100000;
    case 1:
      return 2;
    case 2:
      return 3 + random() % 30;
    default:
      return 1;
  }
}

/// Calls `f.template operator()<Kmer, Key, Flanks>()` with the types that k needs.
template <class F>
void with_types(std::uint32_t k, F&& f) {
  if (k <= kMaxNarrowK) {
    f.template operator()<Key64, Key64, Key64>();
  } else if (k <= 35) {
    f.template operator()<Key128, Key64, Key64>();
  } else if (k <= groups::kMaxNarrowFlanksK) {
    f.template operator()<Key128, Key128, Key64>();
  } else {
    f.template operator()<Key128, Key128, Key128>();
  }
}

inline const std::vector<std::uint32_t> kLengths = {13, 15, 21, 31, 32, 35, 36, 47, 48, 55, 63, 64};

}  // namespace warpmer::tests
