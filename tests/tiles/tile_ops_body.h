// Included inside an unnamed namespace, like cpu/kernels_body.h and for the same reason.

template <class T>
struct OnTile {
  using Key = typename T::Key;
  using Scheme = table::WarpDrive<T>;

  static table::Insertion insert(table::Slots<Key> slots, std::uint32_t window_bits, std::uint32_t key_bits,
                                 Key key, std::uint32_t n) {
    return Scheme(slots, window_bits, key_bits).insert(T{}, key, n);
  }
  static std::ptrdiff_t find(table::Slots<Key> slots, std::uint32_t window_bits, std::uint32_t key_bits,
                             Key key) {
    return Scheme(slots, window_bits, key_bits).find(T{}, key);
  }
  static table::SlotMask match(table::Slots<Key> slots, Key key) { return T{}.match(T{}.load(slots), key); }
  static table::SlotMask empty(table::Slots<Key> slots) { return T{}.empty(T{}.load(slots)); }
  static table::Claim claim(table::Slots<Key> slots, int slot, Key key) {
    return T{}.claim(slots, slot, key);
  }
  static table::Slot<Key> exchange(table::Slots<Key> slots, int slot, table::Slot<Key> in) {
    return T{}.exchange(slots, slot, in);
  }
  static std::uint32_t add(table::Slots<Key> slots, int slot, std::uint32_t n) {
    return T{}.add(slots, slot, n);
  }

  static constexpr tests::SchemeOnTile<Key> describe(const char* tile) {
    static_assert(table::Tile<T>);
    return {"warpdrive", tile, T::kWidth, T::kExclusive, insert, find, match, empty, claim, exchange, add};
  }
};
