// The counts that a lookup on a CPU writes, where all are narrow and where some are not.
// ctest: one thread

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "backend/lookup/lookup.h"
#include "backend/lookup/seen_kmers.h"
#include "index/index_file.h"
#include "kmer/kmer.h"
#include "kmer_index.h"
#include "random_text.h"
#include "unit/groups/random_sequences.h"
#include "unit/index/index_file_common.h"

namespace {

using namespace warpmer;
using namespace warpmer::tests;
using backend::Profile;

io::Batch batch_of(const std::vector<std::string>& texts) {
  io::Batch batch;
  for (const std::string& text : texts) {
    io::Piece piece;
    piece.offset = static_cast<std::uint32_t>(batch.text.size());
    piece.length = static_cast<std::uint32_t>(text.size());
    batch.text.append(text);
    batch.pieces.push_back(piece);
  }
  return batch;
}

template <class Key>
void check_counts(std::uint32_t k, const std::vector<std::uint64_t>& values, bool is_wide) {
  CAPTURE(k);
  std::mt19937_64 random(k);
  const std::string known = random_text(random, k + 40), other = random_text(random, k + 9);
  std::map<Key, std::uint64_t> of_kmer;
  KmerPlaces<Key> places;
  const index::IndexParams params = params_of(k, true);
  for (const Key kmer : kmers_of<Key>(known, k)) {
    const Key form = canonical(kmer, k);
    of_kmer.emplace(form, values[of_kmer.size() % values.size()]);
    places[place_of(form, params)] = of_kmer[form];
  }
  const index::test::ScratchFolder folder;
  const std::string path = folder / "x.wmi";
  write_places(path, params, places);
  const index::IndexFile index(path);

  const std::vector<std::string> texts{other, "", known, known.substr(0, k - 1), known + "N" + other};
  std::vector<std::vector<std::uint64_t>> expected;
  for (const std::string& text : texts) {
    expected.emplace_back();
    for (std::size_t at = 0; at + k <= text.size(); ++at) {
      Key kmer = 0;
      if (!kmer_from_text(std::string_view(text).substr(at, k), kmer)) {
        expected.back().push_back(Profile::kNoKmer);
        continue;
      }
      const auto found = of_kmer.find(canonical(kmer, k));
      expected.back().push_back(found == of_kmer.end() ? 0 : found->second);
    }
  }
  backend::SeenKmers seen(index, 1);
  const auto plain = backend::make_cpu_lookup(index, {.threads = 3}),
             noting = backend::make_noting_lookup(index, {}, seen);
  const io::Batch batch = batch_of(texts);
  Profile profile;  // of both in turn
  for (const backend::Lookup* lookup : {plain.get(), noting.get()}) {
    lookup->profile(batch, profile);
    CHECK(profile.wide.empty() != is_wide);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      CAPTURE(i);
      std::vector<std::uint64_t> exact{1, 2, 3};
      const std::span<std::uint64_t> counts = profile.exact(i, exact);
      CHECK(std::vector<std::uint64_t>(counts.begin(), counts.end()) == expected[i]);
      const auto narrow = profile.narrow(i);
      REQUIRE(narrow.size() == expected[i].size());
      for (std::size_t j = 0; j < narrow.size(); ++j) {
        const bool is_kmer = expected[i][j] != Profile::kNoKmer;
        CHECK(narrow[j] == (is_kmer ? backend::narrow_count(expected[i][j]) : Profile::kNarrowNoKmer));
      }
    }
  }
  CHECK(seen.number() == of_kmer.size());
}

}  // namespace

TEST_CASE("profiles are narrow where all counts are, and exact where they are not") {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 32;
  for (const auto& [values, is_wide] : std::vector<std::pair<std::vector<std::uint64_t>, bool>>{
           {{1, 200, kLimit - 3}, false},
           {{1, kLimit - 2, 7}, true},
           {{kLimit - 1, kLimit - 3, kLimit, 1, kLimit << 20, UINT64_MAX / 100}, true}}) {
    for (const std::uint32_t k : {5u, 12u, 13u, 31u}) check_counts<Key64>(k, values, is_wide);
    for (const std::uint32_t k : {33u, 48u, 64u}) check_counts<Key128>(k, values, is_wide);
  }
}
