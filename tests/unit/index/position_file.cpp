// The index of positions as a file: the documented bytes, round trips, damage, what its writer refuses.
// ctest: one thread

#include "index/positions/position_file.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "base/error.h"
#include "index/positions/position_codec.h"
#include "kmer/hash.h"
#include "kmer/kmer.h"
#include "random_text.h"
#include "unit/index/index_file_common.h"

using namespace warpmer;
using namespace warpmer::file;
using namespace warpmer::index;
using namespace warpmer::index::test;

namespace {

/// Entries by bin: hash and location.
template <class Key>
using Bins = std::vector<std::vector<std::pair<Key, Location>>>;

template <class Key>
struct PositionSample {
  PositionParams params;
  Bins<Key> bins;
  std::vector<IndexedSequence> sequences;
  PositionTotals totals;
};

/// All k-mers of some sequences, by definition.
template <class Key>
PositionSample<Key> sample_of(const std::vector<std::string>& texts, std::uint32_t k) {
  PositionSample<Key> sample;
  std::vector<std::pair<Key, Location>> all;
  std::uint64_t begin = 0;
  for (const std::string& text : texts) {
    for (std::size_t i = 0; i + k <= text.size(); ++i) {
      Key kmer = 0;
      REQUIRE(kmer_from_text(std::string_view(text).substr(i, k), kmer));
      const Key chosen = canonical(kmer, k);
      all.emplace_back(KmerHash<Key>(k)(chosen), (begin + i) * 2 + (chosen == kmer ? 0 : 1));
    }
    begin += text.size();
    sample.sequences.push_back({fmt::format("s{}", sample.sequences.size()), text.size()});
  }
  std::sort(all.begin(), all.end());
  sample.params.k = k;
  sample.params.bin_bits = bin_bits_for(all.size(), k);
  sample.params.location_bits = location_bits_for(begin);
  sample.bins.resize(sample.params.bins());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint32_t shift = 2 * k - sample.params.bin_bits;
    sample.bins[sample.params.bin_bits == 0 ? 0 : static_cast<std::size_t>(all[i].first >> shift)].push_back(
        all[i]);
    sample.totals.distinct += i == 0 || all[i].first != all[i - 1].first ? 1 : 0;
  }
  sample.totals.occurrences = all.size();
  sample.totals.sequences = texts.size();
  sample.totals.bases = begin;
  return sample;
}

template <class Key>
std::vector<std::uint64_t> payload_of(const PositionSample<Key>& sample, std::size_t bin) {
  const auto& entries = sample.bins[bin];
  const std::uint32_t bucket_bits = position_bucket_bits(entries.size(), sample.params);
  const std::uint32_t rest_bits = bin_layout(entries.size(), bucket_bits, sample.params).rest_bits;
  std::vector<Key> hashes;
  std::vector<Location> locations;
  std::vector<std::uint64_t> offsets(std::size_t{1} << bucket_bits, 0);
  for (const auto& [hash, location] : entries) {
    hashes.push_back(hash);
    locations.push_back(location);
    if (bucket_bits == 0) continue;
    const auto bucket = static_cast<std::size_t>(hash >> rest_bits) & (offsets.size() - 1);
    for (std::size_t b = bucket + 1; b < offsets.size(); ++b) ++offsets[b];
  }
  std::vector<std::uint64_t> payload;
  pack_bin(hashes.data(), locations.data(), hashes.size(), offsets, sample.params, payload);
  return payload;
}

template <class Key>
std::vector<std::uint64_t> sizes_of(const PositionSample<Key>& sample) {
  std::vector<std::uint64_t> sizes;
  for (const auto& bin : sample.bins) sizes.push_back(bin.size());
  return sizes;
}

template <class Key>
void write_sample(const PositionSample<Key>& sample, const std::string& path, const Provenance& provenance) {
  PositionWriter writer(path);
  writer.begin(sample.params, sizes_of(sample));
  for (std::size_t bin = sample.bins.size(); bin-- > 0;)  // any order will do
    writer.put(static_cast<std::uint32_t>(bin), payload_of(sample, bin));
  writer.finish(sample.totals, sample.sequences, provenance);
}

/// Everything that can be asked for.
template <class Key>
Bins<Key> read_all(const PositionFile& file) {
  const PositionParams& params = file.params();
  Bins<Key> bins(params.bins());
  for (std::uint32_t b = 0; b < params.bins(); ++b) {
    const BinReader<Key> reader(file.bin(b), params);
    for (std::uint64_t bucket = 0; bucket < std::uint64_t{1} << reader.bucket_bits(); ++bucket) {
      for (std::uint64_t i = reader.bucket_begin(bucket); i < reader.bucket_begin(bucket + 1); ++i) {
        const std::uint32_t rest_bits = 2 * params.k - params.bin_bits - reader.bucket_bits();
        const Key top = rest_bits >= kKeyBits<Key>
                            ? Key{0}
                            : static_cast<Key>(((Key{b} << reader.bucket_bits()) | bucket) << rest_bits);
        bins[b].emplace_back(top | reader.rest_at(i), reader.location_at(i));
        (void)file.resolve(reader.location_at(i));
      }
    }
  }
  return bins;
}

PositionSample<Key64> documented_example() {
  PositionSample<Key64> sample = sample_of<Key64>({"GATTACAGA", "TGTAAT"}, 5);
  sample.sequences[0].name = "one";
  sample.sequences[1].name = "two";
  sample.totals.unique = 3;
  sample.totals.most_occurrences = 2;
  return sample;
}

const Provenance kProvenance{"0.1.0", "warpmer positions -k 5 -o two.wmp two.fa", {"two.fa"}};

template <class Key>
void check_round_trip(std::uint32_t k, std::size_t length) {
  CAPTURE(k);
  const ScratchFolder scratch;
  std::mt19937_64 random(k);
  const std::string text = tests::random_text(random, length);
  const PositionSample<Key> sample =
      sample_of<Key>({text, "", text.substr(0, 500), std::string(300, 'A')}, k);
  write_sample(sample, scratch / "x.wmp", kProvenance);
  const PositionFile file(scratch / "x.wmp");
  CHECK(file.params().k == k);
  CHECK(file.params().location_bits == sample.params.location_bits);
  CHECK(file.totals().occurrences == sample.totals.occurrences);
  CHECK(file.sequences() == 4);
  CHECK(file.sequence_name(2) == "s2");
  CHECK(file.provenance().command_line == kProvenance.command_line);
  CHECK(read_all<Key>(file) == sample.bins);
}

/// Writes what a writer never would, with the right checksums.
void write_payload(const std::string& path, const std::vector<std::uint64_t>& payload) {
  const PositionSample<Key64> sample = documented_example();
  PositionWriter writer(path);
  writer.begin(sample.params, sizes_of(sample));
  writer.put(0, payload);
  writer.finish(sample.totals, sample.sequences, kProvenance);
}

}  // namespace

TEST_CASE("position file: the documentation's example is what is written") {
  const ScratchFolder scratch;
  write_sample(documented_example(), scratch / "two.wmp", kProvenance);
  check_example("position-index-format.md", read_bytes(scratch / "two.wmp"));
}

TEST_CASE("position file: entries of all widths come back") {
  for (const std::uint32_t k : {1u, 2u, 7u, 15u, 31u, 32u}) check_round_trip<Key64>(k, 40'000);
  for (const std::uint32_t k : {33u, 47u, 64u}) check_round_trip<Key128>(k, 40'000);
  check_round_trip<Key64>(31, 300'000);  // several bins
  check_round_trip<Key64>(3, 300'000);
  check_round_trip<Key64>(31, 0);
}

TEST_CASE("position file: hits are resolved to sequences, empty ones among them") {
  const ScratchFolder scratch;
  const PositionSample<Key64> sample = sample_of<Key64>({"", "ACGTACG", "", "", "TTTTT", ""}, 5);
  write_sample(sample, scratch / "x.wmp", kProvenance);
  const PositionFile file(scratch / "x.wmp");
  const auto place = [&](Location location) {
    const Hit hit = file.resolve(location);
    return std::tuple(hit.sequence, hit.position, hit.is_reverse);
  };
  CHECK(place(0) == std::tuple(1u, 0u, false));
  CHECK(place(2 * 2 + 1) == std::tuple(1u, 2u, true));
  CHECK(place(7 * 2) == std::tuple(4u, 0u, false));
  // From here on k bases reach over the end of the sequence, or of all.
  for (const std::uint64_t position : {3, 4, 6, 8, 11, 12, 1000})
    CHECK_THROWS_AS((void)file.resolve(2 * position), InputError);
  CHECK_THROWS_AS((void)file.resolve(UINT64_MAX), InputError);
}

TEST_CASE("position file: every flipped bit and every missing byte is noticed") {
  const ScratchFolder scratch;
  write_sample(documented_example(), scratch / "x.wmp", kProvenance);
  const std::string good = read_bytes(scratch / "x.wmp");
  const auto is_refused = [&](const std::string& bytes) {
    write_bytes(scratch / "bad.wmp", bytes);
    return says(refusal<InputError>([&] { (void)read_all<Key64>(PositionFile(scratch / "bad.wmp")); }),
                "bad.wmp");
  };
  REQUIRE(!is_refused(good));
  std::size_t missed = 0;
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    missed += is_refused(bad) ? 0 : 1;
  }
  for (std::size_t size = 0; size < good.size(); ++size) missed += is_refused(good.substr(0, size)) ? 0 : 1;
  CHECK(missed == 0);
  CHECK(is_refused(good + std::string(8, '\0')));
}

TEST_CASE("position file: wrong content under right checksums leads nowhere else") {
  const ScratchFolder scratch;
  const std::vector<std::uint64_t> good = payload_of(documented_example(), 0);
  REQUIRE(good.size() == 3);
  const auto fault = [&](std::size_t word, std::uint64_t flips) {
    std::vector<std::uint64_t> payload = good;
    payload[word] ^= flips;
    write_payload(scratch / "x.wmp", payload);
    const PositionFile file(scratch / "x.wmp");
    return refusal<InputError>([&] { (void)read_all<Key64>(file); });
  };
  CHECK(fault(0, 0).empty());
  // Offsets are three numbers of three bits: 0, 6, 7.
  CHECK(says(fault(0, 1), "offsets do not rise"));
  CHECK(says(fault(0, 1 << 6), "offsets do not rise"));
  CHECK(says(fault(0, 1 << 9), "unused bits"));
  CHECK(says(fault(2, std::uint64_t{1} << 63), "unused bits"));
  // The first entry's location has five bits: 3 * 2 + 1. At position 15 there is nothing.
  CHECK(says(fault(1, 0b11000), "where none fits"));
}

TEST_CASE("position file: what a writer refuses, and that it leaves nothing behind") {
  const ScratchFolder scratch;
  const PositionSample<Key64> sample = documented_example();
  {
    PositionWriter writer(scratch / "x.wmp");
    writer.begin(sample.params, sizes_of(sample));
    CHECK_THROWS_AS(writer.put(0, std::vector<std::uint64_t>(2)), InternalError);
    CHECK_THROWS_AS(writer.finish(sample.totals, sample.sequences, kProvenance), InternalError);
  }
  CHECK(scratch.files() == 0);
  PositionWriter wrong(scratch / "y.wmp");
  CHECK_THROWS_AS(wrong.begin(sample.params, std::vector<std::uint64_t>(3)), InternalError);
  CHECK_THROWS_AS(PositionWriter(scratch / "no/such/folder"), ResourceError);
  CHECK_THROWS_AS((void)PositionFile(scratch / "none.wmp"), InputError);
}

TEST_CASE("position file: widths and bins") {
  CHECK(location_bits_for(0) == 1);
  CHECK(location_bits_for(1) == 1);
  CHECK(location_bits_for(2) == 2);
  CHECK(location_bits_for(std::uint64_t{1} << 31) == 32);
  CHECK(location_bits_for((std::uint64_t{1} << 31) + 1) == 33);
  CHECK(location_bits_for(std::uint64_t{5} << 32) == 36);
  CHECK(bin_bits_for(32767, 31) == 0);
  CHECK(bin_bits_for(32768, 31) == 1);
  CHECK(bin_bits_for(100'000'000, 31) == 12);
  CHECK(bin_bits_for(UINT64_MAX, 31) == 15);
  CHECK(bin_bits_for(UINT64_MAX, 2) == 4);
}
