// Counted k-mers of any origin into an index, on several threads, and the parts that do it: k-mers from text,
// entries as bytes.

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "backend/indexes/entries.h"
#include "base/error.h"
#include "cpu/sets/entry_store.h"
#include "jobs/import_job.h"
#include "tier.h"
#include "unit/index/index_file_common.h"

using namespace warpmer;
using formats::CountedKmer;
using index::test::ScratchFolder;

namespace {

using Counts = std::map<Key128, std::uint64_t>;

/// K-mers in the order given.
class ListSource final : public formats::KmerSource {
 public:
  ListSource(std::vector<CountedKmer> kmers, formats::StreamFacts facts)
      : KmerSource(facts), kmers_(std::move(kmers)) {
    facts_.may_repeat = true;
  }
  std::size_t read(std::span<CountedKmer> out) override {
    const std::size_t n = std::min({out.size(), kmers_.size() - at_, std::size_t{5000}});
    std::copy_n(kmers_.begin() + static_cast<std::ptrdiff_t>(at_), n, out.begin());
    at_ += n;
    return n;
  }

 private:
  std::vector<CountedKmer> kmers_;
  std::size_t at_ = 0;
};

template <class Key>
Key random_kmer(std::mt19937_64& random, std::uint32_t k) {
  return static_cast<Key>((Key128{random()} << 64 | random()) & key_mask<Key128>(k));
}

/// Different k-mers in any order, as read, with counts of all widths.
std::vector<CountedKmer> random_kmers(std::uint32_t k, std::size_t n) {
  std::mt19937_64 random(k);
  Counts counts;
  for (std::size_t i = 0; i < n; ++i) {
    const auto kmer = random_kmer<Key128>(random, k);
    if (!counts.contains(reverse_complement(kmer, k))) counts[kmer] = 1 + (random() >> (14 + random() % 50));
  }
  std::vector<CountedKmer> kmers;
  for (const auto& [kmer, count] : counts) kmers.push_back({kmer, count});
  std::shuffle(kmers.begin(), kmers.end(), random);
  return kmers;
}

jobs::IndexReport import(ListSource& source, const std::string& output, bool sum_duplicates = false,
                         std::uint64_t memory_bytes = std::uint64_t{1} << 31) {
  jobs::ImportOptions options;
  options.input = "list";
  options.sum_duplicates = sum_duplicates;
  options.resources.threads = 3;
  options.resources.memory_bytes = memory_bytes;
  options.output = output;
  backend::JobProgress progress;
  return jobs::run_import(source, options, progress);
}

/// All of an index; checks that sorted and unsorted walks see the same.
Counts read(const std::string& path) {
  const index::IndexFile file(path);
  Counts counts;
  std::size_t seen = 0;
  backend::for_each_block(file, 3, [&](std::span<const CountedKmer> block) {
    seen += block.size();
    for (const CountedKmer& each : block) counts[each.kmer] = each.count;
  });
  CHECK(seen == counts.size());
  CHECK(seen == file.totals().stored_distinct);
  auto expected = counts.begin();
  backend::encode_entries(
      file, formats::KmerOrder::by_kmer, std::uint64_t{1} << 31, 3,
      [&](std::span<const CountedKmer> some, formats::EncodedKmers& to) {
        to.bytes.append({reinterpret_cast<const char*>(some.data()), some.size_bytes()});
      },
      [&](const formats::EncodedKmers& encoded) {
        std::vector<CountedKmer> some(encoded.bytes.size() / sizeof(CountedKmer));
        encoded.bytes.text().copy(reinterpret_cast<char*>(some.data()), encoded.bytes.size());
        for (const CountedKmer& each : some) {
          REQUIRE(expected != counts.end());
          REQUIRE(each.kmer == expected->first);
          REQUIRE(each.count == (expected++)->second);
        }
      });
  CHECK(expected == counts.end());
  return counts;
}

}  // namespace

TEST_CASE("k-mers become an index, canonical or as they are") {
  const ScratchFolder folder;
  const std::string path = folder / "a.wmi";
  for (const std::uint32_t k : {5u, 13u, 31u, 32u, 33u, 64u}) {
    CAPTURE(k);
    for (const bool is_canonical : {true, false}) {
      const auto kmers = random_kmers(k, tests::by_tier(25000, 6000));
      Counts expected;
      for (const CountedKmer& each : kmers)
        expected[is_canonical ? canonical(each.kmer, k) : each.kmer] = each.count;
      formats::StreamFacts facts;
      facts.k = k;
      facts.canonical = is_canonical;
      ListSource source(kmers, facts);
      const jobs::IndexReport report = import(source, path);
      CHECK(report.totals.counted_distinct == expected.size());
      CHECK(index::IndexFile(path).params().canonical == is_canonical);
      CHECK(read(path) == expected);
    }
  }
}

TEST_CASE("k-mers that begin alike are handed on in parts when they are sorted") {
  const ScratchFolder folder;
  constexpr std::uint64_t kMany = 80'000;
  std::vector<CountedKmer> kmers;
  for (std::uint64_t i = 0; i < kMany; ++i) kmers.push_back({Key128{i * 977}, i + 1});
  formats::StreamFacts facts;
  facts.k = 31;
  facts.canonical = false;
  ListSource source(kmers, facts);
  import(source, folder / "a.wmi");
  CHECK(read(folder / "a.wmi").size() == kMany);

  std::size_t most = 0, entries = 0;
  backend::encode_entries(
      index::IndexFile(folder / "a.wmi"), formats::KmerOrder::by_kmer, std::uint64_t{1} << 31, 3,
      [](std::span<const CountedKmer> some, formats::EncodedKmers& to) {
        to.kmers += some.size();
        to.bytes.append(std::string(some.size() * 40, 'x'));
      },
      [&](const formats::EncodedKmers& encoded) {
        most = std::max(most, encoded.bytes.size());
        entries += encoded.kmers;
      });
  CHECK(entries == kMany);
  CHECK(most <= (std::size_t{1} << 20) + (std::size_t{1} << 15));
}

TEST_CASE("a k-mer that comes twice is an error, or added up") {
  const ScratchFolder folder;
  for (const std::uint32_t k : {7u, 13u, 31u, 32u, 50u}) {
    CAPTURE(k);
    formats::StreamFacts facts;
    facts.k = k;
    auto kmers = random_kmers(k, 3000);
    Counts expected;
    for (const CountedKmer& each : kmers) expected[canonical(each.kmer, k)] = each.count;
    const CountedKmer last = kmers.back();
    for (const std::uint64_t more : {std::uint64_t{1}, std::uint64_t{1} << 33, std::uint64_t{77}}) {
      kmers.push_back({reverse_complement(last.kmer, k), more});
      expected[canonical(last.kmer, k)] += more;
    }
    ListSource strict(kmers, facts), adding(kmers, facts);
    CHECK_THROWS_AS(import(strict, folder / "a.wmi"), InputError);
    import(adding, folder / "b.wmi", true);
    CHECK(read(folder / "b.wmi") == expected);
  }
}

TEST_CASE("memory that does not suffice is an error that says what would") {
  const ScratchFolder folder;
  formats::StreamFacts facts;
  facts.k = 31;
  facts.distinct = std::uint64_t{1} << 40;
  ListSource too_many({}, facts);
  CHECK_THROWS_AS(import(too_many, folder / "a.wmi"), ResourceError);
}

TEST_CASE("entries come back from bytes") {
  std::mt19937_64 random(1);
  for (std::uint32_t k = 1; k <= kMaxK; ++k) {
    const cpu::EntryCodec<Key128> codec(2 * k);
    for (std::uint32_t width = 1; width <= 64; ++width) {
      const auto hash = random_kmer<Key128>(random, k);
      const std::uint64_t count = std::uint64_t{1} << (width - 1) | random() >> (64 - width);
      std::array<char, 2 * cpu::EntryCodec<Key128>::kMostBytes> bytes;
      bytes.fill(-1);
      char* const end = codec.encode(hash, count, bytes.data());
      Key128 hash_again = 0;
      std::uint64_t count_again = 0;
      CHECK(codec.decode(bytes.data(), hash_again, count_again) == end);
      CHECK((hash_again == hash && count_again == count));
    }
  }
}

TEST_CASE("k-mers are read from text of any case, eight characters at a time or one") {
  std::mt19937_64 random(1);
  for (std::uint32_t k = 1; k <= kMaxK; ++k) {
    const auto kmer = random_kmer<Key128>(random, k);
    std::string text(k, ' ');
    kmer_to_text(kmer, k, text.data());
    for (char& c : text) c = static_cast<char>(random() % 2 == 0 ? c | 0x20 : c);
    Key128 again = 0;
    CHECK((kmer_from_text(text, again) && again == kmer));
    std::string rna = text;
    std::replace(rna.begin(), rna.end(), 't', 'u');
    CHECK((kmer_from_text(rna, again) && again == kmer));
    for (int code = -128; code < 128; ++code) {
      const auto c = static_cast<char>(code);
      if (char_class(c) == CharClass::base) continue;
      std::string wrong = text;
      wrong[random() % k] = c;
      CHECK_FALSE(kmer_from_text(wrong, again));
    }
  }
}
