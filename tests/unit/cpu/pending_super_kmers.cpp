// Super-k-mers that are pending in a shard of a live table.
// ctest: one thread

#include "cpu/live/pending_super_kmers.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "cpu/simd/word_format.h"
#include "unit/cpu/random_words.h"

using namespace warpmer;

namespace {

/// Returns whether as much of two words is the same as is written of one.
template <int Words>
bool are_same(const cpu::StoredFlankedWord<Words>& a, const cpu::StoredFlankedWord<Words>& b,
              std::size_t bytes) {
  return std::memcmp(a.word, b.word, bytes) == 0;
}

template <int Words>
void check_pending(std::uint32_t k) {
  CAPTURE(k);
  using Stored = cpu::StoredFlankedWord<Words>;
  const cpu::WordFormat<groups::FlankedWord<Words>> format(k);
  const tests::RandomWords<Words> made(k);
  std::mt19937_64 random(k);
  cpu::PendingSuperKmers<Words> pending(k);
  for (int round = 0; round < 3; ++round) {
    std::vector<Stored> all;
    std::vector<std::size_t> sizes;
    std::uint64_t kmers = 0;
    for (const std::size_t n : {1u, 3u, 0u, 127u, 128u, 1000u}) {
      const std::size_t first = all.size();
      std::uint64_t more = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const auto word = made.make(random);
        all.push_back(format.turned(word));
        char bytes[sizeof(Stored)];
        sizes.push_back(static_cast<std::size_t>(format.write(word, bytes) - bytes));
        more += format.kmers(word);
      }
      const std::size_t room = format.bytes_for(n, more);
      const std::uint64_t foretold = pending.bytes_with(room);
      if (!pending.has_room(room)) {
        pending.make_room(room);
        CHECK(pending.memory_bytes() == foretold);
      }
      CHECK(pending.has_room(room));
      const std::size_t before = pending.size();
      pending.append(std::span(all).subspan(first), more);
      CHECK(pending.size() <= before + room);
      kmers += more;
    }
    CHECK(pending.words() == all.size());
    CHECK(pending.kmers() == kmers);
    std::size_t at = 0;
    bool same = true;
    pending.for_each_block([&](std::span<const Stored> words) {
      for (const Stored& word : words) {
        same = same && at < all.size() && are_same(word, all[at], sizes[at]);
        ++at;
      }
    });
    CHECK(same);
    CHECK(at == all.size());
    pending.clear();
    CHECK(pending.empty());
    CHECK(pending.kmers() == 0);
    // What is there stays when memory is given back.
    pending.make_room(0);
    CHECK(pending.memory_bytes() == pending.bytes_with(0));
  }
}

}  // namespace

TEST_CASE("words that are pending are what has been appended, in memory that is foretold") {
  for (const std::uint32_t k : {13u, 21u, 31u}) check_pending<2>(k);
  for (const std::uint32_t k : {55u, 64u}) check_pending<4>(k);
}
