// Indexes whose shards are strings of k-mers: what is written comes back, in order, and nothing else is taken
// for one.

#include <doctest/doctest.h>

#include <random>
#include <string>

#include "base/error.h"
#include "groups/group_key.h"
#include "kmer_index.h"
#include "tests/unit/index/index_file_common.h"

namespace warpmer::index::test {
namespace {

using tests::KmerPlaces;

template <class Key>
KmerPlaces<Key> random_content(std::uint32_t k, std::size_t size) {
  std::mt19937_64 random(k);
  KmerPlaces<Key> content;
  Key kmer = 0;
  for (std::size_t i = 0; i < size; ++i) {
    // Some follow the one before, so that strings are long.
    kmer = random() % 4 == 0 ? static_cast<Key>((Key128{random()} << 64) | random())
                             : static_cast<Key>(kmer << 2) | random() % 4;
    kmer &= key_mask<Key>(k);
    content[tests::place_of(kmer, tests::params_of(k, true))] =
        random() % 20 == 0 ? 1 + (random() >> random() % 60) / 100000 : 1 + random() % 3;
  }
  return content;
}

template <class Key>
void write_content(const KmerPlaces<Key>& content, std::uint32_t k, const std::string& path) {
  tests::write_places(path, tests::params_of(k, true), content, 0, sample_provenance());
}

/// Returns what opening a file and reading all of it throws, or nothing.
std::string refusal_of(const std::string& path) {
  return refusal<InputError>([&] {
    const IndexFile file(path);
    for (std::uint32_t shard = 0; shard < file.params().shards(); ++shard)
      if (file.kmers(shard) > 0) (void)file.strings(shard);
  });
}

}  // namespace

TEST_CASE("index of strings: what is written comes back, and is not to be had as entries") {
  const ScratchFolder scratch;
  for (const std::uint32_t k : {13u, 31u, 32u, 33u, 47u, 48u, 64u}) {
    CAPTURE(k);
    with_key_type(k, [&]<class Key>(Key) {
      const auto content = random_content<Key>(k, 20000);
      write_content(content, k, scratch / "a.wmi");
      const IndexFile file(scratch / "a.wmi");
      CHECK((tests::read_places<Key>(file) == content));
      CHECK_THROWS_AS((void)file.shard(content.begin()->first.first), InternalError);
    });
  }
  const Key64 hash = 5;
  const std::uint64_t count = 1;
  IndexWriter writer(scratch / "b.wmi", tests::params_of(31, true));
  CHECK_THROWS_AS(writer.put(0, index::freeze(&hash, &count, 1, 31)), InternalError);
}

TEST_CASE("index of strings: payloads as they lie in the file") {
  const ScratchFolder scratch;
  const KmerPlaces<Key64> content = random_content<Key64>(31, 20000);
  write_content(content, 31, scratch / "a.wmi");
  const IndexFile file(scratch / "a.wmi"), read(scratch / "a.wmi");
  std::uint64_t before = 0;
  for (std::uint32_t shard = 0; shard < file.params().shards(); ++shard) {
    const std::uint64_t words = file.payload_words(shard);
    REQUIRE(words == file.sizes(shard).words);
    REQUIRE(file.payload(shard) == file.all_payloads() + before);
    REQUIRE(file.payload(shard) == file.strings(shard).words);
    std::vector<std::uint64_t> copy(words + kReadAheadWords, ~std::uint64_t{0});
    read.read_payload(shard, copy.data());
    REQUIRE(std::equal(file.payload(shard), file.payload(shard) + words, copy.begin()));
    REQUIRE(copy[words] == ~std::uint64_t{0});
    before += words;
  }
  // A copy is checked, too, wherever the damage is.
  std::string bytes = read_bytes(scratch / "a.wmi");
  bytes[64 + 1000] ^= 1;
  write_bytes(scratch / "b.wmi", bytes);
  const IndexFile damaged(scratch / "b.wmi");
  std::size_t refused = 0;
  for (std::uint32_t shard = 0; shard < damaged.params().shards(); ++shard) {
    std::vector<std::uint64_t> copy(damaged.payload_words(shard) + kReadAheadWords);
    try {
      damaged.read_payload(shard, copy.data());
    } catch (const InputError&) {
      ++refused;
    }
  }
  CHECK(refused == 1);
}

TEST_CASE("index of strings: shards that were announced go to their places in any order") {
  const ScratchFolder scratch;
  const KmerPlaces<Key64> content = random_content<Key64>(31, 20000);
  write_content(content, 31, scratch / "usual.wmi");
  const IndexFile file(scratch / "usual.wmi");
  std::vector<FrozenShard> shards;
  std::vector<groups::ShardSizes> sizes;
  for (std::uint32_t shard = 0; shard < file.params().shards(); ++shard) {
    shards.push_back(tests::frozen(content, shard, 31));
    sizes.push_back(shards.back().sizes);
  }
  {
    IndexWriter writer(scratch / "other.wmi", file.params());
    writer.announce(0, sizes);
    std::uint32_t one = 0;
    while (sizes[one].kmers == 0 || sizes[one] == sizes[one + 1]) ++one;
    CHECK_THROWS_AS(writer.put(one, FrozenShard(shards[one + 1])), InternalError);
  }
  IndexWriter writer(scratch / "announced.wmi", file.params());
  writer.announce(0, sizes);
  for (std::uint32_t shard = file.params().shards(); shard-- > 0;) {
    CHECK(writer.has_offset(shard));
    writer.put(shard, std::move(shards[shard]));
  }
  writer.finish(file.totals(), file.histogram(), sample_provenance());
  CHECK((read_bytes(scratch / "announced.wmi") == read_bytes(scratch / "usual.wmi")));
}

TEST_CASE("index of strings: every flipped bit is noticed") {
  const ScratchFolder scratch;
  write_content(random_content<Key64>(31, 300), 31, scratch / "a.wmi");
  const std::string good = read_bytes(scratch / "a.wmi");
  REQUIRE(refusal_of(scratch / "a.wmi").empty());
  std::mt19937_64 random(3);
  for (int i = 0; i < 400; ++i) {
    std::string bad = good;
    const std::size_t at = random() % bad.size();
    bad[at] = static_cast<char>(bad[at] ^ 1 << random() % 8);
    write_bytes(scratch / "b.wmi", bad);
    CAPTURE(at);
    CHECK(!refusal_of(scratch / "b.wmi").empty());
  }
}

TEST_CASE("index of strings: of version 1, or with other minimizers, it is refused in one sentence") {
  const ScratchFolder scratch;
  write_content(random_content<Key64>(31, 300), 31, scratch / "a.wmi");
  std::string old = read_bytes(scratch / "a.wmi");
  old[8] = 1;
  write_bytes(scratch / "b.wmi", old);
  CHECK(
      says(refusal_of(scratch / "b.wmi"),
           "b.wmi' is an index of format version 1, which this warpmer does not read any more; count again"));
  CHECK_THROWS_AS(IndexWriter(scratch / "c.wmi", {.k = 31, .minimizer_length = 14, .shard_bits = 12}),
                  InternalError);
}

}  // namespace warpmer::index::test
