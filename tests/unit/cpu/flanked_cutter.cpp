// Cutting around minimizers, for every instruction set this machine has, against the definition.
// ctest: one thread

#include "cpu/simd/flanked_cutter.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "cpu/simd/kernels.h"
#include "groups/flanked_kmer.h"
#include "groups/flanked_word.h"
#include "groups/group_shape.h"
#include "kmer/kmer.h"
#include "random_text.h"
#include "tier.h"
#include "unit/cpu/one_piece.h"
#include "unit/groups/random_sequences.h"

namespace {

using namespace warpmer;
using cpu::Kernels;
using tests::batch_of;
using tests::other_strand_of;
using tests::random_text;

std::string repeated(const std::string& unit, std::size_t length) {
  std::string text;
  while (text.size() < length) text += unit;
  text.resize(length);
  return text;
}

/// Random with breaks and of one strand and the other; what repeats by itself, at every length of its unit;
/// and what is its own other strand.
std::vector<std::string> texts_for(std::mt19937_64& random, std::uint32_t k) {
  std::vector<std::string> texts = {random_text(random, 1500),
                                    random_text(random, 900, "ACGTacgtACGTACGTACGTACGTACGTACGTACGTN"),
                                    random_text(random, 400, "AT") + "N" + random_text(random, k, "CG"),
                                    repeated("A", 300),
                                    repeated("T", 300),
                                    repeated("C", 2 * k)};
  for (std::size_t unit = 2; unit <= 40; unit += unit < 8 ? 1 : 5) {
    const std::string text = random_text(random, 20) + repeated(random_text(random, unit), 250);
    texts.push_back(text + random_text(random, 20));
    texts.push_back(other_strand_of(texts.back()));
  }
  for (const std::string unit : {"AT", "CG", "ACGT", "AACCGGTT", "GAATTC"})
    texts.push_back(random_text(random, 10) + repeated(unit, 200) + random_text(random, 10));
  for (int i = 0; i < 20; ++i) {
    const std::string half = random_text(random, 10 + random() % 60);
    texts.push_back(random_text(random, k) + half + other_strand_of(half) + random_text(random, k));
    // The same m-mers on both strands, some way apart.
    std::string both_strands = half;
    both_strands += random_text(random, 1 + random() % 9);
    both_strands += other_strand_of(half);
    texts.push_back(both_strands + half);
  }
  return texts;
}

/// Checks the place that each k-mer of a text comes to: (group, layer, flanks).
template <class Key, int Words>
void check_cut(const Kernels& kernels, const std::string& text, std::uint32_t k, bool canonical) {
  using Format = groups::FlankedWordFormat<Words>;
  using Flanks = typename Format::Flanks;
  const groups::GroupShape shape(k);
  const GroupHash hash(shape.m);
  const Format format(shape);
  const std::uint32_t n = shape.flank_bases(), origin = 7;
  cpu::FlankedCutter<Words> cutter(kernels, k, canonical, true, 4096);
  std::vector<groups::FlankedKmer<Flanks>> found(text.size(), {0, UINT32_MAX, 0});
  bool is_in_order = true, are_lengths_right = true, are_words_clean = true;
  std::uint64_t kmers = 0;
  const auto take = [&] {
    for (std::size_t i = 0; i < cutter.list().size; ++i) {
      const auto& word = cutter.list().words[i];
      auto super = format.super_kmer(word);
      const std::uint32_t rest = format.rest(word);
      const std::uint32_t id = (std::uint32_t{cutter.list().shards[i]} << shape.rest_bits()) | rest;
      super.mmer = hash.inverse(id);
      are_lengths_right = are_lengths_right && super.left_bases <= n && super.right_bases <= n &&
                          super.left_bases + super.right_bases >= n &&
                          super.left_bases + super.right_bases <= format.most_bases();
      if (!are_lengths_right) break;
      are_words_clean = are_words_clean && format.pack(rest, super) == word;
      const std::uint32_t number = super.left_bases + super.right_bases - n + 1;
      const std::size_t start = cutter.list().starts[i] - origin;
      for (std::uint32_t j = 0; j < number; ++j) {
        const std::uint32_t layer =
            cutter.list().is_forward[i] != 0 ? super.left_bases - j : n - super.right_bases + j;
        is_in_order = is_in_order && start + j < text.size() && found[start + j].layer == UINT32_MAX;
        if (!is_in_order) break;
        found[start + j] = {super.mmer, layer, groups::flanks_at(super.left, super.right, layer, n)};
        ++kmers;
      }
    }
    cutter.clear();
  };
  const io::Batch batch = batch_of(text);
  const std::uint64_t reported = cutter.cut(batch, batch.pieces[0], origin, take);
  take();
  CHECK(reported == kmers);
  CHECK(is_in_order);
  CHECK(are_lengths_right);
  CHECK(are_words_clean);
  std::size_t wrong = 0, expected_kmers = 0;
  for (std::size_t i = 0; i + k <= text.size(); ++i) {
    Key kmer;
    if (!kmer_from_text(std::string_view(text).substr(i, k), kmer)) continue;
    ++expected_kmers;
    wrong += found[i] == groups::flanked_kmer<Flanks>(kmer, shape, canonical) ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(expected_kmers == kmers);
}

void check_cut(const Kernels& kernels, const std::string& text, std::uint32_t k, bool canonical) {
  if (k <= kMaxNarrowK) return check_cut<Key64, 2>(kernels, text, k, canonical);
  if (k <= groups::kMaxNarrowFlanksK) return check_cut<Key128, 2>(kernels, text, k, canonical);
  check_cut<Key128, 4>(kernels, text, k, canonical);
}

}  // namespace

TEST_CASE("cutting around minimizers brings every k-mer to its place, for every k and instruction set") {
  std::mt19937_64 random(11);
  for (std::uint32_t k = 13; k <= kMaxK; k += tests::by_tier(1, 3)) {
    CAPTURE(k);
    for (const std::string& text : texts_for(random, k)) {
      CAPTURE(text);
      for (const Kernels* kernels : cpu::available_kernels()) {
        CAPTURE(kernels->name);
        check_cut(*kernels, text, k, true);
        check_cut(*kernels, text, k, false);
      }
    }
  }
}

TEST_CASE("texts longer than one cut, of many pieces and of one run") {
  std::mt19937_64 random(12);
  for (const std::uint32_t k : {21u, 31u, 47u, 64u}) {
    CAPTURE(k);
    const std::string texts[] = {random_text(random, 40000), random_text(random, 20000, "AC"),
                                 repeated("T", 20000), repeated("AT", 20000), repeated("AAC", 20000)};
    for (const std::string& text : texts) {
      for (const Kernels* kernels : cpu::available_kernels()) {
        CAPTURE(kernels->name);
        check_cut(*kernels, text, k, true);
      }
    }
  }
}

TEST_CASE("k-mers of a microsatellite stay together where they have one place") {
  const std::uint32_t k = 31;
  std::mt19937_64 random(14);
  const std::string text = repeated(random_text(random, 12), 1000);
  for (const Kernels* kernels : cpu::available_kernels()) {
    cpu::FlankedCutter<2> cutter(*kernels, k, true, true);
    const io::Batch batch = batch_of(text);
    cutter.cut(batch, batch.pieces[0], 0, [] {});
    CHECK(cutter.list().size <= 2 * (text.size() / 12));
  }
}
