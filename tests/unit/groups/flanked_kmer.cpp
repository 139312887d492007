// K-mers as minimizer, layer and flanks: both strands alike, and back again.

#include "groups/flanked_kmer.h"

#include <random>
#include <string>
#include <vector>

#include "bench/flanked_cut.h"
#include "doctest/doctest.h"
#include "groups/flanked_word.h"
#include "unit/groups/random_sequences.h"

using namespace warpmer;
using namespace warpmer::groups;
using namespace warpmer::tests;
using bench::CutSuperKmer;
using bench::FlankedCut;

namespace {

template <class Key, class Flanks>
void check_kmers(std::uint32_t k, std::mt19937_64& random) {
  const GroupShape shape(k);
  const GroupHash hash(shape.m);
  for (const std::string& text : awkward_sequences(k, random)) {
    for_each_kmer<Key>(text, k, [&](Key kmer) {
      const auto place = flanked_kmer<Flanks>(kmer, shape, true);
      CHECK(flanked_kmer<Flanks>(reverse_complement(kmer, k), shape, true) == place);
      const Key again = kmer_of<Key>(place, shape);
      CHECK((again == kmer || again == reverse_complement(kmer, k)));
      CHECK(place.layer <= shape.flank_bases());
      CHECK(hash.inverse(hash(place.mmer)) == place.mmer);
      CHECK(canonical_mmer(place.mmer, shape.m) == place.mmer);
      CHECK(kmer_of<Key>(flanked_kmer<Flanks>(kmer, shape, false), shape) == kmer);
      const auto super = super_kmer_of(place, shape.flank_bases());
      CHECK(flanks_at(super.left, super.right, place.layer, shape.flank_bases()) == place.flanks);
    });
  }
}

/// Cuts a text on both strands: the k-mers are those of the definition, in order.
template <class Key, class Flanks>
void check_cut(std::uint32_t k, bool canonical, std::mt19937_64& random) {
  const GroupShape shape(k);
  FlankedCut<Key, Flanks> cutter(k, canonical);
  for (const std::string& text : awkward_sequences(k, random)) {
    const std::vector<Key> kmers = kmers_of<Key>(text, k);
    std::size_t seen = 0;
    cutter.cut(codes_of(text), [&](const CutSuperKmer<Flanks>& cut) {
      REQUIRE(cut.first == seen);
      REQUIRE(cut.super.left_bases + cut.super.right_bases - shape.flank_bases() + 1 == cut.kmers);
      for (std::uint32_t i = 0; i < cut.kmers; ++i) {
        const std::uint32_t layer = cut.super.left_bases - (cut.is_forward ? i : cut.kmers - 1 - i);
        const FlankedKmer<Flanks> here{
            cut.super.mmer, layer, flanks_at(cut.super.left, cut.super.right, layer, shape.flank_bases())};
        CHECK(here == flanked_kmer<Flanks>(kmers[seen + i], shape, canonical));
        const Key as_read = cut.is_forward ? kmers[seen + i] : reverse_complement(kmers[seen + i], k);
        CHECK(kmer_of<Key>(here, shape) == as_read);
      }
      seen += cut.kmers;
    });
    CHECK(seen == kmers.size());
  }
}

}  // namespace

TEST_CASE("both strands of a k-mer have the same group, layer and flanks, which give it back") {
  std::mt19937_64 random(1);
  for (const std::uint32_t k : {13u, 15u, 19u, 20u, 27u, 28u, 31u, 32u}) check_kmers<Key64, Key64>(k, random);
  for (const std::uint32_t k : {33u, 46u, 47u}) check_kmers<Key128, Key64>(k, random);
  for (const std::uint32_t k : {48u, 55u, 63u, 64u}) check_kmers<Key128, Key128>(k, random);
}

TEST_CASE("a sequence is cut into super-k-mers that have its k-mers as each by itself is placed") {
  std::mt19937_64 random(2);
  for (const bool canonical : {true, false}) {
    for (const std::uint32_t k : {13u, 16u, 21u, 31u, 32u}) check_cut<Key64, Key64>(k, canonical, random);
    for (const std::uint32_t k : {33u, 47u}) check_cut<Key128, Key64>(k, canonical, random);
    for (const std::uint32_t k : {48u, 64u}) check_cut<Key128, Key128>(k, canonical, random);
  }
}

namespace {

template <class Key, int Words>
void check_words(std::uint32_t k, std::mt19937_64& random) {
  const GroupShape shape(k);
  const GroupHash hash(shape.m);
  const FlankedWordFormat<Words> format(shape);
  using Flanks = typename FlankedWordFormat<Words>::Flanks;
  FlankedCut<Key, Flanks> cutter(k, true);
  for (const std::string& text : awkward_sequences(k, random)) {
    cutter.cut(codes_of(text), [&](const CutSuperKmer<Flanks>& cut) {
      if (cut.super.left_bases + cut.super.right_bases > format.most_bases()) return;
      const std::uint32_t rest = shape.rest_of(hash(cut.super.mmer));
      const FlankedWord<Words> word = format.pack(rest, cut.super);
      CHECK(format.rest(word) == rest);
      FlankedSuperKmer<Flanks> again = format.super_kmer(word);
      again.mmer = cut.super.mmer;  // which words do not have
      CHECK(again == cut.super);
    });
  }
}

}  // namespace

TEST_CASE("a super-k-mer goes into a word and comes out of it") {
  std::mt19937_64 random(3);
  for (const std::uint32_t k : {13u, 21u, 31u, 32u}) check_words<Key64, 2>(k, random);
  for (const std::uint32_t k : {33u, 38u, 39u, 47u}) check_words<Key128, 2>(k, random);
  for (const std::uint32_t k : {48u, 55u, 64u}) check_words<Key128, 4>(k, random);
}
