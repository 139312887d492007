// KMC databases whose k-mers are in bins, made by hand: ranges in order, shares, bins that are out of order.
// ctest: one thread

#include <doctest/doctest.h>

#include "formats/kmc_database.h"
#include "formats/kmc_range.h"
#include "unit/formats/counted_kmers.h"

using namespace warpmer;
using namespace warpmer::formats;
using namespace warpmer::formats::test;

namespace {

constexpr std::uint32_t kCountBytes = 2;

/// Writes k-mers as `kmc` does (kmc_database.h): each bin has its k-mers in the order of `bins`.
void write_binned(const std::string& prefix, std::uint32_t k, std::uint32_t prefix_bases,
                  const std::vector<Kmers>& bins) {
  std::string suffixes = "KMCS", prefixes = "KMCP";
  std::uint64_t records = 0;
  const std::uint32_t suffix_bases = k - prefix_bases;
  for (const Kmers& bin : bins) {
    auto next = bin.begin();
    for (std::uint64_t i = 0; i < std::uint64_t{1} << (2 * prefix_bases); ++i) {
      prefixes += number_text(records, 8);
      for (; next != bin.end() && (prefix_bases == 0 || next->kmer >> (2 * suffix_bases) == i); ++next) {
        for (std::uint32_t base = suffix_bases; base > 0; base -= 4)
          suffixes += static_cast<char>(next->kmer >> (2 * (base - 4)));
        suffixes += number_text(next->count, kCountBytes);
        ++records;
      }
    }
  }
  prefixes += number_text(records, 8);
  const std::uint32_t signature_bases = 5;
  for (std::uint32_t i = 0; i <= 1u << (2 * signature_bases); ++i)
    prefixes += number_text(i % bins.size(), 4);
  for (const std::uint64_t field : {k, 0u, kCountBytes, prefix_bases, signature_bases, 1u, 65535u})
    prefixes += number_text(field, 4);
  prefixes +=
      number_text(records, 8) + std::string(28, '\0') + number_text(0x200, 4) + number_text(68, 4) + "KMCP";
  write_bytes(prefix + ".kmc_suf", suffixes + "KMCS");
  write_bytes(prefix + ".kmc_pre", prefixes);
}

std::vector<Kmers> in_bins(const Kmers& kmers, std::size_t bins, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Kmers> all(bins);
  for (const CountedKmer& each : kmers) all[random() % bins].push_back(each);
  return all;
}

/// Reads all ranges of so many bases, one behind the other.
Kmers all_ranges(const std::shared_ptr<const KmcSource>& database, std::uint32_t bases) {
  Kmers all;
  for (std::uint64_t i = 0; i < std::uint64_t{1} << (2 * bases); ++i) {
    const std::unique_ptr<KmerSource> source = open_kmc_range(database, {bases, i});
    const Kmers some = all_of(*source, 1000);
    all.insert(all.end(), some.begin(), some.end());
    CHECK(all_of(*source).empty());  // it stays at its end
  }
  return all;
}

Kmers in_order(Kmers kmers) {
  std::ranges::sort(kmers, {}, &CountedKmer::kmer);
  return kmers;
}

}  // namespace

TEST_CASE("ranges of a database in bins come in order, whatever their number of bases") {
  const ScratchFolder scratch;
  struct BinnedCase {
    std::uint32_t k, prefix_bases;
    std::size_t kmers, bins;
    bool is_skewed;
  };
  for (const BinnedCase& each : {BinnedCase{31, 3, 60'000, 40, false}, BinnedCase{31, 3, 60'000, 40, true},
                                 BinnedCase{31, 3, 400'000, 9, true}, BinnedCase{64, 4, 40'000, 7, true},
                                 BinnedCase{64, 0, 20'000, 3, false}, BinnedCase{64, 0, 300, 3, false},
                                 BinnedCase{13, 1, 30'000, 640, false}, BinnedCase{33, 5, 500, 300, false},
                                 BinnedCase{8, 4, 0, 2, false}}) {
    CAPTURE(each.k);
    CAPTURE(each.is_skewed);
    Kmers kmers = random_kmers(each.k, each.kmers, true, kCountBytes);
    // Most begin with A only.
    for (std::size_t i = 0; each.is_skewed && i < kmers.size(); ++i)
      if (i % 4 != 0) kmers[i].kmer &= key_mask<Key128>(each.k - each.k / 3);
    kmers = in_order(kmers);
    const auto is_same = [](const auto& a, const auto& b) { return a.kmer == b.kmer; };
    kmers.erase(std::unique(kmers.begin(), kmers.end(), is_same), kmers.end());
    write_binned(scratch / "x", each.k, each.prefix_bases, in_bins(kmers, each.bins, 1));
    const auto database = std::make_shared<const KmcSource>(scratch / "x");
    CHECK((database->header().bins == each.bins && database->facts().distinct == kmers.size()));
    for (const std::uint32_t bases : {0, 1, 3, 4, 6}) {
      CAPTURE(bases);
      CHECK(all_ranges(database, std::min(bases, each.k)) == kmers);
    }
    const Kmers as_written = read_all<KmcSource>(scratch / "x");
    CHECK(in_order(as_written) == kmers);
    for (std::size_t first = 0; first < as_written.size(); first += 700) {
      std::vector<std::uint64_t> counts(std::min<std::size_t>(700, as_written.size() - first));
      database->read_counts(first, counts);
      CHECK(std::ranges::equal(counts, std::span(as_written).subspan(first, counts.size()), {}, {},
                               &CountedKmer::count));
    }
    CHECK_NOTHROW(database->check_table());
  }
}

TEST_CASE("a database whose bins are out of order is refused where they are merged") {
  const ScratchFolder scratch;
  const std::vector<Kmers> in_order_bins = in_bins(random_kmers(31, 50'000, true, kCountBytes), 20, 2);
  // Neighbours, and k-mers far from each other, all of one prefix: blocks and ranges begin anywhere.
  for (const std::ptrdiff_t distance : {1, 3, 20}) {
    for (const std::ptrdiff_t at : {700, 1535, 1640}) {
      CAPTURE(distance);
      CAPTURE(at);
      std::vector<Kmers> bins = in_order_bins;
      auto place = bins[7].begin() + at;
      while (place->kmer >> 56 != place[distance].kmer >> 56) ++place;
      std::swap(place[0], place[distance]);
      write_binned(scratch / "x", 31, 3, bins);
      const auto database = std::make_shared<const KmcSource>(scratch / "x");
      for (const std::uint32_t bases : {0, 3, 6}) {
        CAPTURE(bases);
        CHECK_THROWS_WITH_AS(
            (void)all_ranges(database, bases),
            doctest::Contains(
                "x.kmc_suf': this KMC database is damaged: the k-mers of a bin are not in order"),
            InputError);
      }
    }
  }
}

TEST_CASE("a database that has one k-mer more often than so many are sorted at a time is refused") {
  const ScratchFolder scratch;
  write_binned(scratch / "x", 31, 3, {Kmers(200'000, {Key128{12345}, 7}), {}});
  const auto database = std::make_shared<const KmcSource>(scratch / "x");
  CHECK_THROWS_WITH_AS(
      (void)all_ranges(database, 1),
      doctest::Contains("this KMC database is damaged: the k-mers of a bin are not in order"), InputError);
}

TEST_CASE("a count of zero is refused where only counts are read") {
  const ScratchFolder scratch;
  Kmers kmers = random_kmers(31, 2000, true, kCountBytes);
  kmers[1234].count = 0;
  write_binned(scratch / "x", 31, 3, {in_order(kmers)});
  const KmcSource database(scratch / "x");
  std::vector<std::uint64_t> counts(database.header().kmers);
  CHECK_THROWS_WITH_AS(database.read_counts(0, counts), doctest::Contains("has a count of 0"), InputError);
}
