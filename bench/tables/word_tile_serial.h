#pragma once
/// The host tile for a table of words (table/word_slots.h) that one thread owns.

#include <cstddef>
#include <cstdint>

#include "kmer/platform.h"
#include "table/word_slots.h"

namespace warpmer::bench {

template <int Width>
struct SerialWordTile {
  using Key = table::Key32;
  using Bucket = const std::uint64_t*;
  static constexpr int kWidth = Width;
  static constexpr bool kExclusive = true;

  WARPMER_HD Bucket load(table::Slots<Key> s) const { return s.words; }
  WARPMER_HD table::SlotMask match(Bucket b, Key key) const {
    table::SlotMask mask = 0;
    for (int i = 0; i < Width; ++i) mask |= table::SlotMask{table::key_of(b[i]) == key} << i;
    return mask;
  }
  WARPMER_HD table::SlotMask empty(Bucket b) const { return match(b, table::kEmptyKey<Key>); }
  WARPMER_HD std::uint32_t count(Bucket b, table::Slots<Key> /*s*/, int i) const {
    return table::count_of(b[i]);
  }
  WARPMER_HD table::Claim claim(table::Slots<Key> s, int i, Key key,
                                Key /*over*/ = table::kEmptyKey<Key>) const {
    s.words[i] = table::word_of({key, table::count_of(s.words[i])});
    return table::Claim::won;
  }
  WARPMER_HD table::Claim claim_whole(table::Slots<Key> s, int i, table::Slot<Key> in) const {
    s.words[i] = table::word_of(in);
    return table::Claim::won;
  }
  WARPMER_HD table::Slot<Key> exchange(table::Slots<Key> s, int i, table::Slot<Key> in) const {
    const table::Slot<Key> out = s.read(static_cast<std::size_t>(i));
    s.words[i] = table::word_of(in);
    return out;
  }
  WARPMER_HD Key exchange_key(table::Slots<Key> s, int i, Key in) const {
    const Key out = table::key_of(s.words[i]);
    s.words[i] = table::word_of({in, table::count_of(s.words[i])});
    return out;
  }
  WARPMER_HD std::uint32_t add(table::Slots<Key> s, int i, std::uint32_t n) const {
    const std::uint32_t before = table::count_of(s.words[i]);
    s.words[i] += std::uint64_t{n} << 32;
    return before;
  }
  WARPMER_HD void store(table::Slots<Key> s, int i, std::uint32_t n) const {
    s.words[i] = table::word_of({table::key_of(s.words[i]), n});
  }
};

}  // namespace warpmer::bench
