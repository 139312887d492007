// Lookups on the GPU answer as those on the CPU, and refuse what those refuse.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <thread>

#include "base/error.h"
#include "gpu/device.h"
#include "kernels/lookup/lookup.cuh"
#include "kernels/memory/held_memory.cuh"
#include "kmer/alphabet.h"
#include "lookups/lookup_fixture.h"
#include "random_text.h"
#include "unit/groups/random_sequences.h"

namespace {

using namespace warpmer;
using namespace warpmer::tests;

/// Characters that a lookup sends to the device at once. Known here only to aim at the seams.
constexpr std::size_t kSlice = std::size_t{1} << 19;

/// On the GPU under test, with so many bytes of its memory for arrays; 0: what there is.
std::unique_ptr<backend::Lookup> on_gpu(const index::IndexFile& index, std::uint64_t bytes,
                                        bool lenient = false, bool may_page = true) {
  const std::vector<int> gpus = {tests::gpu_under_test().ordinal};
  if (bytes == 0) return backend::make_cuda_lookup(index, {lenient}, {gpus});
  return gpu::make_lookup_within(index, {.lenient = lenient, .may_page = may_page}, gpus, {bytes, bytes});
}

/// An index, looked up on both.
struct Both {
  explicit Both(const std::string& path, bool lenient = false, std::uint64_t device_bytes = 0)
      : index(path),
        cpu(backend::make_cpu_lookup(index, {lenient})),
        gpu(on_gpu(index, device_bytes, lenient)) {}

  index::IndexFile index;
  std::unique_ptr<backend::Lookup> cpu, gpu;
};

Seen check_same(const Both& both, const Reads& reads) {
  return tests::check_same(*both.cpu, *both.gpu, reads);
}

/// Returns the message of a lookup for a batch that it refuses, to sum it up or to tell its counts.
std::string refusal(const backend::Lookup& lookup, const io::Batch& batch, bool sums = false) {
  try {
    if (sums) {
      backend::BatchSummary summary;
      lookup.summarise(batch, summary);
    } else {
      backend::Profile profile;
      lookup.profile(batch, profile);
    }
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing";
}

void check_refused_alike(const Both& both, const Reads& reads) {
  const io::Batch batch = batch_of(reads);
  const std::string expected = refusal(*both.cpu, batch);
  CHECK(expected != "nothing");
  CHECK(refusal(*both.gpu, batch) == expected);
  CHECK(refusal(*both.gpu, batch, true) == expected);
}

TEST_CASE("profiles are the CPU's for any k, on one strand or both") {
  const Reads known = tests::random_reads(4000, 20000, 11);
  const Reads foreign = tests::random_reads(300, 20000, 12);
  for (const std::uint32_t k :
       {1u, 5u, 12u, 13u, 15u, 20u, 21u, 27u, 28u, 31u, 32u, 33u, 47u, 48u, 49u, 55u, 63u, 64u}) {
    for (const bool canonical : {true, false}) {
      CAPTURE(k);
      CAPTURE(canonical);
      const TemporaryIndex file;
      write_index(file.path(), known, k, canonical);
      const Both both(file.path());
      Reads reads = small_and_odd(k);
      append(reads, Reads(known.begin(), known.begin() + 2000));
      append(reads, foreign);
      const Seen seen = check_same(both, reads);
      CHECK(seen.found > 1000);
      if (k >= 15) CHECK(seen.kmers - seen.found > 1000);
      check_same(both, {});
      check_same(both, {""});
      check_same(both, {"A"});
      for (const auto& read : small_and_odd(k)) check_same(both, {read});
    }
  }
}

TEST_CASE("batches of several slices") {
  const Reads known = tests::random_reads(3000, 100000, 13);
  for (const std::uint32_t k : {5u, 31u, 64u}) {
    CAPTURE(k);
    const TemporaryIndex file;
    write_index(file.path(), known, k);
    const Both both(file.path());
    Reads reads = tests::random_reads(3, 100000, 13, 80000);
    append(reads, tests::random_reads(25000, 100000, 13));
    reads.push_back("");
    append(reads, {std::string(3 * kSlice, 'A'), "ACGT"});
    CHECK(check_same(both, reads).found > kSlice);
  }
}

TEST_CASE("sequences that end near a slice's seam") {
  const Reads known = tests::random_reads(3000, 30000, 14);
  const TemporaryIndex file;
  write_index(file.path(), known, 31);
  const Both both(file.path());
  std::string sequence;
  for (std::size_t i = 0; sequence.size() < kSlice + 100; ++i) sequence += known[i % known.size()];
  const std::string behind(known[0] + known[1] + known[2]);
  for (const int before : {-40, -31, -30, -29, -1, 0, 1, 2, 29, 30, 31, 32}) {
    CAPTURE(before);
    check_same(both,
               {sequence.substr(0, static_cast<std::size_t>(static_cast<int>(kSlice) - before)), behind});
  }
  check_same(both, {sequence.substr(0, kSlice - 1), "", "", behind});
  check_same(both, {sequence.substr(0, kSlice - 1)});
  check_same(both, {sequence.substr(0, kSlice)});
  check_same(both, Reads(kSlice + 5, ""));
}

TEST_CASE("an index without k-mers") {
  for (const std::uint32_t k : {7u, 31u, 40u}) {
    const TemporaryIndex file;
    write_index(file.path(), Reads{}, k);
    const Both both(file.path());
    CHECK(check_same(both, tests::random_reads(100, 1000, 15)).found == 0);
  }
}

TEST_CASE("counts that 32 bits do not hold") {
  const std::uint32_t k = 21;
  std::mt19937_64 random(16);
  const std::string read = random_text(random, 60);
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 32;
  const std::uint64_t values[] = {1,          2,      300,        kLimit - 3,  kLimit - 2,
                                  kLimit - 1, kLimit, kLimit + 1, kLimit << 20};
  std::map<Key64, std::uint64_t> counts;
  for (std::size_t i = 0; i + k <= read.size() && i < 30; ++i) {
    Key64 kmer = 0;
    REQUIRE(kmer_from_text(std::string_view(read).substr(i, k), kmer));
    counts[canonical(kmer, k)] = values[i % std::size(values)];
  }
  const TemporaryIndex file;
  write_index(file.path(), counts, k);
  const Both both(file.path());
  CHECK(check_same(both, {"ACGT", read, read + "N" + read}).found == 90);
  backend::Profile profile;
  both.gpu->profile(batch_of({read}), profile);
  CHECK(profile.wide[8] == kLimit << 20);
}

/// Sequences in which minimizers stand several times, or on both strands at once.
Reads awkward_reads(std::uint32_t k) {
  std::mt19937_64 random(k);
  Reads reads;
  for (int round = 0; round < 40; ++round) append(reads, awkward_sequences(k, random));
  // Microsatellites that are longer than a tile, and that begin and end within one.
  for (const std::size_t period : {1u, 2u, 3u, 6u, 11u, 17u, 40u}) {
    const std::string unit = random_text(random, period);
    std::string text = random_text(random, 500);
    while (text.size() < 6000) text += unit;
    reads.push_back(text + random_text(random, 500));
  }
  return reads;
}

TEST_CASE("ties of minimizers, palindromes and repeats") {
  for (const std::uint32_t k : {13u, 15u, 21u, 31u, 32u, 33u, 47u, 48u, 55u, 63u, 64u}) {
    for (const bool canonical : {true, false}) {
      CAPTURE(k);
      CAPTURE(canonical);
      const Reads known = awkward_reads(k);
      const TemporaryIndex file;
      // Every third is not in it, but most of its k-mers on the other strand are in others.
      Reads some;
      for (std::size_t i = 0; i < known.size(); ++i) {
        if (i % 3 != 0) some.push_back(known[i]);
      }
      write_index(file.path(), some, k, canonical);
      Reads asked = known;
      for (const std::string& read : known) asked.push_back(other_strand_of(read));
      const Both both(file.path());
      CHECK(check_same(both, asked).found > 10000);
      const Both paged(file.path(), false, std::uint64_t{3} << 20);
      CHECK(check_same(paged, asked).found > 10000);
    }
  }
}

TEST_CASE("groups of very many strings") {
  for (const std::uint32_t k : {15u, 31u, 33u, 55u}) {
    CAPTURE(k);
    // An m-mer that is the minimizer of nearly all k-mers that have it, among random flanks.
    const std::uint32_t m = minimizer_length(k);
    std::mt19937_64 random(k);
    std::uint32_t least = 0;
    for (int i = 0; i < 1 << 20; ++i) {
      const std::uint32_t one = canonical_mmer(random() & ((1u << (2 * m)) - 1), m);
      if (minimizer_hash(one) < minimizer_hash(least)) least = one;
    }
    std::string mmer;
    for (std::uint32_t i = 0; i < m; ++i) mmer += base_char((least >> (2 * i)) & 3);
    Reads known;
    for (int i = 0; i < 20000; ++i) {
      std::string flank = random_text(random, k - m), other = random_text(random, k - m);
      known.push_back(flank.append(mmer).append(other));
      if (i % 2 == 0) known.back() = other_strand_of(known.back());
    }
    const TemporaryIndex file;
    write_index(file.path(), known, k);
    const index::IndexFile index(file.path());
    std::uint64_t large_groups = 0;
    for (std::uint32_t s = 0; s < index.params().shards(); ++s) large_groups += index.sizes(s).large_groups;
    REQUIRE(large_groups > 0);
    Reads asked = known;
    for (std::size_t i = 0; i < known.size(); i += 5) {
      asked[i][asked[i].size() / 3] = 'A';
      asked.push_back(other_strand_of(known[i]));
    }
    CHECK(check_same(Both(file.path()), asked).found > 20000);
    CHECK(check_same(Both(file.path(), false, std::uint64_t{8} << 20), asked).found > 20000);
  }
}

TEST_CASE("characters that are no nucleotide codes are refused with the CPU's words, or break k-mers") {
  const Reads known = tests::random_reads(2000, 20000, 17);
  for (const std::uint32_t k : {11u, 31u, 60u}) {
    CAPTURE(k);
    const TemporaryIndex file;
    write_index(file.path(), known, k);
    const Both strict(file.path());
    const Both lenient(file.path(), true);
    std::string sequence;
    for (std::size_t i = 0; sequence.size() < 3 * kSlice; ++i) sequence += known[i % known.size()];
    for (const std::size_t at : {std::size_t{0}, std::size_t{2047}, std::size_t{2048}, kSlice - 1, kSlice,
                                 kSlice + 5, 2 * kSlice + 7, 3 * kSlice - 1}) {
      CAPTURE(at);
      std::string bad = sequence;
      bad[at] = '!';
      bad.back() = 'E';
      const Reads reads = {"", "ACG", bad, "AC?"};
      check_refused_alike(strict, reads);
      check_same(lenient, reads);
    }
    check_refused_alike(strict, {"", "ACGJ", "@"});
    check_refused_alike(strict, {"\x80"});
    check_same(lenient, {"", "ACGJ", "@", "\xFF"});
    check_same(strict, known);  // and goes on after a refusal
  }
}

TEST_CASE("several threads at once, more than have room on the device") {
  const Reads known = tests::random_reads(3000, 30000, 18);
  const TemporaryIndex file;
  write_index(file.path(), known, 31);
  const Both both(file.path(), false, std::uint64_t{24} << 20);
  std::atomic<int> wrong{0}, refused{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 6; ++i) {
        if ((t + i) % 5 == 0) {
          refused += refusal(*both.gpu, batch_of({known[t], "!"})) != "nothing" ? 1 : 0;
          continue;
        }
        const io::Batch batch = batch_of(tests::random_reads(2000 * (1 + i), 30000, i % 2 == 0 ? 18 : t));
        backend::Profile expected, got;
        both.cpu->profile(batch, expected);
        both.gpu->profile(batch, got);
        wrong +=
            got.first == expected.first && got.counts == expected.counts && got.wide == expected.wide ? 0 : 1;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(refused == 10);
}

TEST_CASE("an index that the device memory allowed does not hold is paged") {
  for (const std::uint32_t k : {13u, 15u, 21u, 31u, 32u, 33u, 47u, 48u, 55u, 63u, 64u}) {
    CAPTURE(k);
    const Reads known = tests::random_reads(60000, 3000000, 19);
    const TemporaryIndex file;
    write_index(file.path(), known, k);
    const std::uint64_t bytes = index::IndexFile(file.path()).file_bytes();
    for (const std::uint64_t share : {bytes / 2, bytes / 4}) {
      CAPTURE(share);
      // Besides payloads, memory is needed for texts and for what leads to shards.
      const Both both(file.path(), false, share + (std::uint64_t{3} << 20));
      CHECK(both.gpu->callers(1) >= 1);
      Reads reads = small_and_odd(k);
      append(reads, Reads(known.begin(), known.begin() + 4000));
      append(reads, tests::random_reads(300, 20000, 12));
      CHECK(check_same(both, reads).found > 80000);
      check_same(both, {});
      check_refused_alike(both, {"", "ACGJ", "@"});
      check_same(both, reads);
      std::atomic<int> wrong{0};
      std::vector<std::thread> threads;
      for (unsigned t = 0; t < 5; ++t) {
        threads.emplace_back([&, t] {
          for (unsigned i = 0; i < 4; ++i) {
            const io::Batch batch =
                batch_of(tests::random_reads(1000 * (1 + i), 3000000, i % 2 == 0 ? 19 : t));
            backend::Profile expected, got;
            both.cpu->profile(batch, expected);
            both.gpu->profile(batch, got);
            wrong += got.first == expected.first && got.counts == expected.counts && got.wide == expected.wide
                         ? 0
                         : 1;
          }
        });
      }
      for (auto& thread : threads) thread.join();
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("a cap is kept to by all that the memory pool holds") {
  const TemporaryIndex file;
  write_index(file.path(), tests::random_reads(6000, 42000000, 36, 20000), 31);
  const index::IndexFile index(file.path());
  REQUIRE(index.file_bytes() > std::uint64_t{36} << 20);
  const std::vector<int> gpus = {tests::gpu_under_test().ordinal};
  const auto cpu = backend::make_cpu_lookup(index);
  const io::Batch batch = batch_of(tests::random_reads(2000, 42000000, 36));
  backend::Profile expected;
  cpu->profile(batch, expected);
  for (const std::uint64_t megabytes : {40u, 50u, 100u, 200u}) {
    CAPTURE(megabytes);
    const auto lookup = backend::make_cuda_lookup(index, {}, {gpus, megabytes << 20});
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < std::max(8u, lookup->callers(1)); ++t) {
      threads.emplace_back([&] {
        backend::Profile got;
        lookup->profile(batch, got);
        wrong += got.counts == expected.counts && got.wide == expected.wide ? 0 : 1;
      });
    }
    for (auto& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(gpu::held_bytes().peak <= megabytes << 20);
  }
  CHECK_THROWS_WITH_AS(
      (void)backend::make_cuda_lookup(index, {}, {gpus, std::uint64_t{31} << 20}),
      doctest::Contains("needs 32 MiB of the GPU's memory, and --device-memory allows 31 MiB"),
      ResourceError);
}

TEST_CASE("text that is cut into more runs than a paged look-up has room for") {
  for (const std::uint32_t k : {31u, 40u}) {
    CAPTURE(k);
    const std::string text = restless_text(100000, k);
    std::size_t runs = 0;
    std::uint32_t before = UINT32_MAX;
    for (std::size_t i = 0; i + k <= text.size(); ++i) {
      Key128 kmer = 0;
      REQUIRE(kmer_from_text(std::string_view(text).substr(i, k), kmer));
      const std::uint32_t shard = shard_of_kmer(kmer, k, true, shard_bits(k));
      runs += shard == before ? 0 : 1;
      before = shard;
    }
    const std::size_t tiles = text.size() / 2048, window = k - minimizer_length(k) + 1;
    REQUIRE(runs > tiles * (4096 * 115 / 100 / (window + 1) + 32) * 21 / 20);  // kernels/lookup/shard_runs.cu
    const TemporaryIndex file;
    write_index(file.path(), Reads{text.substr(1000, 60000), text.substr(50000)}, k);
    const Both both(file.path(), false, std::uint64_t{3} << 20);
    CHECK(check_same(both, {text, "N" + text, text.substr(70000)}).found > 200000);
  }
}

TEST_CASE("the least device memory that is accepted, and more, and large counts in it") {
  const std::uint32_t k = 21;
  std::mt19937_64 random(22);
  std::map<Key64, std::uint64_t> counts;
  const std::string text = random_text(random, 30000);
  for (std::size_t i = 0; i + k <= text.size(); i += 1 + random() % 3) {
    Key64 kmer = 0;
    REQUIRE(kmer_from_text(std::string_view(text).substr(i, k), kmer));
    counts[canonical(kmer, k)] = 1 + (random() >> (20 + random() % 43));
  }
  const TemporaryIndex file;
  write_index(file.path(), counts, k);
  const index::IndexFile index(file.path());
  const auto is_accepted = [&](std::uint64_t memory) {
    try {
      (void)on_gpu(index, memory);
      return true;
    } catch (const ResourceError&) {
      return false;
    }
  };
  std::uint64_t low = 1u << 20, high = 5u << 20;
  REQUIRE(!is_accepted(low));
  REQUIRE(is_accepted(high));
  while (high - low > 1) (is_accepted((low + high) / 2) ? high : low) = (low + high) / 2;
  const Reads reads = {text, std::string(50000, 'A'), text.substr(5000, 9999), "ACGT"};
  for (const std::uint64_t more : {0u, 1u, 5000u, 100000u, 600000u, 1500000u}) {
    CAPTURE(more);
    CHECK(check_same(Both(file.path(), false, high + more), reads).found > 10000);
  }
}

TEST_CASE("too little device memory even for paging, or nobody asked for that") {
  const TemporaryIndex file;
  write_index(file.path(), tests::random_reads(40000, 400000, 19), 31);
  const index::IndexFile index(file.path());
  const auto refusal_of = [&](std::uint64_t memory, bool may_page) -> std::string {
    try {
      (void)on_gpu(index, memory, false, may_page);
    } catch (const ResourceError& error) {
      return error.what();
    }
    return "";
  };
  for (const std::string& message :
       {refusal_of(std::uint64_t{1} << 20, true), refusal_of(std::uint64_t{5} << 20, false)}) {
    CHECK(message.find("MiB of the GPU's memory, and --device-memory allows ") != std::string::npos);
    CHECK(message.find("use --device cpu") != std::string::npos);
  }
  CHECK(refusal_of(std::uint64_t{5} << 20, true).empty());
}

TEST_CASE("a damaged shard is refused when it is paged in") {
  const TemporaryIndex file;
  write_index(file.path(), tests::random_reads(40000, 400000, 19), 31);
  {
    std::fstream stream(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(64 + 1000);
    stream.put('\x55').put('\xAA').put('\x55');
  }
  const index::IndexFile index(file.path());
  const auto lookup = on_gpu(index, std::uint64_t{5} << 20);
  backend::Profile profile;
  for (int i = 0; i < 2; ++i)
    CHECK_THROWS_AS(lookup->profile(batch_of({"ACGTACGTACGTACGTACGTACGTACGTACGTACGT"}), profile), InputError);
}

TEST_CASE("a damaged shard is refused when the index is loaded") {
  const TemporaryIndex file;
  write_index(file.path(), tests::random_reads(300, 3000, 20), 31);
  {
    std::fstream stream(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(64 + 1000);
    stream.put('\x55').put('\xAA').put('\x55');
  }
  const index::IndexFile index(file.path());
  CHECK_THROWS_AS((void)on_gpu(index, 0), InputError);
}

}  // namespace
