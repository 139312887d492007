#pragma once
/// A tile for tests that lets other threads go first, at random, before every access to shared memory: on few
/// cores, and between few instructions, threads otherwise hardly ever meet.

#include <cstdint>
#include <thread>

#include "table/tile.h"

namespace warpmer::tests {

template <class Inner>
struct InterleavingTile : Inner {
  using Key = typename Inner::Key;
  using Bucket = typename Inner::Bucket;
  using Words = InterleavingTile<typename Inner::Words>;
  using Slots = table::Slots<Key>;

  Bucket load(Slots s) const {
    maybe_yield();
    return Inner::load(s);
  }
  table::Claim claim(Slots s, int i, Key key, Key over = table::kEmptyKey<Key>) const {
    maybe_yield();
    return Inner::claim(s, i, key, over);
  }
  Key exchange_key(Slots s, int i, Key in) const {
    maybe_yield();
    return Inner::exchange_key(s, i, in);
  }
  std::uint32_t add(Slots s, int i, std::uint32_t n) const {
    maybe_yield();
    return Inner::add(s, i, n);
  }
  void store(Slots s, int i, std::uint32_t n) const {
    maybe_yield();
    Inner::store(s, i, n);
  }
  using Inner::count;
  std::uint32_t count(Slots s, int i) const {
    maybe_yield();
    return Inner::count(s, i);
  }
  Words words() const { return {}; }

 private:
  static void maybe_yield() {
    thread_local std::uint32_t state =
        static_cast<std::uint32_t>(std::hash<std::thread::id>{}(std::this_thread::get_id())) | 1u;
    thread_local int left = 50;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    if (state % 16 != 0 || left == 0) return;
    --left;
    std::this_thread::yield();
  }
};

}  // namespace warpmer::tests
