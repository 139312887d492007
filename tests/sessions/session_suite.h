#pragma once
/// Runs whole counting sessions from hand-made batches, and checks the results that every backend must give.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "index/shard_codec.h"
#include "kmer/hash.h"
#include "kmer/kmer.h"
#include "kmer/minimizer.h"
#include "mpi/process_group.h"
#include "oracle/naive_kmers.h"
#include "random_text.h"
#include "sessions/frozen_kmers.h"

namespace warpmer::tests {

using Payloads = std::map<std::uint32_t, std::vector<std::uint64_t>>;

struct Result {
  Payloads payloads;  ///< payloads of the shards that are not empty
  std::map<std::string, std::uint64_t> counts;
  index::Totals totals;
  index::Histogram histogram;
  std::uint64_t early_counts = 0;
  backend::SpillReport spilled;
  backend::DeviceMemoryReport device_memory;
  std::uint64_t exchanged_bytes = 0;
};

inline std::vector<io::Batch> batches_of(const std::vector<std::string>& reads, std::size_t per_batch) {
  std::vector<io::Batch> batches;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (i % per_batch == 0) batches.emplace_back();
    io::Batch& batch = batches.back();
    io::Piece piece;
    piece.record = i + 1;
    piece.offset = static_cast<std::uint32_t>(batch.text.size());
    piece.length = static_cast<std::uint32_t>(reads[i].size());
    batch.text.append(reads[i]);
    batch.pieces.push_back(piece);
  }
  return batches;
}

inline void copy(const io::Batch& from, io::Batch& to) {
  to.text.set_size(0);
  to.text.append({from.text.data(), from.text.size()});
  to.pieces = from.pieces;
}

inline backend::CountPlan plan_for(std::uint32_t k) {
  backend::CountPlan plan;
  plan.kmers.k = k;
  plan.memory_bytes = std::uint64_t{1} << 30;
  return plan;
}

/// The form in which the shards of a session are taken.
enum class Take { decoded, payloads };

/// Feeds the batches, as often as `rounds` says, and takes the shards, with the threads of the plan.
inline Result run(backend::Backend& backend, const backend::CountPlan& plan,
                  const std::vector<io::Batch>& batches, Take take = Take::decoded, std::size_t rounds = 1) {
  const auto session = backend.start(plan);
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> kmers{0};
  run_team(
      plan.threads,
      [&](unsigned thread) {
        io::Batch batch;  // a session may keep it and leave another
        for (std::size_t i; (i = next.fetch_add(1)) < rounds * batches.size();) {
          copy(batches[i % batches.size()], batch);
          kmers += session->add(batch, thread);
        }
        kmers += session->end_of_input(thread);
      },
      [&] {
        plan.ranks->report(std::current_exception());  // first: others end with errors of their own
        next = rounds * batches.size();
      });
  Result result;
  bool once = true;
  std::mutex mutex;
  const auto put = [&](std::uint32_t shard, index::FrozenShard&& frozen) {
    const std::lock_guard lock(mutex);
    if (frozen.kmers() == 0) return;
    once = result.payloads.emplace(shard, frozen.payload).second && once;
    if (take == Take::payloads) return;
    for_each_kmer(std::move(frozen), shard, plan.kmers.k, plan.kmers.canonical,
                  [&](const std::string& text, std::uint64_t count) {
                    once = result.counts.emplace(text, count).second && once;
                  });
  };
  const backend::ShardSink sink(put);
  run_team(
      plan.threads, [&](unsigned thread) { session->finish(thread, sink, [] {}); }, [] {});
  CHECK(once);
  result.totals = session->tally().totals();
  result.histogram = session->tally().histogram();
  const backend::SessionReport report = session->report();
  result.early_counts = report.early_counts;
  result.spilled = report.spilled;
  result.device_memory = report.device_memory.value_or(backend::DeviceMemoryReport{});
  for (const backend::StageReport& stage : report.stages) {
    if (stage.name == "exchange") result.exchanged_bytes = stage.bytes;
  }
  // With several ranks, other ranks may have them.
  CHECK((plan.ranks->are_several() || result.totals.counted_kmers == kmers));
  return result;
}

/// Returns reads from a small genome, of both strands, with errors and breaks.
inline std::vector<std::string> simulated_reads(std::size_t n, std::size_t genome_length, unsigned seed,
                                                unsigned bases_per_error = 100) {
  std::mt19937_64 random(seed);
  const std::string genome = random_text(random, genome_length);
  std::vector<std::string> reads;
  for (std::size_t i = 0; i < n; ++i) {
    std::string read = genome.substr(random() % (genome_length - 150), 150);
    if (random() % 2 == 0) {
      std::reverse(read.begin(), read.end());
      for (char& c : read) c = c == 'A' ? 'T' : c == 'C' ? 'G' : c == 'G' ? 'C' : 'A';
    }
    for (char& c : read) {
      if (random() % bases_per_error == 0) c = "ACGTN"[random() % 5];
    }
    reads.push_back(read);
  }
  return reads;
}

/// Returns reads whose k-mers all have one minimizer and are otherwise random, so that one shard has nearly
/// all.
inline std::vector<std::string> hot_reads(std::size_t n, std::uint32_t k, unsigned seed) {
  std::mt19937_64 random(seed);
  const std::uint32_t m = minimizer_length(k);
  // Its hash is among the smallest millionth, so that hardly any other m-mer comes before it.
  std::uint32_t mmer = 0;
  for (std::uint32_t least = UINT32_MAX; least > UINT32_MAX >> 20;) {
    const std::uint32_t canonical = canonical_mmer(static_cast<std::uint32_t>(random()) >> (32 - 2 * m), m);
    if (minimizer_hash(canonical) >= least) continue;
    least = minimizer_hash(canonical);
    mmer = canonical;
  }
  std::vector<std::string> reads;
  while (reads.size() < n) {
    std::string read = random_text(random, 2 * k - m);
    for (std::uint32_t i = 0; i < m; ++i) read[k - m + i] = "ACGT"[mmer >> (2 * i) & 3];
    reads.push_back(read);
  }
  return reads;
}

inline std::map<std::string, std::uint64_t> expected_counts(const std::vector<std::string>& reads,
                                                            std::uint32_t k, bool canonical) {
  std::map<std::string, std::uint64_t> counts;
  for (const std::string& read : reads)
    add_naive_kmers(counts, naive_kmers(read, static_cast<int>(k), canonical));
  return counts;
}

/// The threads and devices of a plan.
struct Team {
  unsigned threads, devices;
};

/// Any k, both ways of counting strands and any team give the naive counter's counts, and always the same
/// bytes.
inline void match_the_oracle(backend::Backend& backend, const std::vector<std::uint32_t>& all_k,
                             const std::vector<Team>& teams) {
  const auto reads = simulated_reads(150, 2500, 1);
  for (const std::uint32_t k : all_k) {
    CAPTURE(k);
    for (const bool canonical : {true, false}) {
      backend::CountPlan plan = plan_for(k);
      plan.kmers.canonical = canonical;
      const auto expected = expected_counts(reads, k, canonical);
      Payloads first;
      for (const Team& team : teams) {
        plan.threads = team.threads;
        plan.devices.cpu_devices = team.devices;
        CAPTURE(plan.threads);
        CAPTURE(plan.devices.cpu_devices);
        const Result result = run(backend, plan, batches_of(reads, 7 * team.threads));
        CHECK((result.counts == expected));
        if (first.empty()) first = result.payloads;
        CHECK((result.payloads == first));
        if (k > kMaxDenseK) CHECK((result.exchanged_bytes > 0) == (team.devices > 1));
      }
    }
  }
}

/// Every table in which shards are counted gives the same k-mers, and all that are named the same bytes: for
/// k-mers that come very often, for more k-mers in a shard than its table begins with, and for k-mers whose
/// hashes mean something to tables.
inline void count_in_any_table(backend::Backend& backend, const std::vector<std::uint32_t>& all_k) {
  for (const std::uint32_t k : all_k) {
    CAPTURE(k);
    auto reads = simulated_reads(2000, 60000, 5);
    for (int i = 0; i < 3; ++i) {
      reads.push_back(std::string(30000, "AT"[i % 2]));
      reads.push_back(std::string(k, 'C') + std::string(k, 'A') + std::string(k, 'G'));
    }
    backend::CountPlan plan = plan_for(k);
    plan.kmers.canonical = false;
    with_key_type(k, [&](auto zero) {
      using Key = decltype(zero);
      for (const Key hash : {key_mask<Key>(k), Key{key_mask<Key>(k) - 1}}) {
        std::string text(k, ' ');
        kmer_to_text(KmerHash<Key>(k).inverse(hash), k, text.data());
        reads.insert(reads.end(), 3, text);
      }
    });
    const auto batches = batches_of(reads, 200);
    const Result expected = run(backend, plan, batches);
    Payloads first;
    for (const backend::CountTable table : std::span(backend::kCountTables).subspan(1)) {
      CAPTURE(backend::name_of(table));
      plan.table = table;
      const Result result = run(backend, plan, batches);
      if (first.empty()) first = result.payloads;
      CHECK((result.payloads == first));
      CHECK((result.counts == expected.counts));
      CHECK((result.histogram == expected.histogram));
      CHECK(result.totals.counted_kmers == expected.totals.counted_kmers);
    }
  }
}

/// Totals, histogram and filter follow from the counts.
inline void filter_and_tally(backend::Backend& backend, std::uint32_t k) {
  CAPTURE(k);
  const auto reads = simulated_reads(500, 3000, 2);
  const auto expected = expected_counts(reads, k, true);
  backend::CountPlan plan = plan_for(k);
  plan.kept.min = 2;
  plan.kept.max = 20;
  const Result result = run(backend, plan, batches_of(reads, 50));
  std::uint64_t kmers = 0, unique = 0, stored = 0, stored_kmers = 0;
  index::Histogram histogram;
  for (const auto& [kmer, count] : expected) {
    kmers += count;
    unique += count == 1 ? 1 : 0;
    if (count < 2 || count > 20) continue;
    ++stored;
    stored_kmers += count;
    ++histogram[count];
  }
  CHECK(result.totals.counted_kmers == kmers);
  CHECK(result.totals.counted_distinct == expected.size());
  CHECK(result.totals.counted_unique == unique);
  CHECK(result.totals.stored_distinct == stored);
  CHECK(result.totals.stored_kmers == stored_kmers);
  CHECK((result.histogram == histogram));
  CHECK(result.counts.size() == stored);
}

/// Counts no input, empty reads, reads shorter than k, and one k-mer.
inline void next_to_nothing(backend::Backend& backend, std::uint32_t k) {
  CAPTURE(k);
  const auto nothing = [&](const std::vector<std::string>& reads) {
    const Result result = run(backend, plan_for(k), batches_of(reads, 2));
    CHECK(result.counts.empty());
    CHECK(result.totals.counted_distinct == 0);
    CHECK(result.histogram.empty());
  };
  nothing({});
  nothing({""});
  nothing({"", "", ""});
  if (k > 1) nothing({"A"});
  nothing({"", "NNN", std::string(k - 1, 'A'), "N", std::string(k - 1, 'C') + "-" + std::string(k - 1, 'C')});
  const Result one =
      run(backend, plan_for(k), batches_of({"", std::string(k, 'T'), std::string(k - 1, 'N')}, 2));
  CHECK(one.counts == std::map<std::string, std::uint64_t>{{std::string(k, 'A'), 1}});
}

/// Characters that are no nucleotide code are refused, or break k-mers when lenient.
inline void refuse_or_break(backend::Backend& backend, std::uint32_t k) {
  CAPTURE(k);
  backend::CountPlan plan = plan_for(k);
  const std::vector<std::string> reads = {std::string(70, 'A') + "E" + std::string(70, 'C')};
  CHECK_THROWS_AS(run(backend, plan, batches_of(reads, 1)), InputError);
  // This holds in a sequence too short to have a k-mer, too.
  if (k > 2) CHECK_THROWS_AS(run(backend, plan, batches_of({"AQ"}, 1)), InputError);
  plan.reading.lenient = true;
  CHECK((run(backend, plan, batches_of(reads, 1)).counts == expected_counts(reads, k, true)));
}

/// An error of the sink that takes the shards ends the session, and is the one that is reported.
inline void end_with_the_sink(backend::Backend& backend, std::uint32_t k, unsigned threads,
                              std::uint32_t good_shards) {
  CAPTURE(k);
  CAPTURE(threads);
  CAPTURE(good_shards);
  backend::CountPlan plan = plan_for(k);
  plan.threads = threads;
  const auto session = backend.start(plan);
  auto batches = batches_of(simulated_reads(400, 3000, 9), 10);
  run_team(
      threads,
      [&](unsigned thread) {
        for (std::size_t i = thread; i < batches.size(); i += threads) session->add(batches[i], thread);
        session->end_of_input(thread);
      },
      [] {});
  struct DiskFull {};
  std::atomic<std::uint32_t> taken{0};
  const auto put = [&](std::uint32_t, index::FrozenShard&&) {
    if (taken++ >= good_shards) throw DiskFull();
  };
  const backend::ShardSink sink(put);
  CHECK_THROWS_AS(run_team(
                      threads, [&](unsigned thread) { session->finish(thread, sink, [] {}); }, [] {}),
                  DiskFull);
}

}  // namespace warpmer::tests
