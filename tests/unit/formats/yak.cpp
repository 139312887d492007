// Counts of yak: what is written, decoded by the format's definition; bytes made by hand, read; damage.
// ctest: one thread

#include <doctest/doctest.h>

#include "formats/yak_file.h"
#include "unit/formats/counted_kmers.h"

using namespace warpmer;
using namespace warpmer::formats;
using namespace warpmer::formats::test;

namespace {

/// The words of each bin of a file, taken apart by what yak_file.h says of it.
std::vector<std::vector<std::uint64_t>> decode(const std::string& bytes, std::uint32_t k) {
  REQUIRE(bytes.substr(0, 4) == std::string("YAK\2", 4));
  REQUIRE(number(bytes, 4, 4) == k);
  REQUIRE(number(bytes, 8, 4) == 10);
  REQUIRE(number(bytes, 12, 4) == 10);
  std::vector<std::vector<std::uint64_t>> bins(1024);
  std::size_t at = 16;
  for (auto& bin : bins) {
    const std::uint64_t capacity = number(bytes, at, 4), n = number(bytes, at + 4, 4);
    CHECK((n == 0 ? capacity == 0 : n * 4 <= capacity * 3 && (capacity & (capacity - 1)) == 0));
    at += 8;
    for (std::uint64_t i = 0; i < n; ++i, at += 8) bin.push_back(number(bytes, at, 8));
  }
  CHECK(at == bytes.size());
  return bins;
}

Kmers in_order(Kmers kmers, std::uint32_t k) {
  const YakOrder<Key64> order(k);
  for (CountedKmer& each : kmers) each.count = std::min(each.count, kLargestYakCount);
  std::sort(kmers.begin(), kmers.end(), [&](const auto& a, const auto& b) {
    return order.rank(static_cast<Key64>(a.kmer)) < order.rank(static_cast<Key64>(b.kmer));
  });
  return kmers;
}

void write_file(const std::string& path, std::uint32_t k, const Kmers& kmers) {
  YakSink sink(path, {.k = k});
  sink.write(std::span(kmers).first(kmers.size() / 2));
  sink.write(std::span(kmers).subspan(kmers.size() / 2));
  sink.finish();
}

std::string fault_of_bytes(const ScratchFolder& scratch, const std::string& bytes) {
  write_bytes(scratch / "damaged.yak", bytes);
  return fault_of<YakSource>(scratch / "damaged.yak");
}

}  // namespace

TEST_CASE("hashes are those of yak") {
  // Computed by yak's own function, of 21 and of 31 bases.
  CHECK(YakOrder<Key64>(21).hash_of(0) == 0x1DF06F29BC0);
  CHECK(YakOrder<Key64>(21).hash_of(0x123456789AB) == 0x8AC9B4A9A2);
  CHECK(YakOrder<Key64>(31).hash_of(0x123456789ABCDEF) == 0x2437E41BD0EC327B);
}

TEST_CASE("a rank is a k-mer in another place, as is a hash") {
  std::mt19937_64 random(3);
  for (std::uint32_t k = 1; k <= kMaxK; ++k) {
    CAPTURE(k);
    for (int i = 0; i < 50; ++i) {
      const Key128 kmer = (Key128{random()} << 64 | random()) & key_mask<Key128>(k);
      const Key128 rank = YakOrder<Key128>(k).rank(kmer);
      CHECK((rank & ~key_mask<Key128>(k)) == 0);
      CHECK(YakOrder<Key128>(k).kmer(rank) == kmer);
      if (k > YakOrder<Key64>::kMostK) continue;
      const YakOrder<Key64> order(k);
      const auto narrow = static_cast<Key64>(kmer);
      CHECK(order.rank(narrow) == rank);
      CHECK(order.kmer_of(order.hash_of(narrow)) == narrow);
    }
  }
}

TEST_CASE("a file that is written is one by definition, and is read again") {
  const ScratchFolder scratch;
  for (const std::uint32_t k : {1u, 3u, 4u, 5u, 6u, 13u, 21u, 30u, 31u}) {
    CAPTURE(k);
    const Kmers kmers = in_order(random_kmers(k, 3000, true, 2), k);
    write_file(scratch / "a.yak", k, kmers);
    const auto bins = decode(read_bytes(scratch / "a.yak"), k);
    for (const CountedKmer& each : kmers) {
      const std::uint64_t hash = YakOrder<Key64>(k).hash_of(static_cast<Key64>(each.kmer));
      const auto& bin = bins[hash & 1023];
      CHECK(std::count(bin.begin(), bin.end(), (hash >> 10 << 10) | each.count) == 1);
    }
    for (const std::size_t at_once : {std::size_t{1}, std::size_t{64}, std::size_t{10000}})
      CHECK(read_all<YakSource>(scratch / "a.yak", at_once) == kmers);
    const YakSource source(scratch / "a.yak");
    CHECK(source.facts().k == k);
    CHECK(source.facts().canonical);
    CHECK(source.facts().distinct == kmers.size());
  }
  write_file(scratch / "none.yak", 21, {});
  CHECK(read_bytes(scratch / "none.yak").size() == 16 + 8 * 1024);
  CHECK(read_all<YakSource>(scratch / "none.yak").empty());
}

TEST_CASE("files of more bins, with counts of 0 and at the limit, are read") {
  const ScratchFolder scratch;
  const YakOrder<Key64> order(13);
  const Kmers kmers = {
      {kmer_of("AACCGGTTAACCA"), 7}, {kmer_of("ACACACACACACA"), 1023}, {kmer_of("AAAAAAAAAAAAA"), 0}};
  std::string bytes = std::string("YAK\2", 4) + number_text(13, 4) + number_text(12, 4) + number_text(10, 4);
  for (std::uint64_t bin = 0; bin < 4096; ++bin) {
    std::string words;
    for (const CountedKmer& each : kmers) {
      const std::uint64_t hash = order.hash_of(static_cast<Key64>(each.kmer));
      if ((hash & 4095) == bin) words += number_text(hash >> 12 << 10 | each.count, 8);
    }
    bytes += number_text(4, 4) + number_text(words.size() / 8, 4) + words;
  }
  write_bytes(scratch / "a.yak", bytes);
  YakSource source(scratch / "a.yak");
  Kmers found = all_of(source);
  CHECK(found.size() == 2);
  for (const CountedKmer& each : found) CHECK(std::find(kmers.begin(), kmers.end(), each) != kmers.end());
  CHECK(source.capped().kmers == 1);
  CHECK(source.capped().limit == 1023);
}

TEST_CASE("what is no file of yak, or is damaged, is refused by its name") {
  const ScratchFolder scratch;
  write_file(scratch / "a.yak", 5, in_order(random_kmers(5, 20, true, 1), 5));
  const std::string whole = read_bytes(scratch / "a.yak");
  const auto with = [&](std::size_t at, std::uint64_t value) {
    std::string bytes = whole;
    return bytes.replace(at, 4, number_text(value, 4));
  };
  CHECK(fault_of_bytes(scratch, whole).empty());
  CHECK(says(fault_of_bytes(scratch, "ACGT"), "no counts of yak"));
  CHECK(says(fault_of_bytes(scratch, "YAK\1" + whole.substr(4)), "a version of yak"));
  CHECK(says(fault_of_bytes(scratch, whole.substr(0, 12)), "cut off in its header"));
  CHECK(says(fault_of_bytes(scratch, with(4, 0)), "its header makes no sense"));
  CHECK(says(fault_of_bytes(scratch, with(4, 33)), "counts of 33-mers"));
  CHECK(says(fault_of_bytes(scratch, with(8, 29)), "its header makes no sense"));
  CHECK(says(fault_of_bytes(scratch, with(12, 8)), "its header makes no sense"));
  CHECK(says(fault_of_bytes(scratch, with(20, 0xFFFFFFFF)), "bin 0 of 1024, at byte 16, is not complete"));
  CHECK(says(fault_of_bytes(scratch, whole + "12345678"), "its last bin ends at byte"));
  for (std::size_t size = 0; size < whole.size(); size += 7)
    CHECK(!fault_of_bytes(scratch, whole.substr(0, size)).empty());
  CHECK(
      says(fault_of_bytes(scratch, std::string("YAK\2", 4) + number_text(1, 4) + number_text(10, 4) +
                                       number_text(10, 4) + number_text(4, 4) + number_text(1, 4) +
                                       number_text(std::uint64_t{1} << 60, 8) + std::string(8 * 1023, '\0')),
           "the word at byte 24 is no canonical 1-mer"));
  CHECK_THROWS_AS(YakSink(scratch / "b.yak", {.k = 32}), UsageError);
  CHECK_THROWS_AS(YakSink(scratch / "b.yak", {.k = 5, .canonical = false}), UsageError);
  CHECK(!std::filesystem::exists(scratch / "b.yak"));
}

TEST_CASE("no damage of a file of yak does more than make an input error") {
  const ScratchFolder scratch;
  write_file(scratch / "a.yak", 5, in_order(random_kmers(5, 20, true, 1), 5));
  const std::string whole = read_bytes(scratch / "a.yak");
  for (std::size_t at = 0; at < whole.size(); at += at < 200 ? 1 : 61) {
    for (const int flip : {0x01, 0x10, 0x80, 0xFF})
      CHECK_NOTHROW(fault_of_bytes(scratch, warpmer::tests::flipped(whole, at, flip)));
  }
}
