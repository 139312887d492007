// docs/index-format.md says what is written.

#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "doctest/doctest.h"
#include "groups/flanked_kmer.h"
#include "unit/groups/encoded_content.h"
#include "unit/groups/random_sequences.h"
#include "unit/source_tree.h"

using namespace warpmer;
using namespace warpmer::groups;
using namespace warpmer::tests;

namespace {

bool document_says(const std::string& text) {
  std::ifstream in(source_tree() + "/docs/index-format.md", std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {}).find(text) != std::string::npos;
}

/// Returns offsets and bytes as two hexadecimal digits, sixteen in a row.
std::string hex_dump(const std::vector<std::uint64_t>& words) {
  std::ostringstream out;
  out << std::hex;
  out.fill('0');
  for (std::size_t i = 0; i < 8 * words.size(); ++i) {
    if (i % 16 == 0) {
      out.width(8);
      out << i << ' ';
    }
    out << ' ';
    out.width(2);
    out << (words[i / 8] >> (8 * (i % 8)) & 255);
    if (i % 16 == 15 || i + 1 == 8 * words.size()) out << '\n';
  }
  return out.str();
}

}  // namespace

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
  const std::string dump = hex_dump(shard.payload);
  CHECK_MESSAGE(document_says(dump), "the example should read\n", dump);
}
