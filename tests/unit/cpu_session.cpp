// Whole counting sessions on the CPU backend, from hand-made batches: any number of threads and devices,
// any memory, the same frozen shards.

#include <doctest/doctest.h>

#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "core/error.h"
#include "core/hash.h"
#include "core/kmer.h"
#include "engine/backend.h"
#include "engine/thread_team.h"
#include "index/shard_codec.h"
#include "oracle/naive_kmers.h"

namespace {

using namespace warpmer;

using Payloads = std::map<std::uint32_t, std::vector<std::uint64_t>>;

struct Result {
  Payloads payloads;  ///< of the shards that are not empty
  std::map<std::string, std::uint64_t> counts;
  index::Totals totals;
  index::Histogram histogram;
  std::uint64_t early_counts = 0;
  std::uint64_t exchanged_bytes = 0;
};

std::vector<io::Batch> batches_of(const std::vector<std::string>& reads, std::size_t per_batch) {
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

void copy(const io::Batch& from, io::Batch& to) {
  to.text.set_size(0);
  to.text.append({from.text.data(), from.text.size()});
  to.pieces = from.pieces;
}

engine::CountPlan plan_for(std::uint32_t k) {
  engine::CountPlan plan;
  plan.k = k;
  plan.memory_bytes = std::uint64_t{1} << 30;
  return plan;
}

Result run(const engine::CountPlan& plan, const std::vector<io::Batch>& batches, bool decode = true) {
  const auto backend = engine::make_cpu_backend();
  const auto session = backend->start(plan);
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> kmers{0};
  engine::run_team(
      plan.threads,
      [&](unsigned thread) {
        io::Batch batch;  // a session may keep it and leave another
        for (std::size_t i; (i = next.fetch_add(1)) < batches.size();) {
          copy(batches[i], batch);
          kmers += session->add(batch, thread);
        }
        kmers += session->end_of_input(thread);
      },
      [&] { next = batches.size(); });
  Result result;
  bool once = true;
  std::mutex mutex;
  const auto sink = [&](std::uint32_t shard, index::FrozenShard&& frozen) {
    const std::lock_guard lock(mutex);
    if (frozen.shape.entries == 0) return;
    const std::size_t words = frozen.payload.size();
    CHECK(result.payloads.emplace(shard, frozen.payload).second);
    frozen.payload.resize(words + 3);
    if (!decode) return;
    with_key_type(plan.k, [&](auto zero) {
      using Key = decltype(zero);
      const index::ShardReader<Key> reader({frozen.shape, frozen.payload.data(), words}, plan.k);
      reader.for_each([&](Key hash, std::uint64_t count) {
        std::string name(plan.k, ' ');
        kmer_to_text(KmerHash<Key>(plan.k).inverse(hash), plan.k, name.data());
        once = result.counts.emplace(name, count).second && once;
      });
    });
  };
  engine::run_team(
      plan.threads, [&](unsigned thread) { session->finish(thread, sink, [] {}); }, [] {});
  CHECK(once);
  result.totals = session->tally().totals();
  result.histogram = session->tally().histogram();
  result.early_counts = session->early_counts();
  for (const engine::StageReport& stage : session->stages()) {
    if (stage.name == "exchange") result.exchanged_bytes = stage.bytes;
  }
  CHECK(result.totals.counted_kmers == kmers);
  return result;
}

/// Reads from a small genome, both strands, with errors and breaks.
std::vector<std::string> simulated_reads(std::size_t n, std::size_t genome_length, unsigned seed,
                                         unsigned bases_per_error = 100) {
  std::mt19937_64 random(seed);
  std::string genome(genome_length, ' ');
  for (char& c : genome) c = "ACGT"[random() % 4];
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

std::map<std::string, std::uint64_t> expected_counts(const std::vector<std::string>& reads, std::uint32_t k,
                                                     bool canonical) {
  std::map<std::string, std::uint64_t> counts;
  for (const std::string& read : reads)
    add_naive_kmers(counts, naive_kmers(read, static_cast<int>(k), canonical));
  return counts;
}

}  // namespace

TEST_CASE("sessions count what the naive counter counts, with any threads and devices") {
  const auto reads = simulated_reads(150, 2500, 1);
  for (const std::uint32_t k : {1u, 5u, 9u, 13u, 31u, 32u, 33u, 48u, 49u, 64u}) {
    CAPTURE(k);
    for (const bool canonical : {true, false}) {
      engine::CountPlan plan = plan_for(k);
      plan.canonical = canonical;
      const auto expected = expected_counts(reads, k, canonical);
      Payloads first;
      for (const auto& [threads, devices] : {std::pair{1u, 1u}, {3u, 1u}, {1u, 3u}, {2u, 5u}}) {
        plan.threads = threads;
        plan.devices = devices;
        CAPTURE(plan.threads);
        CAPTURE(plan.devices);
        const Result result = run(plan, batches_of(reads, 7 * threads));
        CHECK((result.counts == expected));
        if (first.empty()) first = result.payloads;
        CHECK((result.payloads == first));
        if (k > 12) CHECK((result.exchanged_bytes > 0) == (devices > 1));
      }
    }
  }
}

TEST_CASE("totals, histogram and filter follow from the counts") {
  const auto reads = simulated_reads(500, 3000, 2);
  const std::uint32_t k = 21;
  const auto expected = expected_counts(reads, k, true);
  engine::CountPlan plan = plan_for(k);
  plan.min_count = 2;
  plan.max_count = 20;
  const Result result = run(plan, batches_of(reads, 50));
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

TEST_CASE("with little memory, shards are counted early, and the result is the same") {
  const auto reads = simulated_reads(250000, 50000, 3, 2000);
  for (const std::uint32_t k : {31u, 55u}) {
    CAPTURE(k);
    engine::CountPlan plan = plan_for(k);
    plan.threads = 2;
    const auto batches = batches_of(reads, 2000);
    const Result ample = run(plan, batches, false);
    CHECK(ample.early_counts == 0);
    std::uint64_t early = 0;
    for (const std::uint64_t megabytes : {46, 48, 54}) {
      CAPTURE(megabytes);
      plan.memory_bytes = megabytes << 20;
      try {
        const Result tight = run(plan, batches, false);
        early += tight.early_counts;
        CHECK((tight.payloads == ample.payloads));
        CHECK((tight.histogram == ample.histogram));
      } catch (const ResourceError& error) {
        CHECK(std::string(error.what()).find("-m") != std::string::npos);
      }
    }
    CHECK(early > 0);
  }
}

TEST_CASE("memory that cannot do is refused at once, with what is needed") {
  engine::CountPlan plan = plan_for(31);
  plan.memory_bytes = 1 << 20;
  CHECK_THROWS_AS(engine::make_cpu_backend()->start(plan), ResourceError);
  plan.k = 12;
  CHECK_THROWS_AS(engine::make_cpu_backend()->start(plan), ResourceError);
}

TEST_CASE("distinct k-mers that do not fit end with a resource error that says how many megabytes") {
  const auto reads = simulated_reads(250000, 20000000, 4);
  engine::CountPlan plan = plan_for(31);
  plan.memory_bytes = std::uint64_t{40} << 20;
  plan.input_fraction = [] { return 0.5; };
  try {
    run(plan, batches_of(reads, 2000), false);
    FAIL("40 MB should not do");
  } catch (const ResourceError& error) {
    CHECK(std::string(error.what()).find("MB in all (50 %") != std::string::npos);
  }
}

TEST_CASE("no input, empty reads, reads shorter than k") {
  for (const std::uint32_t k : {5u, 31u, 64u}) {
    CAPTURE(k);
    CHECK(run(plan_for(k), {}).counts.empty());
    CHECK(run(plan_for(k), batches_of({"", "ACG", std::string(k - 1, 'A'), "N"}, 2)).counts.empty());
    const Result one = run(plan_for(k), batches_of({"", std::string(k, 'T'), std::string(k - 1, 'C')}, 2));
    CHECK(one.counts == std::map<std::string, std::uint64_t>{{std::string(k, 'A'), 1}});
  }
}

TEST_CASE("characters that are no nucleotide code are refused, or break k-mers when lenient") {
  for (const std::uint32_t k : {5u, 31u, 64u}) {
    CAPTURE(k);
    engine::CountPlan plan = plan_for(k);
    const std::vector<std::string> reads = {std::string(70, 'A') + "E" + std::string(70, 'C')};
    CHECK_THROWS_AS(run(plan, batches_of(reads, 1)), InputError);
    plan.lenient = true;
    CHECK((run(plan, batches_of(reads, 1)).counts == expected_counts(reads, k, true)));
  }
  // In a sequence too short to hold a k-mer, too.
  CHECK_THROWS_AS(run(plan_for(31), batches_of({"ACQT"}, 1)), InputError);
}
