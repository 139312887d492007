// K-mers of one base, joined to one super-k-mer.
// ctest: one thread

#include "groups/repeated_kmer.h"

#include "doctest/doctest.h"
#include "groups/flanked_word.h"
#include "groups/group_shape.h"

using namespace warpmer;
using namespace warpmer::groups;

namespace {

template <int Words>
void check_joined(std::uint32_t k) {
  CAPTURE(k);
  const GroupShape shape(k);
  const std::uint32_t n = shape.flank_bases(), rest = (1u << shape.rest_bits()) - 1;
  const FlankedWordFormat<Words> format(shape);
  using Flanks = typename FlankedWordFormat<Words>::Flanks;
  const RepeatedKmers<Flanks> repeats(n);
  if (k < 15) {
    CHECK_FALSE(repeats.can_join());
    return;
  }
  CHECK(repeats.can_join());
  CHECK(repeats.most_times() >= 63);
  for (std::uint32_t base = 0; base < 4; ++base) {
    FlankedSuperKmer<Flanks> kmer{0, 0, n, 0, 0};
    for (std::uint32_t i = 0; i < n; ++i) kmer.right = kmer.right << 2 | base;
    CHECK(repeats.is_of_one_base(kmer));
    CHECK_FALSE(repeats.is_joined(kmer));
    for (const std::uint32_t times : {1u, 2u, repeats.most_times() - 1, repeats.most_times()}) {
      const auto word = format.pack(rest, repeats.join(kmer, times));
      CHECK(format.rest(word) == rest);
      const auto joined = format.super_kmer(word);
      CHECK(repeats.is_joined(joined));
      CHECK(repeats.times(joined) == times);
      CHECK(repeats.kmer(joined) == kmer);
    }
    auto other = kmer;
    other.right ^= Flanks{1} << (2 * (n - 1));
    CHECK_FALSE(repeats.is_of_one_base(other));
    CHECK_FALSE(repeats.is_of_one_base({0, 1, n, base, kmer.right}));
    CHECK_FALSE(repeats.is_of_one_base({0, 1, n - 1, base, kmer.right >> 2}));
  }
}

}  // namespace

TEST_CASE("repeated k-mers: joined and taken apart, for every k") {
  for (std::uint32_t k = kMaxDenseK + 1; k <= kMaxNarrowFlanksK; ++k) check_joined<2>(k);
  for (std::uint32_t k = kMaxNarrowFlanksK + 1; k <= kMaxK; ++k) check_joined<4>(k);
}
