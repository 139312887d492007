// Included inside an unnamed namespace, like cpu/simd/kernels_body.h and for the same reason.

/// The functions of a SchemeOnTile, for a scheme of tiles/schemes.h.
template <class Case>
struct OnTile {
  using T = typename Case::Tile;
  using Key = typename T::Key;
  using Slots = table::Slots<Key>;

  static void pass(int number, Slots slots, tests::TableShape shape, tests::Operation operation,
                   const Key* keys, const std::uint32_t* n, std::size_t size, tests::Done<Key>* done) {
    const auto scheme = Case::scheme(slots, shape);
    const T tile{};
    for (std::size_t i = 0; i < size; ++i)
      done[i] = Case::operate(operation, number, scheme, tile, {keys[i], n[i]}, done[i]);
  }
  static int passes(tests::Operation operation) {
    return operation == tests::Operation::insert ? Case::kFacts.passes : 1;
  }
  static void run(Slots slots, tests::TableShape shape, tests::Operation operation, const Key* keys,
                  const std::uint32_t* n, std::size_t size, tests::Done<Key>* done) {
    for (int i = 0; i < passes(operation); ++i) pass(i, slots, shape, operation, keys, n, size, done);
  }
  static table::SlotMask match(Slots slots, Key key) { return T{}.match(T{}.load(slots), key); }
  static table::SlotMask match_part(Slots slots, Key key, Key bits) {
    if constexpr (table::SlabTile<T>) return T{}.match(T{}.load(slots), key, bits);
    return 0;
  }
  static Key key_in(Slots slots, int slot) {
    if constexpr (table::SlabTile<T>) return T{}.key_in(T{}.load(slots), slot);
    return {};
  }
  static table::SlotMask empty(Slots slots) { return T{}.empty(T{}.load(slots)); }
  static std::uint32_t count(Slots slots, int slot) { return T{}.count(T{}.load(slots), slots, slot); }
  static table::Claim claim(Slots slots, int slot, Key key, Key over) {
    return T{}.claim(slots, slot, key, over);
  }
  static table::Slot<Key> exchange(Slots slots, int slot, table::Slot<Key> in) {
    return T{}.exchange(slots, slot, in);
  }
  static Key exchange_key(Slots slots, int slot, Key in) { return T{}.exchange_key(slots, slot, in); }
  static std::uint32_t add(Slots slots, int slot, std::uint32_t n) { return T{}.add(slots, slot, n); }
  static void store(Slots slots, int slot, std::uint32_t n) { T{}.store(slots, slot, n); }
  static std::uint32_t count_now(Slots slots, int slot) {
    if constexpr (table::SlabTile<T>) return T{}.count(slots, slot);
    return 0;
  }

  static std::unique_ptr<tests::TableMemory<Key>> plain_memory(std::size_t slots) {
    if constexpr (Case::kFacts.in_blocks) return tests::host_block_memory<Key>(slots);
    return tests::host_memory<Key>(slots);
  }
  static std::unique_ptr<tests::TableMemory<Key>> memory(std::size_t slots) {
    if constexpr (Case::kFacts.chains) return tests::host_slab_memory<Key>(slots);
    return plain_memory(slots);
  }

  static constexpr tests::SchemeOnTile<Key> describe(
      const char* tile, typename tests::SchemeOnTile<Key>::Run run_at_once = nullptr) {
    static_assert(table::Tile<T>);
    return {.scheme = Case::kFacts,
            .tile = tile,
            .width = T::kWidth,
            .exclusive = T::kExclusive,
            .most_slots = SIZE_MAX,
            .memory = memory,
            .plain_memory = plain_memory,
            .slots = Case::slots,
            .run = run,
            .run_at_once = run_at_once,
            .address = Case::address,
            .reach = Case::reach,
            .match = match,
            .empty = empty,
            .count = count,
            .claim = claim,
            .exchange = exchange,
            .exchange_key = exchange_key,
            .add = add,
            .store = store,
            .is_slab_tile = table::SlabTile<T>,
            .match_part = match_part,
            .key_in = key_in,
            .count_now = count_now};
  }
};
