#pragma once
/// The k-mers of super-k-mers, as tables of changes take them.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu/memory/scratch.h"
#include "cpu/simd/kernels.h"
#include "cpu/simd/word_format.h"

namespace warpmer::cpu {

/// One per thread; its memory is reused.
template <class Key, int Words>
class WordKmers {
 public:
  using Word = StoredFlankedWord<Words>;
  /// Super-k-mers that are made k-mers of at a time.
  static constexpr std::size_t kWordsAtOnce = 128;

  WordKmers(const Kernels& kernels, std::uint32_t k) : kernels_(kernels.shard<Key, Words>()), k_(k) {
    std::fill_n(twos_, kWordsAtOnce, 2u);
    get_room(0);
  }

  /// Appends the hashes of the keys of all k-mers of words, each with a change of one more.
  void append(std::span<const Word> words, HashList<Key>& list) {
    for (; !words.empty(); words = words.subspan(std::min(kWordsAtOnce, words.size()))) {
      const std::size_t n = std::min(kWordsAtOnce, words.size());
      const std::size_t room = list.size + n * kMostWordKmers<Words> + 8;
      list.keys = hashes_.grow(room, list.size);
      list.weights = weights_.grow(room, list.size);
      kernels_.append(words.data(), twos_, n, k_, list);
    }
  }
  /// Returns the distinct ones in order, each with its number.
  HashList<Key> distinct(std::span<const Word> words) {
    HashList<Key> list{};
    append(words, list);
    std::sort(list.keys, list.keys + list.size);
    std::size_t size = 0;
    for (std::size_t i = 0, next = 0; i < list.size; i = next) {
      while (next < list.size && list.keys[next] == list.keys[i]) ++next;
      list.keys[size] = list.keys[i];
      list.weights[size++] = static_cast<std::uint32_t>(next - i);
    }
    list.size = size;
    return list;
  }

  /// Returns how many keys there is to be room for, for so many k-mers and more words that are appended.
  static std::size_t room_for(std::size_t kmers) {
    return std::bit_ceil(kmers + kWordsAtOnce * kMostWordKmers<Words> + 8);
  }
  [[nodiscard]] std::uint64_t memory_bytes() const { return hashes_.bytes() + weights_.bytes(); }
  /// Returns that with room for so many k-mers.
  [[nodiscard]] std::uint64_t bytes_with_room(std::size_t kmers) const {
    const std::size_t room = room_for(kmers);
    return std::max<std::uint64_t>(hashes_.bytes(), room * sizeof(Key)) +
           std::max<std::uint64_t>(weights_.bytes(), room * sizeof(std::uint32_t));
  }
  void get_room(std::size_t kmers) {
    hashes_.get(room_for(kmers));
    weights_.get(room_for(kmers));
  }
  /// Gives its memory back.
  void clear() {
    hashes_.clear();
    weights_.clear();
  }

 private:
  const ShardKernels<Key, Words>& kernels_;
  const std::uint32_t k_;
  std::uint32_t twos_[kWordsAtOnce];
  Scratch<Key> hashes_;
  Scratch<std::uint32_t> weights_;
};

}  // namespace warpmer::cpu
