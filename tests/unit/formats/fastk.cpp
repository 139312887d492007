// Tables and histograms of FastK: what is written, decoded by the format's definition; bytes made by hand,
// read; damage. ctest: one thread

#include <doctest/doctest.h>

#include <filesystem>
#include <random>
#include <span>
#include <vector>

#include "formats/fastk/fastk_histogram.h"
#include "formats/fastk/fastk_profile.h"
#include "formats/fastk/fastk_table.h"
#include "unit/formats/counted_kmers.h"

using namespace warpmer;
using namespace warpmer::formats;
using namespace warpmer::formats::test;

namespace {

/// A table, taken apart by what fastk_table.h says of it.
struct Decoded {
  std::uint64_t k = 0, parts = 0, least = 0;
  Kmers kmers;
};

Decoded decode(const std::string& stub) {
  const std::string bytes = read_bytes(stub);
  Decoded table{number(bytes, 0, 4), number(bytes, 4, 4), number(bytes, 8, 4), {}};
  const std::uint64_t prefix_bytes = number(bytes, 12, 4);
  REQUIRE(bytes.size() == 16 + (8u << (8 * prefix_bytes)));
  const std::uint64_t kmer_bytes = (table.k + 3) / 4, suffix_bytes = kmer_bytes - prefix_bytes;
  std::uint64_t prefix = 0;
  for (std::uint64_t i = 1; i <= table.parts; ++i) {
    const std::string part = read_bytes(fastk_part(stub, i));
    REQUIRE(number(part, 0, 4) == table.k);
    const std::uint64_t first_of_part = table.kmers.size(), n = number(part, 4, 8);
    REQUIRE(part.size() == 12 + n * (suffix_bytes + 2));
    for (std::size_t at = 12; at < part.size(); at += suffix_bytes + 2) {
      while (number(bytes, 16 + 8 * prefix, 8) <= table.kmers.size()) ++prefix;
      const std::uint64_t first_of_prefix = prefix == 0 ? 0 : number(bytes, 8 + 8 * prefix, 8);
      REQUIRE(first_of_prefix >= first_of_part);  // no prefix is in two parts
      CountedKmer entry{Key128{prefix}, number(part, at + suffix_bytes, 2)};
      for (std::size_t b = 0; b < suffix_bytes; ++b)
        entry.kmer = entry.kmer << 8 | static_cast<std::uint8_t>(part[at + b]);
      entry.kmer >>= 8 * kmer_bytes - 2 * table.k;
      table.kmers.push_back(entry);
    }
  }
  return table;
}

Kmers capped_kmers(std::uint32_t k, std::size_t n) {
  Kmers kmers = random_kmers(k, n, true, 3);
  for (CountedKmer& each : kmers) each.count = std::min(each.count, kLargestFastkCount);
  return kmers;
}

void write_table(const std::string& path, const Kmers& kmers, const StreamFacts& facts,
                 std::uint32_t parts = 4) {
  FastkSink sink(path, facts, parts);
  sink.write(std::span(kmers).first(kmers.size() / 2));
  sink.write(std::span(kmers).subspan(kmers.size() / 2));
  sink.finish();
}

/// AAAAC 3 and ACGTA 32767, as another program writes them: one part, and a second that is empty.
constexpr std::uint32_t kK = 5;
void write_by_hand(const ScratchFolder& scratch) {
  std::string stub = number_text(kK, 4) + number_text(2, 4) + number_text(1, 4) + number_text(1, 4);
  for (unsigned prefix = 0; prefix < 256; ++prefix) stub += number_text(prefix < 0x1B ? 1 : 2, 8);
  write_bytes(scratch / "h.ktab", stub);
  // AAAAC is 00 40, ACGTA is 1B 00.
  write_bytes(scratch / ".h.ktab.1",
              number_text(kK, 4) + number_text(2, 8) + std::string("\x40\x03\x00\x00\xFF\x7F", 6));
  write_bytes(scratch / ".h.ktab.2", number_text(kK, 4) + number_text(0, 8));
}

std::string fault_with(const ScratchFolder& scratch, const std::string& file, const std::string& bytes) {
  write_by_hand(scratch);
  write_bytes(scratch / file, bytes);
  return fault_of<FastkSource>(scratch / "h.ktab");
}

}  // namespace

TEST_CASE("a table that is written is one by definition, and is read again") {
  const ScratchFolder scratch;
  for (const std::uint32_t k : {3u, 4u, 5u, 8u, 21u, 31u, 32u, 33u, 40u, 63u, 64u}) {
    for (const std::uint32_t parts : {1u, 4u}) {
      CAPTURE(k);
      CAPTURE(parts);
      const Kmers kmers = capped_kmers(k, 500);
      write_table(scratch / "a.ktab", kmers, {.k = k, .distinct = kmers.size(), .min_count = 2}, parts);
      const Decoded decoded = decode(scratch / "a.ktab");
      CHECK(decoded.k == k);
      CHECK(decoded.parts == parts);
      CHECK(decoded.least == 2);
      CHECK(decoded.kmers == kmers);
      for (const std::size_t at_once : {std::size_t{1}, std::size_t{64}, std::size_t{1000}})
        CHECK(read_all<FastkSource>(scratch / "a", at_once) == kmers);
      const FastkSource source(scratch / "a.ktab");
      CHECK(source.facts().k == k);
      CHECK(source.facts().canonical);
      CHECK(source.facts().distinct == kmers.size());
      CHECK(source.facts().min_count == 2);
    }
  }
}

TEST_CASE("parts are of the same size, about, where that is known; a table of nothing has all of them") {
  const ScratchFolder scratch;
  const Kmers kmers = capped_kmers(21, 4000);
  write_table(scratch / "a.ktab", kmers, {.k = 21, .distinct = kmers.size()});
  for (std::uint64_t part = 1; part <= 4; ++part)
    CHECK(number(read_bytes(fastk_part(scratch / "a.ktab", part)), 4, 8) > kmers.size() / 5);
  write_table(scratch / "b.ktab", kmers, {.k = 21});
  CHECK(number(read_bytes(fastk_part(scratch / "b.ktab", 1)), 4, 8) == kmers.size());
  CHECK(decode(scratch / "b.ktab").kmers == kmers);
  write_table(scratch / "none.ktab", {}, {.k = 21});
  CHECK(decode(scratch / "none.ktab").parts == 4);
  CHECK(read_all<FastkSource>(scratch / "none.ktab").empty());
  CHECK(fastk_files(scratch / "none").size() == 5);
}

TEST_CASE("prefixes have as many bytes as FastK's") {
  const ScratchFolder scratch;
  const auto bytes = [&](std::uint32_t k, std::uint64_t distinct) {
    write_table(scratch / "a.ktab", {}, {.k = k, .distinct = distinct});
    return number(read_bytes(scratch / "a.ktab"), 12, 4);
  };
  CHECK(bytes(21, 0x3FFFF) == 1);
  CHECK(bytes(21, 0x40000) == 2);
  CHECK(bytes(7, 0x40000) == 1);
  CHECK(bytes(11, 0x4000001) == 2);
}

TEST_CASE("bytes of another program are read, and counts at the limit are told") {
  const ScratchFolder scratch;
  write_by_hand(scratch);
  FastkSource source(scratch / "h.ktab");
  CHECK(all_of(source) == Kmers{{kmer_of("AAAAC"), 3}, {kmer_of("ACGTA"), 32767}});
  CHECK(source.capped().kmers == 1);
  CHECK(source.capped().limit == 32767);
  CHECK(is_fastk_table(scratch / "h"));
  CHECK(!is_fastk_table(scratch / "x"));
  write_bytes(scratch / "h", "another file");
  CHECK(!is_fastk_table(scratch / "h"));
}

TEST_CASE("what is no table, is damaged or lacks parts is refused by its name") {
  const ScratchFolder scratch;
  write_by_hand(scratch);
  const std::string stub = read_bytes(scratch / "h.ktab"), part = read_bytes(scratch / ".h.ktab.1");
  const auto with = [](std::string bytes, std::size_t at, std::uint64_t value, std::size_t width) {
    return bytes.replace(at, width, number_text(value, width));
  };
  CHECK(fault_with(scratch, "h.ktab", stub).empty());
  CHECK(says(fault_with(scratch, "h.ktab", "ACGT"), "no FastK table"));
  CHECK(says(fault_with(scratch, "h.ktab", with(stub, 12, 9, 4)), "header is damaged"));
  CHECK(says(fault_with(scratch, "h.ktab", with(stub, 0, 65, 4)), "k-mers of 65 bases"));
  CHECK(says(fault_with(scratch, "h.ktab", stub.substr(0, 2000)), "its stub has 2000 bytes, not 2064"));
  CHECK(says(fault_with(scratch, "h.ktab", with(stub, 4, 3, 4)), ".h.ktab.3' is not there"));
  CHECK(says(fault_with(scratch, "h.ktab", with(stub, 16 + 8 * 7, 0, 8)), "does not go on in order"));
  CHECK(says(fault_with(scratch, "h.ktab", with(stub, 16 + 8 * 7, ~std::uint64_t{0}, 8)), "does not go on"));
  CHECK(says(fault_with(scratch, "h.ktab", with(stub, 16 + 8 * 255, 1, 8)), "does not go on in order"));
  CHECK(says(fault_with(scratch, ".h.ktab.1", part.substr(0, 7)), "cut off in its header"));
  CHECK(says(fault_with(scratch, ".h.ktab.1", part.substr(0, part.size() - 1)), "it is cut off"));
  CHECK(says(fault_with(scratch, ".h.ktab.1", with(part, 0, 6, 4)), "a part of a table of 6-mers"));
  CHECK(says(fault_with(scratch, ".h.ktab.1", with(part, 4, ~std::uint64_t{0}, 8)), "do not make that"));
  CHECK(says(fault_with(scratch, ".h.ktab.2", with(part, 12, 0, 0)), "its index ends with 2 k-mers"));
  CHECK(says(fault_with(scratch, ".h.ktab.1", with(part, 12, 0x41, 1)),
             "the entry at byte 12"));  // a padding bit
  CHECK(
      says(fault_with(scratch, ".h.ktab.1", with(part, 13, 0, 2)), "the entry at byte 12"));  // a count of 0
  CHECK(says(fault_with(scratch, ".h.ktab.1", with(part, 13, 0x8000, 2)), "the entry at byte 12"));
  std::string other = stub;  // TGTTA, of which TAACA is canonical
  for (unsigned prefix = 0x1B; prefix < 0xEF; ++prefix) other = with(other, 16 + 8 * prefix, 1, 8);
  CHECK(says(fault_with(scratch, "h.ktab", other), "is not canonical"));
  std::filesystem::remove(scratch / ".h.ktab.2");
  write_bytes(scratch / "h.ktab", stub);
  CHECK(says(fault_of<FastkSource>(scratch / "h.ktab"), ".h.ktab.2' is not there"));
  CHECK(says(fault_of<FastkSource>(scratch / "absent.ktab"), "absent.ktab"));
}

TEST_CASE("no damage of a table does more than make an input error") {
  const ScratchFolder scratch;
  write_by_hand(scratch);
  const std::string stub = read_bytes(scratch / "h.ktab"), part = read_bytes(scratch / ".h.ktab.1");
  for (const int flip : {0x01, 0x02, 0x10, 0x80, 0xFF}) {
    for (std::size_t at = 0; at < 400; ++at)
      CHECK_NOTHROW(fault_with(scratch, "h.ktab", warpmer::tests::flipped(stub, at, flip)));
    for (std::size_t at = 0; at < part.size(); ++at)
      CHECK_NOTHROW(fault_with(scratch, ".h.ktab.1", warpmer::tests::flipped(part, at, flip)));
  }
}

TEST_CASE("k-mers of one strand are no table, and nothing is left of it") {
  const ScratchFolder scratch;
  CHECK_THROWS_AS(write_table(scratch / "a.ktab", {}, {.k = 5, .canonical = false}), UsageError);
  { const FastkSink unfinished(scratch / "a.ktab", {.k = 5}); }
  CHECK(scratch.files() == 0);
}

/// Returns counts with runs of all lengths, and steps of all sizes.
std::vector<std::uint64_t> counts_of_a_sequence(std::mt19937& random) {
  std::vector<std::uint64_t> counts;
  for (std::size_t runs = random() % 60; runs > 0; --runs) {
    const std::uint64_t before = counts.empty() ? 0 : counts.back();
    const std::uint64_t count = random() % 2 == 0 ? before + random() % 40 : random() % 40000;
    counts.insert(counts.end(), random() % 3 == 0 ? random() % 300 : random() % 3, count);
  }
  return counts;
}

/// Returns the files of profiles that are cut into pieces of up to `most` counts each.
std::string files_of_profiles(const ScratchFolder& scratch,
                              const std::vector<std::vector<std::uint64_t>>& sequences, std::size_t most,
                              std::mt19937& random) {
  FastkProfileSink sink(scratch / "a.prof", 21, 2, sequences.size());
  FastkProfiles profiles;
  for (const auto& counts : sequences) {
    std::span<const std::uint64_t> rest = counts;
    for (bool begins = true, ends = false; !ends; begins = false) {
      const auto part = rest.first(std::min<std::size_t>(rest.size(), 1 + random() % most));
      rest = rest.subspan(part.size());
      ends = rest.empty() && (part.empty() || random() % 2 == 0);  // a last piece may have none
      profiles.add(part, begins, ends);
      if (random() % 4 == 0) {
        sink.write(profiles);
        profiles = {};
      }
    }
  }
  sink.write(profiles);
  sink.finish();
  std::string files;
  for (const char* name : {".a.pidx.1", ".a.pidx.2", ".a.prof.1", ".a.prof.2"})
    files += read_bytes(scratch / name);
  return files;
}

TEST_CASE("profiles do not depend on where sequences are cut into pieces") {
  const ScratchFolder scratch;
  std::mt19937 random(5);
  std::vector<std::vector<std::uint64_t>> sequences;
  sequences.reserve(41);
  for (int i = 0; i < 40; ++i) sequences.push_back(counts_of_a_sequence(random));
  sequences.push_back(std::vector<std::uint64_t>(1000, 7));
  const std::string whole = files_of_profiles(scratch, sequences, SIZE_MAX, random);
  for (const std::size_t most : {1u, 2u, 62u, 63u, 64u, 500u})
    CHECK(files_of_profiles(scratch, sequences, most, random) == whole);
  const std::string run = {7,  63, 63, 63, 63, 63, 63, 63, 63,
                           63, 63, 63, 63, 63, 63, 63, 54};  // 1 + 15 * 63 + 54
  CHECK(whole.ends_with(run));
}

TEST_CASE("a histogram has a row for each count, and sums of the first and the last") {
  const ScratchFolder scratch;
  const FastkHistogram histogram =
      fastk_histogram_of(21, {{1, 10}, {2, 5}, {32766, 3}, {32767, 2}, {40000, 1}});
  const std::string bytes = encoded(histogram);
  REQUIRE(bytes.size() == 262164);
  CHECK(number(bytes, 0, 4) == 21);
  CHECK(number(bytes, 4, 4) == 1);
  CHECK(number(bytes, 8, 4) == 32767);
  CHECK(number(bytes, 12, 8) == 10);
  CHECK(number(bytes, 20, 8) == 2 * 32767 + 40000);
  CHECK(number(bytes, 28, 8) == 10);
  CHECK(number(bytes, 36, 8) == 5);
  CHECK(number(bytes, bytes.size() - 16, 8) == 3);
  CHECK(number(bytes, bytes.size() - 8, 8) == 3);
  write_bytes(scratch / "a.hist", bytes);
  const FastkHistogram again = read_fastk_histogram(scratch / "a.hist");
  CHECK(again.kmers == histogram.kmers);
  CHECK(again.high_instances == histogram.high_instances);
  for (const std::string& damaged : {bytes.substr(0, 20), bytes.substr(0, 1000), bytes + "x",
                                     std::string(28, '\xFF'), std::string(28, '\0')}) {
    write_bytes(scratch / "a.hist", damaged);
    CHECK_THROWS_AS((void)read_fastk_histogram(scratch / "a.hist"), InputError);
  }
}
