#pragma once
/// Does to a live table, at random, what can be done to it, and compares it with an OracleTable.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/live/live_table.h"
#include "base/thread_team.h"
#include "kmer/kmer.h"
#include "kmer/minimizer.h"
#include "kmer_index.h"
#include "live/oracle_table.h"
#include "sessions/frozen_kmers.h"
#include "sessions/session_suite.h"

namespace warpmer::tests {

using MakeLiveTable = std::function<std::unique_ptr<backend::LiveTable>(const backend::LiveTablePlan&)>;

inline backend::LiveTablePlan live_plan(std::uint32_t k, bool canonical = true) {
  backend::LiveTablePlan plan;
  plan.kmers = {k, canonical};
  plan.memory_bytes = std::uint64_t{1} << 30;
  plan.threads = 2;
  return plan;
}

/// The content of a snapshot.
struct Frozen {
  Payloads payloads;
  index::Totals totals;
  index::Histogram histogram;
  backend::LiveTotals reads;
};

inline Frozen freeze(backend::LiveTable& table, unsigned threads) {
  Frozen frozen;
  std::mutex mutex;
  const auto snapshot = table.snapshot();
  bool once = true;
  const backend::ShardSink sink([&](std::uint32_t shard, index::FrozenShard&& part) {
    const std::lock_guard lock(mutex);
    if (part.kmers() > 0) once = frozen.payloads.emplace(shard, part.payload).second && once;
  });
  run_team(
      threads, [&](unsigned thread) { snapshot->finish(thread, sink, [] {}); }, [] {});
  CHECK(once);
  frozen.totals = snapshot->tally().totals();
  frozen.histogram = snapshot->tally().histogram();
  frozen.reads = snapshot->totals();
  return frozen;
}

/// Writes an index of what is in an oracle.
inline void write_index_of(const OracleTable& oracle, const KmerParams& kmers, const std::string& path) {
  with_key_type(kmers.k, [&]<class Key>(Key) {
    write_places(path, params_of(kmers.k, kmers.canonical), places_in<Key>(oracle.counts(), kmers), 1);
  });
}

/// Compares all that there is, and the bytes that an index would have of it.
inline void check_same(backend::LiveTable& table, OracleTable& oracle, unsigned threads) {
  const Frozen is = freeze(table, threads), should = freeze(oracle, 1);
  CHECK(is.payloads == should.payloads);
  CHECK(is.histogram == should.histogram);
  CHECK(is.totals.counted_kmers == should.totals.counted_kmers);
  CHECK(is.totals.counted_distinct == should.totals.counted_distinct);
  CHECK(is.totals.largest_count == should.totals.largest_count);
  CHECK(is.reads.records == should.reads.records);
  CHECK(is.reads.bases == should.reads.bases);
  CHECK(table.tally().histogram() == should.histogram);
}

inline void check_answers(const backend::Lookup& lookup, const backend::Lookup& oracle,
                          const io::Batch& batch) {
  backend::Profile is, should;
  lookup.profile(batch, is);
  oracle.profile(batch, should);
  CHECK(is.first == should.first);
  CHECK(is.counts == should.counts);
  CHECK(is.wide == should.wide);
  const std::uint32_t k = lookup.kmers().k;
  std::vector<std::string_view> kmers;
  for (const io::Piece& piece : batch.pieces) {
    const std::string_view bases = batch.bases(piece);
    for (std::size_t at = 0; at + k <= bases.size(); at += k) {
      if (bases.substr(at, k).find_first_not_of("ACGT") == std::string_view::npos)
        kmers.push_back(bases.substr(at, k));
    }
  }
  std::vector<std::uint64_t> found(kmers.size()), expected(kmers.size());
  lookup.find_all(kmers, found.data());
  oracle.find_all(kmers, expected.data());
  CHECK(found == expected);
}

/// Reads of a small genome, so that many k-mers come again and again, and batches of them at random.
class RandomReads {
 public:
  RandomReads(std::uint32_t k, unsigned seed) : random_(seed), reads_(simulated_reads(200, 400, seed)) {
    for (const std::string& read : hot_reads_of(k, seed)) reads_.push_back(read);
  }
  [[nodiscard]] io::Batch batch() {
    std::vector<std::string> some;
    for (std::size_t n = 1 + random_() % 12; n > 0; --n) some.push_back(reads_[random_() % reads_.size()]);
    return std::move(batches_of(some, some.size()).front());
  }
  [[nodiscard]] const std::string& text() { return reads_[random_() % 200]; }
  [[nodiscard]] std::size_t below(std::size_t n) { return random_() % n; }

 private:
  /// A minimizer is shorter than the k-mer only for k above kMaxDenseK. It takes long to find one, so that
  /// each is found once.
  static const std::vector<std::string>& hot_reads_of(std::uint32_t k, unsigned seed) {
    static std::mutex mutex;
    static std::map<std::pair<std::uint32_t, unsigned>, std::vector<std::string>> found;
    const std::lock_guard lock(mutex);
    std::vector<std::string>& reads = found[{k, seed}];
    if (reads.empty() && k > kMaxDenseK) reads = hot_reads(30, k, seed);
    return reads;
  }

  std::mt19937_64 random_;
  std::vector<std::string> reads_;
};

inline void check_removal(const backend::Removal& is, const backend::Removal& should) {
  CHECK(is.kmers == should.kmers);
  CHECK(is.shortfall.absent_kmers == should.shortfall.absent_kmers);
  CHECK(is.shortfall.absent_occurrences == should.shortfall.absent_occurrences);
  CHECK(is.shortfall.short_kmers == should.shortfall.short_kmers);
  CHECK(is.shortfall.short_occurrences == should.shortfall.short_occurrences);
}

/// Adds, removes, asks, counts and freezes in any order.
inline void interleave(backend::LiveTable& table, OracleTable& oracle, std::uint32_t k, std::size_t steps,
                       unsigned seed, const std::function<void()>& check) {
  RandomReads reads(k, seed);
  std::vector<io::Batch> added;
  for (std::size_t step = 0; step < steps; ++step) {
    switch (reads.below(10)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        added.push_back(reads.batch());
        CHECK(table.add(added.back(), true) == oracle.add(added.back(), true));
        break;
      }
      case 4: {  // what may not be there
        const io::Batch batch = reads.batch();
        check_removal(table.remove(batch, true), oracle.remove(batch, true));
        break;
      }
      case 5:
      case 6: {
        if (added.empty()) break;
        const std::size_t i = reads.below(added.size());
        check_removal(table.remove(added[i], true), oracle.remove(added[i], true));
        std::swap(added[i], added.back());
        added.pop_back();
        break;
      }
      case 7:
        if (reads.below(8) == 0) check();
        break;
      default:
        check_answers(table.lookup(true), oracle.lookup(true), reads.batch());
    }
  }
  check();
}
inline void interleave(backend::LiveTable& table, OracleTable& oracle, std::uint32_t k, std::size_t steps,
                       unsigned seed) {
  interleave(table, oracle, k, steps, seed, [&] { check_same(table, oracle, 2); });
}

}  // namespace warpmer::tests
