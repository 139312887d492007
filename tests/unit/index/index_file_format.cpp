// ctest: one thread

#include <doctest/doctest.h>

#include "groups/group_shape.h"
#include "index/shard_codec.h"
#include "kmer/hash.h"
#include "kmer/kmer.h"
#include "kmer/minimizer.h"
#include "unit/index/index_file_common.h"
#include "unit/source_tree.h"

using namespace warpmer;
using namespace warpmer::index;
using namespace warpmer::index::test;

namespace {

/// The example of docs/index-format.md: the 5-mers of two reads.
Sample documented_example() {
  constexpr std::uint32_t kK = 5;
  std::map<std::uint64_t, std::uint64_t> entries;
  Sample sample;
  sample.params = {.k = kK, .canonical = true, .minimizer_length = kK, .shard_bits = 0};
  for (const std::string read : {"GATTACAGATTACCAG", "AAAAAAAAAAA"}) {
    for (std::size_t i = 0; i + kK <= read.size(); ++i) {
      Key64 kmer = 0;
      REQUIRE(kmer_from_text(std::string_view(read).substr(i, kK), kmer));
      ++entries[KmerHash<Key64>(kK)(canonical(kmer, kK))];
      ++sample.totals.counted_kmers;
    }
    ++sample.totals.records;
    sample.totals.bases += read.size();
  }
  for (const auto& [hash, count] : entries) {
    ++sample.histogram[count];
    sample.totals.largest_count = std::max(sample.totals.largest_count, count);
  }
  sample.totals.stored_kmers = sample.totals.counted_kmers;
  sample.totals.stored_distinct = sample.totals.counted_distinct = entries.size();
  sample.totals.counted_unique = sample.histogram[1];
  // The codec chooses the widths; the naive packer agrees on the bytes.
  std::vector<Key64> hashes;
  std::vector<std::uint64_t> counts;
  for (const auto& [hash, count] : entries) {
    hashes.push_back(hash);
    counts.push_back(count);
  }
  sample.shards.push_back(index::freeze(hashes.data(), counts.data(), hashes.size(), kK));
  const FrozenShard naive = test::freeze({entries.begin(), entries.end()}, kK, 1, 2);
  CHECK(sample.shards[0].shape == naive.shape);
  CHECK(sample.shards[0].payload == naive.payload);
  return sample;
}

}  // namespace

TEST_CASE("index format: the documentation's example is what is written") {
  const ScratchFolder scratch;
  write_sample(documented_example(), scratch / "example.wmi",
               {"0.1.0", "warpmer count -k 5 two.fa", {"two.fa"}});
  check_example("index-format.md", read_bytes(scratch / "example.wmi"));
}

TEST_CASE("index format: the documentation's table of m, s and r is the one in use") {
  std::string table;
  for (std::uint32_t k = 13, first = k; k <= kMaxK; ++k) {
    if (k < kMaxK && minimizer_length(k + 1) == minimizer_length(k) && shard_bits(k + 1) == shard_bits(k))
      continue;
    table += "| " + std::to_string(first) + " to " + std::to_string(k) + " | " +
             std::to_string(minimizer_length(k)) + " | " + std::to_string(shard_bits(k)) + " | " +
             std::to_string(groups::GroupShape(k).rest_bits()) + " |\n";
    first = k + 1;
  }
  for (std::uint32_t k = 1; k <= 12; ++k) CHECK((minimizer_length(k) == k && shard_bits(k) == 0));
  const std::string document = read_bytes(source_tree() + "/docs/index-format.md");
  CHECK_MESSAGE(says(document, "| 1 to 12 | k | 0 | |\n" + table), "the table should read\n", table);
}
