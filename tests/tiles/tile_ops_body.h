// Included inside an unnamed namespace, like cpu/kernels_body.h and for the same reason.

template <class T>
struct OnTile {
  using Key = typename T::Key;
  using Scheme = table::WarpDrive<T>;

  static void insert(table::Slots<Key> slots, tests::TableShape shape, const Key* keys,
                     const std::uint32_t* n, std::size_t size, table::Insertion* done) {
    const Scheme scheme(slots, shape.window_bits, shape.key_bits);
    for (std::size_t i = 0; i < size; ++i) done[i] = scheme.insert(T{}, keys[i], n[i]);
  }
  static void find(table::Slots<Key> slots, tests::TableShape shape, const Key* keys, std::size_t size,
                   std::ptrdiff_t* found) {
    const Scheme scheme(slots, shape.window_bits, shape.key_bits);
    for (std::size_t i = 0; i < size; ++i) found[i] = scheme.find(T{}, keys[i]);
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

  static constexpr tests::SchemeOnTile<Key> describe(
      const char* tile, typename tests::SchemeOnTile<Key>::Insert insert_at_once = nullptr) {
    static_assert(table::Tile<T>);
    return {"warpdrive", tile,
            T::kWidth,   T::kExclusive,
            SIZE_MAX,    tests::host_memory<Key>,
            insert,      insert_at_once,
            find,        match,
            empty,       claim,
            exchange,    add};
  }
};
