// Several GPUs answer as the CPU does, each with all of the index, or with its own range of shards. Where
// there is one, it stands for several.

#include <doctest/doctest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "gpu/device.h"
#include "kernels/lookup/device_index.cuh"
#include "kernels/lookup/lookup.cuh"
#include "kernels/lookup/routed_index.cuh"
#include "kernels/memory/current_device.cuh"
#include "kernels/text/joined_text.cuh"
#include "kernels/upload/frozen_shards.cuh"
#include "lookups/lookup_fixture.h"

namespace {

using namespace warpmer;
using namespace warpmer::tests;

/// Memory of each GPU for a part of the index, and `more`; it does not hold the whole.
std::uint64_t memory_for_parts(const index::IndexFile& index, const std::vector<int>& gpus,
                               std::uint64_t more) {
  const std::uint64_t memory =
      gpu::least_routed_memory(index, static_cast<std::uint32_t>(gpus.size())) + more;
  REQUIRE(memory < gpu::frozen_shards_bytes(index));
  return memory;
}

/// The genome of large indexes, and reads that have most of it.
constexpr std::size_t kGenome = 8000000;
Reads large_reads(unsigned seed) { return random_reads(1200, kGenome, seed, 20000); }

/// An index in parts; nothing is paged.
std::unique_ptr<backend::Lookup> in_parts(const index::IndexFile& index, const std::vector<int>& gpus,
                                          std::uint64_t more = 0, bool lenient = false) {
  const std::uint64_t bytes = memory_for_parts(index, gpus, more);
  return gpu::make_lookup_within(index, {.lenient = lenient, .may_page = false}, gpus, {bytes, bytes});
}

TEST_CASE("several GPUs, each with all of the index or with a part") {
  const TemporaryIndex file;
  write_index(file.path(), large_reads(21), 31);
  const index::IndexFile index(file.path());
  const auto cpu = backend::make_cpu_lookup(index);
  const Reads all = large_reads(21), known(all.begin(), all.begin() + 100);
  for (const std::vector<int>& gpus : sets_of_gpus()) {
    CAPTURE(gpus.size());
    for (const bool has_all : {true, false}) {
      const auto lookup = has_all ? backend::make_cuda_lookup(index, {}, {gpus}) : in_parts(index, gpus);
      for (unsigned round = 0; round < 4; ++round) {
        const Seen seen = check_same(*cpu, *lookup, known);
        CHECK(seen.found == seen.kmers);
        check_same(*cpu, *lookup, random_reads(300, 20000, 22 + round));
      }
    }
  }
}

/// A text on a GPU, with room for answers to all of it; the text may be where they are going to be.
struct Asked {
  explicit Asked(const std::string& text, const gpu::RoutedLookupPlan& plan)
      : answers(plan.slice_starts + gpu::text_room(text.size())), status(1) {
    REQUIRE(text.size() <= plan.slice_starts);
    gpu::fill_bytes(answers.data(), 0, answers.size(), stream);
    gpu::fill_bytes(status.data(), 0xFF, 1, stream);
    characters = reinterpret_cast<char*>(answers.data() + std::size_t{plan.slice_starts} / 4 * 3);
    gpu::copy_to_device<char>(characters, text.data(), text.size(), stream);
    stream.wait();
  }
  gpu::DeviceArray<std::uint32_t> answers;
  gpu::DeviceArray<gpu::CutStatus> status;
  gpu::Stream stream;
  char* characters;
};

std::vector<std::uint32_t> ask(int gpu, const gpu::DeviceIndex& index, const std::string& text,
                               const gpu::RoutedLookupPlan& plan) {
  const gpu::CurrentDevice current(gpu);
  const Asked asked(text, plan);
  const auto size = static_cast<std::uint32_t>(text.size());
  index.look_up(asked.characters, size, size, asked.answers.data(), asked.status.data(), asked.stream);
  std::vector<std::uint32_t> answers(size);
  gpu::copy_to_host(answers.data(), asked.answers.data(), size, asked.stream);
  asked.stream.wait();
  return answers;
}

TEST_CASE("answers come back to their places, directly and through the host") {
  for (const std::uint32_t k : {13u, 15u, 21u, 31u, 32u, 33u, 47u, 48u, 55u, 63u, 64u}) {
    CAPTURE(k);
    const TemporaryIndex file;
    const Reads known = random_reads(3000, 30000, 31);
    write_index(file.path(), known, k);
    const index::IndexFile index(file.path());
    const int one = gpu_under_test().ordinal;
    gpu::check(cudaSetDevice(one), "choosing a GPU");  // for `whole`, in the end, too
    const auto whole = gpu::load_index(index);
    std::string text;
    for (const std::string& read : small_and_odd(k)) text += read + "\n";
    for (std::size_t i = 0; i < 200; ++i) text += known[i] + "\n";
    for (const std::vector<int>& gpus : sets_of_gpus()) {
      const auto payloads = std::make_shared<const gpu::FrozenPayloads>(index, gpus);
      const gpu::RoutedLookupPlan plan =
          gpu::plan_routed_lookup(index, static_cast<std::uint32_t>(gpus.size()), std::uint64_t{100} << 20);
      const auto expected = ask(one, *whole, text, plan);
      for (const gpu::Route route : {gpu::Route::direct, gpu::Route::host}) {
        const auto asked = gpu::route_index(payloads, plan, route);
        REQUIRE(asked.size() == gpus.size());
        for (unsigned round = 0; round < plan.routed_batches + 2; ++round) {
          const std::size_t asker = round % gpus.size();
          CHECK((ask(gpus[asker], *asked[asker], text, plan) == expected));
        }
        CHECK(ask(gpus[0], *asked[0], "", plan).empty());
        CHECK((ask(gpus[0], *asked[0], "A", plan) == std::vector<std::uint32_t>{gpu::kNoKmerAnswer}));
      }
    }
  }
}

TEST_CASE("batches of several slices, one owner's k-mers only, characters that are refused") {
  const Reads known = large_reads(32);
  for (const std::uint32_t k : {31u, 55u}) {
    CAPTURE(k);
    const TemporaryIndex file;
    write_index(file.path(), known, k);
    const index::IndexFile index(file.path());
    const auto cpu = backend::make_cpu_lookup(index),
               mild = backend::make_cpu_lookup(index, {.lenient = true});
    Reads reads(known.begin(), known.begin() + 200);
    reads.push_back("");
    append(reads, {std::string(600000, 'A'), "ACGT", std::string(5000, 'C')});
    for (const std::vector<int>& gpus : sets_of_gpus()) {
      CAPTURE(gpus.size());
      const auto lookup = in_parts(index, gpus);
      CHECK(lookup->callers(1) == 1);
      CHECK(check_same(*cpu, *lookup, reads).found > 500000);
      check_same(*cpu, *lookup, {});
      CHECK_THROWS_AS(check_same(*cpu, *lookup, {"", "ACGJ", "@"}), InputError);
      check_same(*cpu, *lookup, known);  // and goes on after a refusal
      check_same(*mild, *in_parts(index, gpus, 0, true), {"", std::string(70000, 'G') + "J@", "\xFF"});
    }
  }
}

TEST_CASE("several GPUs: text that is cut into more runs than there is room for") {
  for (const std::uint32_t k : {31u, 40u}) {
    CAPTURE(k);
    const std::string text = restless_text(100000, k);
    Reads known = large_reads(33);
    append(known, {text.substr(1000, 60000), text.substr(50000)});
    const TemporaryIndex file;
    write_index(file.path(), known, k);
    const index::IndexFile index(file.path());
    const auto cpu = backend::make_cpu_lookup(index);
    for (const std::vector<int>& gpus : sets_of_gpus())
      CHECK(check_same(*cpu, *in_parts(index, gpus), {text, "N" + text, text.substr(70000)}).found > 200000);
  }
}

TEST_CASE("several GPUs and several threads, more than have room on the devices") {
  const TemporaryIndex file;
  const Reads known = large_reads(34);
  write_index(file.path(), known, 31);
  const index::IndexFile index(file.path());
  const auto cpu = backend::make_cpu_lookup(index);
  for (const std::vector<int>& gpus : sets_of_gpus()) {
    for (const std::uint64_t more : {0, 1 << 20}) {
      const auto lookup = in_parts(index, gpus, more);
      std::atomic<int> wrong{0};
      std::vector<std::thread> threads;
      for (unsigned t = 0; t < 8; ++t) {
        threads.emplace_back([&, t] {
          for (unsigned i = 0; i < 5; ++i) {
            const io::Batch batch = batch_of(random_reads(1000 * (1 + i), kGenome, i % 2 == 0 ? 34 : t));
            backend::Profile expected, got;
            cpu->profile(batch, expected);
            lookup->profile(batch, got);
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

TEST_CASE("too little memory for the parts of an index, and damage in one") {
  const TemporaryIndex file;
  write_index(file.path(), large_reads(35), 31);
  const std::vector<int> gpus(2, gpu_under_test().ordinal);
  {
    const index::IndexFile index(file.path());
    const std::uint64_t least = memory_for_parts(index, gpus, 0);
    try {
      (void)gpu::make_lookup_within(index, {.may_page = false}, gpus, {least - 1, least - 1});
      FAIL_CHECK("it was accepted");
    } catch (const ResourceError& error) {
      CHECK(std::string(error.what()).find(" MiB of each GPU's memory, and --device-memory allows ") !=
            std::string::npos);
    }
    // With so little, shards take turns.
    CHECK(gpu::make_lookup_within(index, {}, gpus, {least - 1, least - 1})->callers(1) > 1);
  }
  std::fstream stream(file.path(), std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(64 + 1000);
  stream.put('\x55').put('\xAA').put('\x55');
  stream.close();
  const index::IndexFile index(file.path());
  CHECK_THROWS_AS(in_parts(index, gpus), InputError);
  CHECK_THROWS_AS((void)backend::make_cuda_lookup(index, {}, {gpus}), InputError);
}

}  // namespace
