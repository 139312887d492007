// docs/index-format.md says what is written.

#include <cstdint>
#include <string>

#include "doctest/doctest.h"
#include "groups/flanked_kmer.h"
#include "unit/groups/encoded_content.h"
#include "unit/groups/random_sequences.h"
#include "unit/index/index_file_common.h"

using namespace warpmer;
using namespace warpmer::groups;
using namespace warpmer::tests;

TEST_CASE("the example of the format's documentation is what is written") {
  constexpr std::uint32_t kK = 13, kShard = 3580;
  const GroupShape shape(kK);
  const GroupHash hash(shape.m);
  Content<Key64> content;
  for (const std::string text :
       {"GATTACAGATTACC", "GATTACAGATTACC", "GATTACAGATTAC", "CATTACAGATTAC", "TTTGACCTGAAGCAG"}) {
    for_each_kmer<Key64>(text, kK, [&](Key64 kmer) {
      const auto place = flanked_kmer<Key64>(kmer, shape, true);
      const std::uint32_t id = hash(place.mmer);
      REQUIRE((shape.shard_of(id)) == kShard);
      ++content[{shape.rest_of(id), place.layer, place.flanks}];
    });
  }
  const EncodedShard shard = encode(kK, content);
  CHECK(shard.sizes.kmers == 6);
  CHECK(shard.sizes.groups == 2);
  CHECK(shard.sizes.buckets == 1);
  CHECK(shard.sizes.large_groups == 0);
  CHECK(shard.sizes.offset_bits == 7);
  CHECK(shard.sizes.words == 3);
  index::test::check_example("index-format.md", {reinterpret_cast<const char*>(shard.payload.data()),
                                                 shard.payload.size() * sizeof(std::uint64_t)});
}
