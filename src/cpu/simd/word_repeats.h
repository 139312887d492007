#pragma once
/// Equal super-k-mers that follow each other in what has been cut: of tandem repeats, and most of all of
/// stretches of one base, where each k-mer is a super-k-mer by itself.

#include <algorithm>
#include <cstddef>

#include "cpu/simd/kernels.h"

namespace warpmer::cpu {

template <int Words>
bool are_equal(const FlankedList<Words>& list, std::size_t i, std::size_t j) {
  return list.shards[i] == list.shards[j] && list.words[i] == list.words[j] &&
         list.is_forward[i] == list.is_forward[j];
}

/// Returns the first super-k-mer from `from` on that is the same as the next one, or the list's end.
template <int Words>
std::size_t first_repeated(const FlankedList<Words>& list, std::size_t from) {
  while (from + 1 < list.size && !are_equal(list, from, from + 1)) ++from;
  return from + 1 < list.size ? from : list.size;
}
/// Returns the end of those that are the same as this one.
template <int Words>
std::size_t end_of_repeats(const FlankedList<Words>& list, std::size_t first) {
  std::size_t end = first;
  while (end < list.size && are_equal(list, first, end)) ++end;
  return end;
}

/// Moves super-k-mers to a place before them, and returns where they end there.
template <int Words>
std::size_t move_to(const FlankedList<Words>& list, std::size_t begin, std::size_t end, std::size_t to) {
  if (to == begin) return end;
  std::copy(list.words + begin, list.words + end, list.words + to);
  std::copy(list.shards + begin, list.shards + end, list.shards + to);
  std::copy(list.starts + begin, list.starts + end, list.starts + to);
  std::copy(list.is_forward + begin, list.is_forward + end, list.is_forward + to);
  return to + (end - begin);
}

}  // namespace warpmer::cpu
