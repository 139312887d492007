// The session suite on the CUDA backend, then what is harder for a GPU than for a CPU; there, the CPU backend
// says what is right, byte for byte.

#include "gpu/device.h"
#include "gpu/random_reads.h"
#include "sessions/session_suite.h"

using namespace warpmer;
using namespace warpmer::tests;

namespace {

const std::vector<std::uint32_t> kAllK = {1, 5, 12, 13, 15, 31, 32, 33, 48, 49, 55, 64};

std::unique_ptr<backend::Backend> cuda() { return backend::make_cuda_backend({gpu_under_test().ordinal}); }

void check_same(const Result& a, const Result& b) {
  CHECK((a.payloads == b.payloads));
  CHECK((a.histogram == b.histogram));
  CHECK(a.totals.counted_kmers == b.totals.counted_kmers);
  CHECK(a.totals.counted_distinct == b.totals.counted_distinct);
  CHECK(a.totals.counted_unique == b.totals.counted_unique);
  CHECK(a.totals.stored_distinct == b.totals.stored_distinct);
  CHECK(a.totals.stored_kmers == b.totals.stored_kmers);
}

Result on_cpu(const backend::CountPlan& plan, const std::vector<io::Batch>& batches, std::size_t rounds = 1) {
  return run(*backend::make_cpu_backend(), plan, batches, Take::payloads, rounds);
}
Result on_gpu(const backend::CountPlan& plan, const std::vector<io::Batch>& batches, std::size_t rounds = 1) {
  return run(*cuda(), plan, batches, Take::payloads, rounds);
}

/// Batches of 1 base to 5 MB, of reads and of contigs, one genome all of it.
std::vector<io::Batch> batches_of_any_size(std::size_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<io::Batch> batches(n);
  for (io::Batch& batch : batches) {
    const std::size_t bases = random() % 8 == 0 ? 1 : std::size_t{5000000} >> random() % 23;
    const std::size_t length = random() % 2 == 0 ? 150 : 1 + random() % 100000;
    std::vector<std::string> reads = random_reads(1 + bases / length, 300000, seed, length);
    reads.back().resize(std::max<std::size_t>(bases % reads.back().size(), 1));
    batch = std::move(batches_of(reads, reads.size()).front());
  }
  return batches;
}

}  // namespace

TEST_CASE("sessions count what the naive counter counts, with any threads") {
  match_the_oracle(*cuda(), countable(kAllK), {{1, 1}, {2, 1}, {5, 1}});
}

TEST_CASE("whatever shards are counted in, the bytes are the same") {
  count_in_any_table(*cuda(), countable({12, 15, 31, 32, 33, 64}));
}

TEST_CASE("totals, histogram and filter follow from the counts") {
  for (const std::uint32_t k : countable({9, 21, 40})) filter_and_tally(*cuda(), k);
}

TEST_CASE("no input, empty reads, reads shorter than k") {
  for (const std::uint32_t k : countable(kAllK)) next_to_nothing(*cuda(), k);
}

TEST_CASE("characters that are no nucleotide code are refused, or break k-mers when lenient") {
  for (const std::uint32_t k : countable(kAllK)) refuse_or_break(*cuda(), k);
}

TEST_CASE("an error of the sink ends the session") {
  for (const std::uint32_t k : countable({5, 31, 64})) {
    for (const unsigned threads : {1u, 2u, 5u}) end_with_the_sink(*cuda(), k, threads, 0);
  }
  for (int i = 0; i < 20; ++i) end_with_the_sink(*cuda(), 31, 5, 200u * static_cast<unsigned>(i));
}

TEST_CASE("batches of any size, any threads: the CPU's bytes") {
  for (const std::uint32_t k : countable(kAllK)) {
    CAPTURE(k);
    const auto batches = batches_of_any_size(20, k);
    backend::CountPlan plan = plan_for(k);
    const Result expected = on_cpu(plan, batches);
    for (const unsigned threads : {1u, 2u, 5u}) {
      CAPTURE(threads);
      plan.threads = threads;
      check_same(on_gpu(plan, batches), expected);
    }
  }
}

TEST_CASE("hot k-mers") {
  std::vector<std::string> reads = random_reads(2000, 20000, 11);
  for (int i = 0; i < 40; ++i) {
    reads.push_back(std::string(500000, "AT"[i % 2]));
    std::string pairs(100000, 'C');
    for (std::size_t j = 0; j < pairs.size(); j += 2) pairs[j] = 'A';
    reads.push_back(pairs);
  }
  const auto batches = batches_of(reads, 100);
  for (const std::uint32_t k : countable({5, 12, 13, 31, 32, 33, 64})) {
    CAPTURE(k);
    backend::CountPlan plan = plan_for(k);
    const Result expected = on_cpu(plan, batches);
    plan.threads = 2;
    check_same(on_gpu(plan, batches), expected);
  }
}

TEST_CASE("with little device memory, shards are counted early, and the result is the same") {
  constexpr std::size_t kRounds = 6;
  const auto batches = batches_of(simulated_reads(250000, 50000, 3, 2000), 2000);
  for (const std::uint32_t k : countable({31, 55})) {
    CAPTURE(k);
    backend::CountPlan plan = plan_for(k);
    plan.threads = 2;
    const Result ample = on_gpu(plan, batches, kRounds);
    CHECK(ample.early_counts == 0);
    check_same(ample, on_cpu(plan, batches, kRounds));
    std::uint64_t early = 0;
    for (const std::uint64_t megabytes : {140, 180, 220, 260, 320, 400}) {
      CAPTURE(megabytes);
      plan.devices.memory_bytes = megabytes << 20;
      try {
        const Result tight = on_gpu(plan, batches, kRounds);
        early += tight.early_counts;
        check_same(tight, ample);
      } catch (const ResourceError& error) {
        CHECK(std::string(error.what()).find("--device-memory") != std::string::npos);
      }
    }
    CHECK(early > 0);
  }
}

TEST_CASE("memory that cannot do is refused at once, with what is needed") {
  for (const std::uint32_t k : {5u, 12u, 31u}) {
    CAPTURE(k);
    backend::CountPlan plan = plan_for(k);
    plan.memory_bytes = 1 << 20;
    CHECK_THROWS_AS(cuda()->start(plan), ResourceError);
    plan = plan_for(k);
    plan.devices.memory_bytes = std::uint64_t{1} << 60;
    CHECK_THROWS_AS(cuda()->start(plan), ResourceError);
    // At k = 12, the counters alone take 128 MB.
    plan.devices.memory_bytes = std::uint64_t{k == 12 ? 100u : 1u} << 20;
    CHECK_THROWS_AS(cuda()->start(plan), ResourceError);
  }
}

TEST_CASE("with any device memory that is accepted, the same bytes, and never more of it") {
  const auto batches = batches_of(simulated_reads(800000, 60000000, 4), 2000);
  for (const std::uint32_t k : countable({31, 64})) {
    CAPTURE(k);
    backend::CountPlan plan = plan_for(k);
    plan.memory_bytes = std::uint64_t{8} << 30;
    const Result expected = on_cpu(plan, batches);
    std::uint64_t to_host = 0, to_file = 0;
    for (const std::uint64_t megabytes : {100, 150, 200, 250, 300, 500, 1000, 2000}) {
      for (const bool by_file : {false, true}) {
        CAPTURE(megabytes);
        CAPTURE(by_file);
        plan.threads = by_file ? 1 : 3;
        // The memory that feeding takes, and next to nothing else.
        plan.memory_bytes = by_file ? std::uint64_t{380} << 20 : std::uint64_t{8} << 30;
        plan.devices.memory_bytes = megabytes << 20;
        try {
          const Result tight = on_gpu(plan, batches);
          check_same(tight, expected);
          to_host += tight.spilled.host_bytes;
          to_file += tight.spilled.written_bytes;
          CHECK(tight.spilled.read_bytes == tight.spilled.written_bytes);
          MESSAGE("cap ", megabytes, " MB, peak ", tight.device_memory.peak_bytes >> 20, " MB, beside ",
                  tight.device_memory.beside_bytes >> 20, " MB");
          CHECK(tight.device_memory.peak_bytes <= plan.devices.memory_bytes);
        } catch (const ResourceError& error) {
          // Before anything has been read.
          CHECK(std::string(error.what()).find("counting on the GPU takes ") != std::string::npos);
          CHECK(megabytes < 250);
        }
      }
    }
    CHECK(to_host > 0);
    CHECK(to_file > 0);
  }
}

TEST_CASE("older GPUs refuse 128-bit keys by name") {
  if (can_count(kMaxNarrowK + 1)) return;
  try {
    cuda()->start(plan_for(kMaxNarrowK + 1));
    FAIL("must not start");
  } catch (const ResourceError& error) {
    CHECK(std::string(error.what()).find("--device cpu") != std::string::npos);
  }
}

TEST_CASE("fifty runs, the same bytes") {
  const auto batches = batches_of(random_reads(50000, 100000, 12), 500);
  backend::CountPlan plan = plan_for(31);
  const Result expected = on_cpu(plan, batches);
  for (unsigned i = 0; i < 50; ++i) {
    CAPTURE(i);
    plan.threads = 1 + i % 5;
    plan.input_bytes = i % 2 == 0 ? 0 : 8000000;  // chooses other numbers of lists
    check_same(on_gpu(plan, batches), expected);
  }
}
