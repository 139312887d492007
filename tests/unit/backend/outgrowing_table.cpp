// A live table that gives its place to a larger one, made of maps: a small one is full when it has so many
// k-mers.

#include "backend/live/outgrowing_table.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend/live/initial_shards.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "base/warning.h"
#include "index/known_totals.h"
#include "live/live_suite.h"
#include "refusal.h"

using namespace warpmer;
using namespace warpmer::tests;

namespace {

/// Returns the k-mers that a table begins with.
OracleTable::Counts counts_of(const backend::InitialKmers& initial) {
  OracleTable::Counts counts;
  std::mutex mutex;
  const std::uint32_t k = initial.params().k;
  with_key_type(k, [&]<class Key>(Key) {
    backend::for_each_initial_shard<Key>(initial, 2, [&](const backend::InitialShard<Key>& shard) {
      const std::lock_guard lock(mutex);
      CHECK(shard.kmers.size() == initial.kmers(shard.number));
      for (std::size_t i = 0; i < shard.kmers.size(); ++i) {
        std::string text(k, ' ');
        kmer_to_text(shard.kmers[i], k, text.data());
        CHECK(counts.emplace(text, shard.counts[i]).second);
      }
    });
  });
  return counts;
}

/// A table that is full when it has more k-mers.
std::unique_ptr<OracleTable> small_table(const KmerParams& kmers, std::size_t most,
                                         OracleTable::Counts counts = {}, backend::LiveTotals totals = {}) {
  auto table = std::make_unique<OracleTable>(kmers, std::move(counts), totals);
  table->most_kmers = most;
  return table;
}

backend::LiveTotals reads_of(const backend::InitialKmers& initial) {
  return {initial.totals().records, initial.totals().bases, index::knows_reads(initial.totals())};
}

/// Larger tables without bounds in the place of small ones.
backend::LargerTable maps_after(const KmerParams& kmers, std::size_t most) {
  backend::LargerTable larger;
  larger.name = "large maps";
  larger.check_room = [](std::uint64_t, std::uint64_t) {};
  larger.make = [kmers](const backend::InitialKmers& initial) {
    return std::make_unique<OracleTable>(kmers, counts_of(initial), reads_of(initial));
  };
  larger.remake = [kmers, most](const backend::InitialKmers& initial) {
    return small_table(kmers, most, counts_of(initial), reads_of(initial));
  };
  return larger;
}

std::unique_ptr<backend::LiveTable> make_outgrowing(const KmerParams& kmers, std::size_t most,
                                                    backend::LargerTable larger) {
  return backend::make_outgrowing_table(small_table(kmers, most), std::move(larger), kmers, 2);
}

/// The warnings of the thread, while it lives.
struct HeardWarnings {
  std::vector<std::string> all;
  const ThreadWarnings listening{[this](const std::string& message) { all.push_back(message); }};
};

/// Returns what the ResourceError of an addition says, or nothing.
std::string why_refused(backend::LiveTable& table, const io::Batch& batch) {
  return refusal<ResourceError>([&] { table.add(batch, true); });
}

/// Adds batches until one is refused, and returns what the error says.
std::string fill(backend::LiveTable& table, OracleTable& oracle, RandomReads& reads, io::Batch& refused) {
  for (;;) {
    refused = reads.batch();
    std::string why = why_refused(table, refused);
    if (!why.empty()) return why;
    oracle.add(refused, true);
  }
}

}  // namespace

TEST_CASE("a table that is full gives its place to a larger one, with all k-mers and reads") {
  unsigned seed = 0;
  for (const std::uint32_t k : {13u, 31u, 32u, 33u, 64u}) {
    for (const bool canonical : {true, false}) {
      CAPTURE(k);
      CAPTURE(canonical);
      const KmerParams kmers{k, canonical};
      HeardWarnings warnings;
      const auto table = make_outgrowing(kmers, 400, maps_after(kmers, 400));
      CHECK(table->describe() == "a small map; large maps take its place when it is full");
      OracleTable oracle(kmers);
      interleave(*table, oracle, k, 10, ++seed);
      RandomReads reads(k, seed);
      while (oracle.counts().size() <= 400) {
        const io::Batch batch = reads.batch();
        CHECK(table->add(batch, true) == oracle.add(batch, true));
      }
      interleave(*table, oracle, k, 30, seed);
      CHECK(table->describe() == "a map");
      CHECK(warnings.all == std::vector<std::string>{"the live table was full; it is now a map"});
    }
  }
}

TEST_CASE("a table is asked and changed by threads while it gives its place to another") {
  const KmerParams kmers{31, true};
  RandomReads reads(31, 9);
  std::vector<io::Batch> batches;
  batches.reserve(60);
  for (int i = 0; i < 60; ++i) batches.push_back(reads.batch());
  const auto table = make_outgrowing(kmers, 3000, maps_after(kmers, 3000));
  OracleTable oracle(kmers);
  std::atomic<std::size_t> next{0};
  run_team(
      4,
      [&](unsigned thread) {
        backend::Profile before, after;
        for (std::size_t i = next++; i < batches.size(); i = next++) {
          table->lookup(true).profile(batches[i], before);
          table->add(batches[i], true);
          table->lookup(true).profile(batches[i], after);
          for (std::size_t at = 0; at < before.counts.size(); ++at) {
            const bool is_kmer = before.counts[at] != backend::Profile::kNarrowNoKmer;
            if (is_kmer) REQUIRE_UNARY(after.counts[at] > before.counts[at]);
          }
          if (thread == 0) CHECK(freeze(*table, 2).totals.counted_kmers > 0);
        }
      },
      [&] { next = batches.size(); });
  for (const io::Batch& batch : batches) oracle.add(batch, true);
  REQUIRE(oracle.counts().size() > 3000);
  CHECK(table->describe() == "a map");
  check_same(*table, oracle, 2);
}

TEST_CASE("a table stays when there is no room for a larger one") {
  const KmerParams kmers{31, true};
  for (const bool before_freezing : {true, false}) {
    CAPTURE(before_freezing);
    std::uint64_t asked_for = 0;
    backend::LargerTable larger = maps_after(kmers, 2000);
    larger.check_room = [&](std::uint64_t count, std::uint64_t kept_bytes) {
      asked_for = count;
      if (before_freezing == (kept_bytes == 0)) throw ResourceError("raise -m");
    };
    const auto table = make_outgrowing(kmers, 2000, std::move(larger));
    OracleTable oracle(kmers);
    RandomReads reads(31, 3);
    io::Batch refused;
    const std::string why = fill(*table, oracle, reads, refused);
    CHECK(why == "a small map is full; large maps could not take its place: raise -m");
    CHECK(asked_for == oracle.counts().size());
    CHECK(table->describe() == "a small map");
    check_same(*table, oracle, 2);
    asked_for = 0;
    CHECK(why_refused(*table, refused) == why);
    CHECK(asked_for == 0);  // it is not tried again
    const io::Batch other = reads.batch();
    check_removal(table->remove(other, true), oracle.remove(other, true));
    check_answers(table->lookup(true), oracle.lookup(true), other);
  }
}

TEST_CASE("a table is made again when a larger one cannot be made") {
  const KmerParams kmers{31, true};
  backend::LargerTable larger = maps_after(kmers, 2000);
  larger.make = [](const backend::InitialKmers&) -> std::unique_ptr<backend::LiveTable> {
    throw ResourceError("no pinned memory");
  };
  bool can_be_remade = true;
  const auto remake = larger.remake;
  larger.remake = [&](const backend::InitialKmers& initial) {
    if (!can_be_remade) throw ResourceError("a k-mer found no place");
    return remake(initial);
  };
  for (const bool is_lost : {false, true}) {
    can_be_remade = !is_lost;
    const auto table = make_outgrowing(kmers, 2000, larger);
    OracleTable oracle(kmers);
    RandomReads reads(31, 4);
    io::Batch refused;
    const std::string why = fill(*table, oracle, reads, refused);
    if (is_lost) {
      CHECK(
          why ==
          "the live table is lost: it was full, large maps could not take its place (no pinned memory), and "
          "then a k-mer found no place");
      backend::Profile profile;
      CHECK_THROWS_WITH_AS(table->lookup(true).profile(refused, profile), why.c_str(), ResourceError);
      CHECK_THROWS_WITH_AS((void)table->snapshot(), why.c_str(), ResourceError);
      CHECK_THROWS_WITH_AS(table->remove(refused, true), why.c_str(), ResourceError);
    } else {
      CHECK(why == "a small map is full; large maps could not take its place: no pinned memory");
      check_same(*table, oracle, 2);
    }
  }
}
