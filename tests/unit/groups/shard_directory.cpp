// The directory of shards: what goes in comes out, and nothing else is taken for one.

#include "groups/shard_directory.h"

#include <random>
#include <vector>

#include "doctest/doctest.h"

using namespace warpmer;
using namespace warpmer::groups;

namespace {

std::vector<ShardEntry> random_entries(std::size_t shards, std::mt19937_64& random) {
  std::vector<ShardEntry> entries(shards);
  const auto shift = random() % 60;
  for (ShardEntry& entry : entries) {
    if (random() % 4 == 0) continue;  // an empty shard
    entry.sizes = {random() >> shift,
                   random() % 700,
                   random() % 90,
                   random() % 2,
                   static_cast<std::uint32_t>(random() % 65),
                   random() % 5000};
    entry.checksum = random();
  }
  return entries;
}

}  // namespace

TEST_CASE("a directory gives its entries back") {
  std::mt19937_64 random(1);
  for (const std::size_t shards : {0u, 1u, 2u, 63u, 64u, 65u, 4096u}) {
    const std::vector<ShardEntry> entries = random_entries(shards, random);
    std::vector<ShardEntry> again(shards);
    CHECK(!unpack_directory(pack_directory(entries), again));
    CHECK(again == entries);
  }
  // 4096 empty shards take their checksums alone.
  CHECK(pack_directory(std::vector<ShardEntry>(4096)).size() == 1 + 4096);
}

TEST_CASE("a directory with a wrong width, a wrong size or bits that mean nothing is refused") {
  std::mt19937_64 random(2);
  std::vector<ShardEntry> entries = random_entries(100, random), again(100);
  entries[0].sizes.large_groups = 1;
  const std::vector<std::uint64_t> words = pack_directory(entries);
  CHECK(unpack_directory({}, again) == "the directory is empty");
  auto changed = words;
  changed.push_back(0);
  CHECK(unpack_directory(changed, again) == "the directory has not as many words as its columns take");
  changed = words;
  changed[0] |= std::uint64_t{1} << 48;
  CHECK(unpack_directory(changed, again) == "the directory has more columns than there are");
  changed = words;
  changed[0] |= 0xFF;
  CHECK(unpack_directory(changed, again) == "the directory has numbers that are too wide");
  // Any bit that is changed either changes an entry or is noticed.
  for (std::size_t bit = 0; bit < 64 * words.size(); ++bit) {
    changed = words;
    changed[bit / 64] ^= std::uint64_t{1} << (bit % 64);
    CHECK((unpack_directory(changed, again) || again != entries));
  }
}
