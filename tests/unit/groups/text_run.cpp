// Runs of packed text are the super-k-mers of the definition.

#include "groups/text_run.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "bench/flanked_cut.h"
#include "groups/group_key.h"
#include "unit/groups/random_sequences.h"

namespace {

using namespace warpmer;
using namespace warpmer::groups;
using namespace warpmer::tests;
using bench::CutSuperKmer;
using bench::FlankedCut;

/// Text behind some other bases, packed, with as many words behind it as are read.
std::vector<std::uint32_t> packed_text(const std::string& before, const std::string& text) {
  const std::vector<std::uint8_t> codes = codes_of(before + text);
  std::vector<std::uint32_t> packed(codes.size() / 16 + 6, 0xE4E4E4E4u);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    packed[i / 16] &= ~(3u << (2 * (i % 16)));
    packed[i / 16] |= static_cast<std::uint32_t>(codes[i]) << (2 * (i % 16));
  }
  return packed;
}

/// Returns the first k-mer from `from` on whose minimizer is another one, or the number of hashes.
std::size_t end_of_run(const std::vector<std::uint32_t>& hashes, std::size_t from) {
  std::size_t end = from + 1;
  while (end < hashes.size() && hashes[end] == hashes[from]) ++end;
  return end;
}

struct SeenRuns {
  std::size_t once = 0, several = 0;
};

/// Compares the runs of a text with its super-k-mers.
template <class Key, class Flanks>
void check_text(const std::string& text, std::uint32_t k, bool canonical, SeenRuns& seen) {
  const GroupShape shape(k);
  const std::uint32_t before = k % 16;
  const std::vector<std::uint32_t> packed = packed_text(std::string(before, 'C'), text);
  std::vector<std::uint32_t> mmers, minimizers;
  for_each_kmer<Key>(text, k, [&](Key kmer) { minimizers.push_back(minimizer_of(kmer, k, canonical)); });
  for (std::uint32_t i = 0; i + shape.m <= text.size(); ++i) {
    const std::uint32_t mmer =
        sixteen_bases(packed.data(), before + i) & static_cast<std::uint32_t>(key_mask<Key64>(shape.m));
    mmers.push_back(minimizer_hash(canonical ? canonical_mmer(mmer, shape.m) : mmer));
  }
  std::vector<CutSuperKmer<Flanks>> cuts;
  FlankedCut<Key, Flanks>(k, canonical).cut(codes_of(text), [&](const auto& cut) { cuts.push_back(cut); });
  std::size_t next = 0;
  for (std::size_t from = 0, end = 0; from < minimizers.size(); from = end) {
    end = end_of_run(minimizers, from);
    TextRun run{before + static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(end - from), 0};
    run.minimizer =
        minimizer_place(run.kmers, shape.flank_bases(), [&](std::uint32_t i) { return mmers[from + i]; });
    if (run.minimizer != TextRun::kSeveral) {
      ++seen.once;
      REQUIRE(run.kmers <= TextRun::kMostKmers);
      const auto got = super_kmer_at<Flanks>(packed.data(), run, shape, canonical);
      REQUIRE(next < cuts.size());
      CHECK(cuts[next].first == from);
      CHECK(cuts[next].kmers == run.kmers);
      CHECK(cuts[next].is_forward == got.is_forward);
      CHECK(cuts[next++].super == got.super);
      continue;
    }
    for (std::uint32_t i = 0; i < run.kmers; ++i) {
      ++seen.several;
      REQUIRE(next < cuts.size());
      CHECK(cuts[next].first == from + i);
      const auto got = kmer_at<Key, Flanks>(packed.data(), run.start + i, shape, canonical);
      CHECK(cuts[next++].super == got);
    }
  }
  CHECK(next == cuts.size());
}

}  // namespace

TEST_CASE("runs of packed text are the super-k-mers of the definition") {
  for (const std::uint32_t k : {13u, 15u, 21u, 31u, 32u, 33u, 47u, 48u, 55u, 63u, 64u}) {
    for (const bool canonical : {true, false}) {
      CAPTURE(k);
      CAPTURE(canonical);
      std::mt19937_64 random(k);
      SeenRuns seen;
      with_key_types(k, [&]<class Key, class Flanks>() {
        for (int round = 0; round < 20; ++round) {
          for (const std::string& text : awkward_sequences(k, random))
            check_text<Key, Flanks>(text, k, canonical, seen);
        }
      });
      CHECK(seen.once > 500);
      CHECK(seen.several > 500);
    }
  }
}
