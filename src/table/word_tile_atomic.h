#pragma once
/// The host tile for a table of words (table/word_slots.h) that several threads write to. Every change of a
/// slot is one atomic operation on the whole word.

#include <atomic>
#include <cstdint>

#include "table/word_slots.h"

namespace warpmer::table {

template <int Width>
struct AtomicWordTile {
  using Key = Key32;
  static constexpr int kWidth = Width;
  static constexpr bool kExclusive = false;
  struct Bucket {
    std::uint64_t words[Width];
  };

  Bucket load(Slots<Key> s) const {
    Bucket b;
    for (int i = 0; i < Width; ++i) b.words[i] = word(s, i).load(std::memory_order_relaxed);
    return b;
  }
  SlotMask match(const Bucket& b, Key key) const {
    SlotMask mask = 0;
    for (int i = 0; i < Width; ++i) mask |= SlotMask{key_of(b.words[i]) == key} << i;
    return mask;
  }
  SlotMask empty(const Bucket& b) const { return match(b, kEmptyKey<Key>); }
  std::uint32_t count(const Bucket& b, Slots<Key> /*s*/, int i) const { return count_of(b.words[i]); }
  Claim claim(Slots<Key> s, int i, Key key, Key over = kEmptyKey<Key>) const {
    return claim_word(key, over, [&](std::uint64_t expected, std::uint64_t desired) {
      return swap(s, i, expected, desired);
    });
  }
  Claim claim_whole(Slots<Key> s, int i, Slot<Key> in) const {
    return claim_result(key_of(swap(s, i, kEmptyWord, word_of(in))), kEmptyKey<Key>, in.key);
  }
  Slot<Key> exchange(Slots<Key> s, int i, Slot<Key> in) const {
    const std::uint64_t out = word(s, i).exchange(word_of(in), std::memory_order_relaxed);
    return {key_of(out), count_of(out)};
  }
  Key exchange_key(Slots<Key> s, int i, Key in) const {
    return key_of(change(s, i, [&](std::uint64_t before) { return word_of({in, count_of(before)}); }));
  }
  std::uint32_t add(Slots<Key> s, int i, std::uint32_t n) const {
    return count_of(word(s, i).fetch_add(std::uint64_t{n} << 32, std::memory_order_relaxed));
  }
  void store(Slots<Key> s, int i, std::uint32_t n) const {
    change(s, i, [&](std::uint64_t before) { return word_of({key_of(before), n}); });
  }

 private:
  static std::atomic_ref<std::uint64_t> word(Slots<Key> s, int i) { return std::atomic_ref(s.words[i]); }
  /// Returns what was met.
  static std::uint64_t swap(Slots<Key> s, int i, std::uint64_t expected, std::uint64_t desired) {
    word(s, i).compare_exchange_strong(expected, desired, std::memory_order_relaxed);
    return expected;
  }
  template <class Change>
  static std::uint64_t change(Slots<Key> s, int i, Change&& changed) {
    std::uint64_t before = word(s, i).load(std::memory_order_relaxed);
    while (!word(s, i).compare_exchange_weak(before, changed(before), std::memory_order_relaxed)) {
    }
    return before;
  }
};

}  // namespace warpmer::table
