#pragma once
/// Tests that every lookup table, on every device, answers as the index itself does.

#include <functional>
#include <random>

#include "lookups/lookup_fixture.h"

namespace warpmer::tests {

/// Makes a lookup in a table that is built from an index.
using MakeTable =
    std::function<std::unique_ptr<backend::Lookup>(const index::IndexFile&, backend::LookupTable)>;

inline constexpr backend::LookupTable kBuiltTables[] = {backend::LookupTable::bcht,
                                                        backend::LookupTable::iceberg};

inline void check_reads_of_any_k(const MakeTable& make, const std::vector<std::uint32_t>& ks) {
  const Reads known = random_reads(3000, 20000, 21);
  const Reads foreign = random_reads(200, 20000, 22);
  for (const std::uint32_t k : ks) {
    for (const bool canonical : {true, false}) {
      const TemporaryIndex file;
      write_index(file.path(), known, k, canonical);
      const index::IndexFile index(file.path());
      const auto reference = backend::make_cpu_lookup(index);
      for (const backend::LookupTable table : kBuiltTables) {
        CAPTURE(k);
        CAPTURE(canonical);
        CAPTURE(static_cast<int>(table));
        const auto lookup = make(index, table);
        CHECK(lookup->table() == table);
        Reads reads = small_and_odd(k);
        append(reads, Reads(known.begin(), known.begin() + 1000));
        append(reads, foreign);
        const Seen seen = check_same(*reference, *lookup, reads);
        CHECK(seen.found > 1000);
        if (k >= 15) CHECK(seen.kmers - seen.found > 1000);
        check_same(*reference, *lookup, {});
        for (const auto& read : small_and_odd(k)) check_same(*reference, *lookup, {read});
      }
    }
  }
}

/// Returns as many of the read's k-mers as there are values, with these as their counts.
inline std::map<Key64, std::uint64_t> counts_of(const std::string& read, std::uint32_t k,
                                                const std::vector<std::uint64_t>& values) {
  std::map<Key64, std::uint64_t> counts;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Key64 kmer = 0;
    REQUIRE(kmer_from_text(std::string_view(read).substr(i, k), kmer));
    counts[canonical(kmer, k)] = values[i];
  }
  return counts;
}

/// Checks counts around the largest that 32 bits hold, and around the answers with a meaning of their own.
inline void check_large_counts(const MakeTable& make) {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 32;
  const std::vector<std::uint64_t> values = {1,          2,      300,        kLimit - 3,  kLimit - 2,
                                             kLimit - 1, kLimit, kLimit + 1, kLimit << 20};
  std::mt19937_64 random(23);
  std::string read;
  for (int i = 0; i < 60; ++i) read += "ACGT"[random() % 4];
  Reads reads = {"ACGT", read, read};
  reads.back().append("N").append(read);
  const TemporaryIndex file;
  write_index(file.path(), counts_of(read, 21, values), 21);
  const index::IndexFile index(file.path());
  const auto reference = backend::make_cpu_lookup(index);
  for (const backend::LookupTable table : kBuiltTables) {
    CAPTURE(static_cast<int>(table));
    const auto lookup = make(index, table);
    CHECK(check_same(*reference, *lookup, reads).found == 3 * values.size());
    backend::Profile profile;
    lookup->profile(batch_of({read}), profile);
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(profile.counts[i] == values[i]);
  }
}

/// Checks indexes with no k-mer, and with a single one.
inline void check_next_to_nothing(const MakeTable& make) {
  const Reads asked = random_reads(50, 1000, 24);
  for (const std::uint32_t k : {7u, 31u, 40u}) {
    for (const bool is_empty : {true, false}) {
      CAPTURE(k);
      CAPTURE(is_empty);
      const TemporaryIndex file;
      const std::string only = std::string(k - 1, 'A') + "C";
      write_index(file.path(), is_empty ? Reads{} : Reads{only}, k);
      const index::IndexFile index(file.path());
      const auto reference = backend::make_cpu_lookup(index);
      for (const backend::LookupTable table : kBuiltTables) {
        const auto lookup = make(index, table);
        CHECK(check_same(*reference, *lookup, {only, "N", only + only}).found == (is_empty ? 0 : 3));
        check_same(*reference, *lookup, asked);
      }
    }
  }
}

/// Checks the k-mer whose hash is the mark of empty slots: in the index, or not.
template <class Key>
void check_marker(const MakeTable& make) {
  constexpr std::uint32_t k = kKeyBits<Key> / 2;
  const Key marker = KmerHash<Key>(k).inverse(~Key{0});
  REQUIRE(KmerHash<Key>(k)(marker) == ~Key{0});
  std::string text(k, ' ');
  kmer_to_text(marker, k, text.data());
  for (const bool is_there : {true, false}) {
    CAPTURE(is_there);
    std::map<Key, std::uint64_t> counts = {{marker + 1, 5}, {marker - 1, 6}};
    if (is_there) counts[marker] = 7;
    const TemporaryIndex file;
    write_index(file.path(), counts, k, false);
    const index::IndexFile index(file.path());
    const auto reference = backend::make_cpu_lookup(index);
    for (const backend::LookupTable table : kBuiltTables) {
      CAPTURE(static_cast<int>(table));
      const auto lookup = make(index, table);
      CHECK(check_same(*reference, *lookup, {text, "A" + text + "C"}).found == (is_there ? 2 : 0));
      backend::Profile profile;
      lookup->profile(batch_of({text}), profile);
      CHECK(profile.counts[0] == (is_there ? 7 : 0));
    }
  }
}

}  // namespace warpmer::tests
