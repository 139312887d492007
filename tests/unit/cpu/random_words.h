#pragma once
/// Super-k-mers around minimizers, of random bases.

#include <cstdint>
#include <random>

#include "cpu/simd/word_format.h"
#include "groups/flanked_word.h"
#include "groups/group_key.h"
#include "kmer/kmer.h"

namespace warpmer::tests {

/// Makes words of one k, and takes them apart by definition.
template <int Words>
class RandomWords {
 public:
  using Format = groups::FlankedWordFormat<Words>;
  using Flanks = typename Format::Flanks;
  using Word = groups::FlankedWord<Words>;

  explicit RandomWords(std::uint32_t k) : shape_(k), format_(shape_), pages_(k) {}

  /// Returns a word with so many bases beside its minimizer, at least n together, all of them random or all
  /// the last letter's.
  Word make(std::mt19937_64& random, std::uint32_t left, std::uint32_t right, bool is_random = true) const {
    const auto rest =
        static_cast<std::uint32_t>(is_random ? random() : ~0ull) & ((1u << shape_.rest_bits()) - 1);
    return format_.pack(rest,
                        {0, left, right, flank(random, left, is_random), flank(random, right, is_random)});
  }
  /// Returns one of any length.
  Word make(std::mt19937_64& random) const {
    const std::uint32_t n = shape_.flank_bases();
    for (;;) {
      const auto left = static_cast<std::uint32_t>(random() % (n + 1)),
                 right = static_cast<std::uint32_t>(random() % (n + 1));
      if (left + right >= n && left + right <= format_.most_bases()) return make(random, left, right);
    }
  }

  /// Returns the word as it comes from its page.
  [[nodiscard]] cpu::StoredFlankedWord<Words> stored(const Word& word) const {
    char page[2 * sizeof(Word)];
    cpu::StoredFlankedWord<Words> stored;
    pages_.write(word, page);
    pages_.read(page, stored);
    return stored;
  }

  /// Calls `visit(key)` with the key of each k-mer of a word.
  template <class Key, class Visit>
  void for_each_key(const Word& word, Visit&& visit) const {
    const groups::GroupKeys<Key, Key> keys(shape_.k);
    const auto super = format_.super_kmer(word);
    const std::uint32_t n = shape_.flank_bases();
    for (std::uint32_t layer = n - super.right_bases; layer <= super.left_bases; ++layer)
      visit(keys.pack(format_.rest(word), layer, groups::flanks_at(super.left, super.right, layer, n)));
  }

 private:
  static Flanks flank(std::mt19937_64& random, std::uint32_t bases, bool is_random) {
    const auto all =
        is_random ? static_cast<Flanks>(Key128{random()} << 64 | random()) : static_cast<Flanks>(~Flanks{0});
    return static_cast<Flanks>(all & key_mask<Flanks>(bases));
  }

  groups::GroupShape shape_;
  Format format_;
  cpu::WordFormat<Word> pages_;
};

}  // namespace warpmer::tests
