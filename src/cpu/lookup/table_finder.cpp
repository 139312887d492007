#include "cpu/lookup/table_finder.h"

#include <array>

#include "base/error.h"
#include "cpu/lookup/lookup_table.h"
#include "cpu/simd/cutter.h"
#include "cpu/simd/kernels.h"
#include "cpu/simd/kmer_window.h"
#include "kmer/hash.h"

namespace warpmer::cpu {

namespace {

template <class Table>
class TableFinder : public Finder {
  using Key = typename Table::Key;

 public:
  TableFinder(const Table& table, const index::IndexParams& params, bool lenient)
      : table_(table),
        k_(params.k),
        canonical_(params.canonical),
        hash_(k_),
        stretches_(best_kernels(), k_, lenient) {}

  void profile(const io::Batch& batch, backend::Profile& out) override {
    for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
      stretches_.for_each(
          batch, batch.pieces[i],
          [&](const std::uint64_t* packed, std::size_t first, std::size_t bases, std::size_t at) {
            look_up(packed, first, bases, out.counts.data() + out.first[i] + at);
          });
    }
  }

 private:
  void look_up(const std::uint64_t* packed, std::size_t first, std::size_t bases, std::uint64_t* counts) {
    KmerWindow<Key> window(k_);
    std::array<Key, Table::kAtOnce> hashes;
    std::size_t waiting = 0;
    for (std::size_t j = 0; j < bases; ++j) {
      window.push(packed_base(packed, first + j));
      if (j + 1 < k_) continue;
      hashes[waiting] = hash_(canonical_ ? window.canonical() : window.forward());
      if (++waiting < hashes.size() && j + 1 < bases) continue;
      table_.find(hashes.data(), waiting, counts);
      counts += waiting;
      waiting = 0;
    }
  }

  const Table& table_;
  std::uint32_t k_;
  bool canonical_;
  KmerHash<Key> hash_;
  StretchFinder stretches_;
};

template <class Table>
class TableFinders : public FinderSource {
 public:
  TableFinders(const index::IndexFile& index, bool lenient, unsigned threads)
      : params_(index.params()), lenient_(lenient), table_(index, threads) {}

  [[nodiscard]] std::unique_ptr<Finder> make() const override {
    return std::make_unique<TableFinder<Table>>(table_, params_, lenient_);
  }

 private:
  index::IndexParams params_;
  bool lenient_;
  Table table_;
};

template <template <class> class Lookup>
std::unique_ptr<FinderSource> finders_in(const index::IndexFile& index, bool lenient, unsigned threads) {
  return with_key_type(index.params().k, [&]<class Key>(Key) -> std::unique_ptr<FinderSource> {
    return std::make_unique<TableFinders<HostLookupTable<Lookup, Key>>>(index, lenient, threads);
  });
}

}  // namespace

std::unique_ptr<FinderSource> make_table_finders(const index::IndexFile& index, bool lenient,
                                                 backend::LookupTable table, unsigned threads) {
  switch (table) {
    case backend::LookupTable::bcht:
      return finders_in<table::BchtLookup>(index, lenient, threads);
    case backend::LookupTable::iceberg:
      return finders_in<table::IcebergLookup>(index, lenient, threads);
    case backend::LookupTable::automatic:
    case backend::LookupTable::index:
      break;
  }
  throw InternalError("a lookup table of no scheme was asked for");
}

}  // namespace warpmer::cpu
