#pragma once
/// American flag sort (P. McIlroy, K. Bostic, M. D. McIlroy, "Engineering Radix Sort", Computing Systems 6
/// (1), 1993): in place, by the highest byte first.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace warpmer::engine {

namespace detail {
template <class T, class KeyOf>
void insertion_sort(T* items, std::size_t n, const KeyOf& key_of) {
  for (std::size_t i = 1; i < n; ++i) {
    const T item = items[i];
    std::size_t to = i;
    for (; to > 0 && key_of(item) < key_of(items[to - 1]); --to) items[to] = items[to - 1];
    items[to] = item;
  }
}
}  // namespace detail

/// Sorts by `key_of`, an unsigned number. Of the keys only the low `bits` bits may differ.
template <class T, class KeyOf>
void radix_sort(T* items, std::size_t n, std::uint32_t bits, const KeyOf& key_of) {
  constexpr std::uint32_t kDigitBits = 8;
  constexpr std::size_t kFewItems = 24;
  if (n <= kFewItems) return detail::insertion_sort(items, n, key_of);
  if (bits == 0) return;
  const std::uint32_t shift = bits - std::min(bits, kDigitBits);
  const auto digit = [&](const T& item) { return static_cast<std::uint8_t>(key_of(item) >> shift); };
  std::array<std::size_t, std::size_t{1} << kDigitBits> ends{}, next;
  for (std::size_t i = 0; i < n; ++i) ++ends[digit(items[i])];
  std::size_t begin = 0;
  for (std::size_t d = 0; d < ends.size(); ++d) {
    next[d] = begin;
    begin = ends[d] += begin;
  }
  // Each item goes to its place, and the one that was there is taken along.
  for (std::size_t d = 0; d < ends.size(); ++d) {
    while (next[d] < ends[d]) {
      T item = items[next[d]];
      for (std::uint8_t at; (at = digit(item)) != d;) std::swap(item, items[next[at]++]);
      items[next[d]++] = item;
    }
  }
  begin = 0;
  for (const std::size_t end : ends) {
    if (end - begin > 1) radix_sort(items + begin, end - begin, shift, key_of);
    begin = end;
  }
}

}  // namespace warpmer::engine
