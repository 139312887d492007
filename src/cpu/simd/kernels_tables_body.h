/// Kernels of the tables that are asked for by name: cuckoo, iceberg, slab hash. Included behind
/// kernels_body.h, in the same way and with the same rules; needs table/cuckoo.h, iceberg.h and slab_hash.h.

/// Keys that are looked at before it is their turn.
constexpr std::size_t kTableAhead = 24;

template <class Key>
struct BucketTileFor {
  using type = table::SerialTile<Key, kTableBucket>;
};
/// A tile that looks at a slab: at the elements alone, or at all of its 128 bytes.
template <class Key>
struct SlabTileFor {
  using type = table::SerialTile<Key, table::CountSlab<Key>::kSlots>;
};
#if defined(__AVX512F__)
template <>
struct BucketTileFor<Key64> {
  using type = table::Avx512Tile<kTableBucket>;
};
template <>
struct SlabTileFor<Key64> {
  using type = table::Avx512Tile<16>;
};
#elif defined(__AVX2__)
template <>
struct BucketTileFor<Key64> {
  using type = table::Avx2Tile<kTableBucket>;
};
template <>
struct SlabTileFor<Key64> {
  using type = table::Avx2Tile<16>;
};
#endif

/// The base of those of the classes below whose hash functions name buckets. Each class is a scheme on this
/// instruction set's tile, and answers an insertion with what is left over.
template <class Scheme>
class InBuckets {
 public:
  using Key = typename Scheme::Key;
  using Table = BucketTable<Key>;

  [[gnu::always_inline]] inline explicit InBuckets(const Table& table)
      : scheme_(table.slots, table.buckets, table.seed) {}

  [[gnu::always_inline]] inline void prefetch(Key key) const {
    const auto bucket = scheme_.bucket(scheme_.bucket_of(key, 0));
    for (int i = 0; i < kTableBucket; i += 64 / static_cast<int>(sizeof(Key)))
      __builtin_prefetch(bucket.keys + i, 1);
    __builtin_prefetch(bucket.counts, 1);
  }
  template <class Visit>
  [[gnu::always_inline]] inline static void for_each(const Table& table, Visit&& visit) {
    const std::size_t slots = Scheme::slots_for(table.buckets);
    for (std::size_t i = 0; i < slots; ++i) {
      const table::Slot<Key> slot = table.slots.read(i);
      if (slot.key != table::kEmptyKey<Key>) visit(slot);
    }
  }

 protected:
  Scheme scheme_;
};

template <class Key>
class Bcht : public InBuckets<table::Cuckoo<typename BucketTileFor<Key>::type, 3>> {
 public:
  using InBuckets<table::Cuckoo<typename BucketTileFor<Key>::type, 3>>::InBuckets;
  [[gnu::always_inline]] inline table::Displacement<Key> insert(Key key, std::uint32_t count) {
    const typename BucketTileFor<Key>::type tile;
    return this->scheme_.insert(tile, key, count);
  }
};

template <class Key>
class Iht : public InBuckets<table::Iceberg<typename BucketTileFor<Key>::type>> {
 public:
  using InBuckets<table::Iceberg<typename BucketTileFor<Key>::type>>::InBuckets;
  [[gnu::always_inline]] inline table::Displacement<Key> insert(Key key, std::uint32_t count) {
    const typename BucketTileFor<Key>::type tile;
    return {this->scheme_.insert(tile, key, count), {key, count}};
  }
};

template <class KeyType>
class Slabs {
 public:
  using Key = KeyType;
  using Table = SlabTable<Key>;

  [[gnu::always_inline]] inline explicit Slabs(const Table& table)
      : slabs_(table.slabs),
        bucket_of_(table.buckets, table.key_bits),
        scheme_(table.slabs, bucket_of_,
                table::SlabAlloc(Units(table.bitmaps, table.slabs + table.buckets, table.units),
                                 table.alloc_state)),
        resident_(table.resident) {}

  [[gnu::always_inline]] inline void prefetch(Key key) const {
    const auto* lines = reinterpret_cast<const char*>(slabs_ + bucket_of_(key));
    __builtin_prefetch(lines, 1);
    __builtin_prefetch(lines + 64, 1);
  }
  [[gnu::always_inline]] inline table::Displacement<Key> insert(Key key, std::uint32_t count) {
    const Tile tile;
    return {scheme_.insert(tile, resident_, key, count), {key, count}};
  }
  template <class Visit>
  [[gnu::always_inline]] inline static void for_each(const Table& table, Visit&& visit) {
    const Slabs slabs(table);
    const Tile tile;
    for (std::uint32_t bucket = 0; bucket < table.buckets; ++bucket)
      slabs.scheme_.for_each(tile, bucket, visit);
  }

 private:
  using Tile = typename SlabTileFor<Key>::type;
  using Units = table::ContiguousUnits<table::CountSlab<Key>>;

  table::CountSlab<Key>* slabs_;
  table::OrderedBucket<Key> bucket_of_;
  table::SlabHash<Tile, Units, table::OrderedBucket<Key>> scheme_;
  table::ResidentBlock resident_;
};

/// Inserts one entry, and takes note of all but a key that is left over.
template <class Scheme>
[[gnu::always_inline]] inline auto insert_slot(Scheme& scheme, typename Scheme::Table& table,
                                               typename Scheme::Key key, std::uint32_t count) {
  const auto done = scheme.insert(key, count);
  if (done.insertion.placed && done.insertion.is_new) ++table.size;
  if (done.insertion.wrapped) [[unlikely]]
    table.carries[table.carries_size++] = key;
  return done;
}

template <class Scheme>
std::size_t insert_list(typename Scheme::Table& table, const HashList<typename Scheme::Key>& list,
                        std::size_t first) {
  using Key = typename Scheme::Key;
  Scheme scheme(table);
  std::size_t i = first;
  while (i < list.size && has_room(table, kInsertKeys)) {
    const std::size_t end = list.size - i < kInsertKeys ? list.size : i + kInsertKeys;
    for (; i < end; ++i) {
      scheme.prefetch(list.keys[i + kTableAhead < list.size ? i + kTableAhead : i]);
      const Key key = list.keys[i];
      if (key == table::kEmptyKey<Key>) [[unlikely]] {
        table.empty_key_count += list.weights[i];
      } else {
        const auto done = insert_slot(scheme, table, key, list.weights[i]);
        if (!done.insertion.placed) [[unlikely]] {
          table.overflow[table.overflow_size] = done.homeless.key;
          table.overflow_counts[table.overflow_size++] = done.homeless.count;
        }
      }
    }
  }
  return i;
}

template <class Scheme>
bool rehash_table(const typename Scheme::Table& from, typename Scheme::Table& to) {
  using Key = typename Scheme::Key;
  Scheme scheme(to);
  bool placed = true;
  Scheme::for_each(from, [&](table::Slot<Key> slot) {
    placed = placed && insert_slot(scheme, to, slot.key, slot.count).insertion.placed;
  });
  for (std::size_t i = 0; placed && i < from.overflow_size; ++i)
    placed = insert_slot(scheme, to, from.overflow[i], from.overflow_counts[i]).insertion.placed;
  return placed;
}

template <class Scheme>
void list_table(const typename Scheme::Table& table, HashList<typename Scheme::Key>& list) {
  Scheme::for_each(table, [&](table::Slot<typename Scheme::Key> slot) {
    list.keys[list.size] = slot.key;
    list.weights[list.size] = slot.count;
    list.weights_or |= slot.count;
    ++list.size;
  });
}

template <class Scheme>
constexpr TableKernels<typename Scheme::Table> kTableKernels = {insert_list<Scheme>, rehash_table<Scheme>,
                                                                list_table<Scheme>};

template <class Key>
constexpr SchemeKernels<Key> kSchemeKernels = {kTableKernels<Bcht<Key>>, kTableKernels<Iht<Key>>,
                                               kTableKernels<Slabs<Key>>};
