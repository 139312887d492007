// Bucket offsets are looked at eight at a time: a fault is found wherever it is, at every width.
// ctest: one thread

#include "index/packed_checks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kmer/bit_stream.h"

using namespace warpmer;
using namespace warpmer::index;

namespace {

/// Packed, with what may be read behind them set, so that it shows if it is taken for a number.
std::vector<std::uint64_t> pack(const std::vector<std::uint64_t>& numbers, std::uint32_t width) {
  std::vector<std::uint64_t> words(words_for(numbers.size(), width) + kReadAheadWords, ~std::uint64_t{0});
  BitWriter<> out(words.data());
  for (const std::uint64_t number : numbers) out.write(number, width);
  out.flush();
  return words;
}

bool rise(const std::vector<std::uint64_t>& numbers, std::uint32_t width, std::uint64_t entries) {
  return layout::offsets_rise(pack(numbers, width).data(), numbers.size() - 1, width, entries);
}

}  // namespace

TEST_CASE("packed checks: offsets that rise, and each way in which they may not") {
  std::mt19937_64 random(1);
  for (std::uint32_t width = 1; width <= 64; ++width) {
    CAPTURE(width);
    const std::uint64_t largest = ~std::uint64_t{0} >> (64 - width);
    for (const std::size_t buckets : {1, 2, 4, 8, 16, 64}) {
      CAPTURE(buckets);
      std::vector<std::uint64_t> offsets(buckets + 1);
      for (std::uint64_t& offset : offsets) offset = random() & largest;
      offsets.front() = 0;
      offsets.back() = largest;
      std::sort(offsets.begin(), offsets.end());
      CHECK(rise(offsets, width, largest));
      CHECK_FALSE(rise(offsets, width, largest - 1));
      std::vector<std::uint64_t> faulty = offsets;
      faulty.front() = 1;
      CHECK_FALSE(rise(faulty, width, largest));
      for (std::size_t i = 1; i + 1 < offsets.size(); ++i) {
        faulty = offsets;
        std::swap(faulty[i], faulty[i + 1]);
        CHECK(rise(faulty, width, faulty.back()) == (faulty[i] == faulty[i + 1]));
      }
    }
  }
}

TEST_CASE("packed checks: bits behind the last number are seen, whole words have none") {
  const std::vector<std::uint64_t> words = {~std::uint64_t{0}, 0b1011};
  CHECK(layout::rest_is_zero(words.data(), 64));
  CHECK(layout::rest_is_zero(words.data(), 68));
  CHECK_FALSE(layout::rest_is_zero(words.data(), 67));
  CHECK_FALSE(layout::rest_is_zero(words.data(), 63));
}
