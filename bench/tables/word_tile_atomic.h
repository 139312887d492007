#pragma once
/// The host tile for a table of words (table/word_slots.h) that several threads write to. Every change of a
/// slot is one atomic operation on the whole word.

#include <atomic>
#include <cstdint>

#include "table/word_slots.h"

namespace warpmer::bench {

template <int Width>
struct AtomicWordTile {
  using Key = table::Key32;
  static constexpr int kWidth = Width;
  static constexpr bool kExclusive = false;
  struct Bucket {
    std::uint64_t words[Width];
  };

  Bucket load(table::Slots<Key> s) const {
    Bucket b;
    for (int i = 0; i < Width; ++i) b.words[i] = word(s, i).load(std::memory_order_relaxed);
    return b;
  }
  table::SlotMask match(const Bucket& b, Key key) const {
    table::SlotMask mask = 0;
    for (int i = 0; i < Width; ++i) mask |= table::SlotMask{table::key_of(b.words[i]) == key} << i;
    return mask;
  }
  table::SlotMask empty(const Bucket& b) const { return match(b, table::kEmptyKey<Key>); }
  std::uint32_t count(const Bucket& b, table::Slots<Key> /*s*/, int i) const {
    return table::count_of(b.words[i]);
  }
  table::Claim claim(table::Slots<Key> s, int i, Key key, Key over = table::kEmptyKey<Key>) const {
    return table::claim_word(key, over, [&](std::uint64_t expected, std::uint64_t desired) {
      return swap(s, i, expected, desired);
    });
  }
  table::Claim claim_whole(table::Slots<Key> s, int i, table::Slot<Key> in) const {
    return table::claim_result(table::key_of(swap(s, i, table::kEmptyWord, table::word_of(in))),
                               table::kEmptyKey<Key>, in.key);
  }
  table::Slot<Key> exchange(table::Slots<Key> s, int i, table::Slot<Key> in) const {
    const std::uint64_t out = word(s, i).exchange(table::word_of(in), std::memory_order_relaxed);
    return {table::key_of(out), table::count_of(out)};
  }
  Key exchange_key(table::Slots<Key> s, int i, Key in) const {
    return table::key_of(change(s, i, [&](std::uint64_t before) {
      return table::word_of({in, table::count_of(before)});
    }));
  }
  std::uint32_t add(table::Slots<Key> s, int i, std::uint32_t n) const {
    return table::count_of(word(s, i).fetch_add(std::uint64_t{n} << 32, std::memory_order_relaxed));
  }
  void store(table::Slots<Key> s, int i, std::uint32_t n) const {
    change(s, i, [&](std::uint64_t before) { return table::word_of({table::key_of(before), n}); });
  }

 private:
  static std::atomic_ref<std::uint64_t> word(table::Slots<Key> s, int i) {
    return std::atomic_ref(s.words[i]);
  }
  /// Returns what was met.
  static std::uint64_t swap(table::Slots<Key> s, int i, std::uint64_t expected, std::uint64_t desired) {
    word(s, i).compare_exchange_strong(expected, desired, std::memory_order_relaxed);
    return expected;
  }
  template <class Change>
  static std::uint64_t change(table::Slots<Key> s, int i, Change&& changed) {
    std::uint64_t before = word(s, i).load(std::memory_order_relaxed);
    while (!word(s, i).compare_exchange_weak(before, changed(before), std::memory_order_relaxed)) {
    }
    return before;
  }
};

}  // namespace warpmer::bench
