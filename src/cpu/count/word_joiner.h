#pragma once
/// Joins words of k-mers that are one base, and follow each other (groups/repeated_kmer.h).

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/simd/kernels.h"
#include "cpu/simd/word_repeats.h"
#include "groups/flanked_word.h"
#include "groups/group_shape.h"
#include "groups/repeated_kmer.h"

namespace warpmer::cpu {

template <int Words>
class WordJoiner {
 public:
  using Word = groups::FlankedWord<Words>;

  explicit WordJoiner(std::uint32_t k)
      : flank_bases_(groups::GroupShape(k).flank_bases()),
        format_(groups::GroupShape(k)),
        repeats_(flank_bases_) {}

  /// Joins words of a list. Only its words and their shards are right afterwards.
  void join(FlankedList<Words>& list) const {
    if (!repeats_.can_join()) return;
    std::size_t out = 0;
    for (std::size_t begin = 0; begin < list.size;) {
      const std::size_t repeated = first_repeated(list, begin);
      out = move_to(list, begin, repeated, out);
      begin = end_of_repeats(list, repeated);
      out = join(list, repeated, begin, out);
    }
    list.size = out;
  }

  /// Returns how many super-k-mers some words were before they were joined, or the k-mers in them.
  [[nodiscard]] std::uint64_t super_kmers(const Word* words, std::size_t n) const {
    return sum(words, n, [](const auto& /*super*/) { return 1u; });
  }
  [[nodiscard]] std::uint64_t kmers(const Word* words, std::size_t n) const {
    return sum(words, n,
               [&](const auto& super) { return super.left_bases + super.right_bases - flank_bases_ + 1; });
  }

 private:
  /// Returns how many k-mers are joined, and of other words what `of_others` says.
  template <class OfOthers>
  std::uint64_t sum(const Word* words, std::size_t n, OfOthers&& of_others) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto super = format_.super_kmer(words[i]);
      sum += repeats_.is_joined(super) ? repeats_.times(super) : of_others(super);
    }
    return sum;
  }
  /// Joins equal words, if they are of one base, and moves them to the front.
  std::size_t join(FlankedList<Words>& list, std::size_t begin, std::size_t end, std::size_t to) const {
    if (begin == end) return to;
    const Word word = list.words[begin];
    const std::uint16_t shard = list.shards[begin];
    const auto kmer = format_.super_kmer(word);
    if (!repeats_.is_of_one_base(kmer)) return move_to(list, begin, end, to);
    for (std::size_t left = end - begin; left > 0; ++to) {
      const auto times = static_cast<std::uint32_t>(std::min<std::size_t>(left, repeats_.most_times()));
      list.words[to] = format_.pack(format_.rest(word), repeats_.join(kmer, times));
      list.shards[to] = shard;
      left -= times;
    }
    return to;
  }

  std::uint32_t flank_bases_;
  groups::FlankedWordFormat<Words> format_;
  groups::RepeatedKmers<typename groups::FlankedWordFormat<Words>::Flanks> repeats_;
};

}  // namespace warpmer::cpu
