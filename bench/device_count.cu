// Times the work of GPUs by themselves: from reads made on the device, as ASCII in device memory or in pinned
// host memory, to frozen shards in device memory. Prints a table. See docs/results.md.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/thread_team.h"
#include "command_line.h"
#include "kernels/exchange/peers.cuh"
#include "kernels/freeze/frozen_chunk.cuh"
#include "kernels/session/device_counter.cuh"
#include "kernels/text/text_packing.cuh"

namespace {

using namespace warpmer;
using namespace warpmer::gpu;

__host__ __device__ std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// Reads of a genome that is a function of the position, each followed by a separator.
__global__ void make_reads_kernel(char* text, std::uint64_t first_read, std::uint32_t reads,
                                  std::uint32_t length, std::uint64_t genome, std::uint32_t errors_per_2_32) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
  const std::uint64_t line = length + 1, read = i / line, at = i % line;
  if (read >= reads) return;
  if (at == length) {
    text[i] = kSeparator;
    return;
  }
  const std::uint64_t number = mixed(first_read + read + 0x1234567);
  const std::uint64_t start = number % (genome - length);
  const bool reverse = (number >> 63) != 0;
  const std::uint64_t position = reverse ? start + length - 1 - at : start + at;
  auto base = static_cast<std::uint32_t>(mixed(position * 0x9E3779B97F4A7C15u + 99) >> 62);
  if (reverse) base = 3 - base;
  const std::uint64_t error = mixed((first_read * line + i) ^ 0xABCDEF0123u);
  if (static_cast<std::uint32_t>(error) < errors_per_2_32) base = (base + 1 + (error >> 40) % 3) & 3;
  text[i] = "ACGT"[base];
}

struct Options {
  double genome = 100e6, error_rate = 0.005, reads = 7e6;
  std::uint32_t k = 31, length = 150, rounds = 5, gpus = 1;
  bool host = false;
  double memory_gb = 100, spill_gb = 64;
  std::uint32_t spill_threads = 8;
  std::string directory = ".";
  DeviceTuning tuning;
  bool separate_bins = false;
  std::string table = "auto";
};

/// The reads of one GPU: in its memory, or in the host's.
struct Reads {
  std::vector<DeviceArray<char>> texts;
  std::vector<PinnedArray<char>> host_texts;
  std::vector<std::uint32_t> bytes;
};

/// Texts of a GPU one after another in its memory; those from the host are copied while the one before is
/// cut.
class TextSource {
 public:
  explicit TextSource(const Reads& reads) : reads_(reads) {
    if (reads.host_texts.empty()) return;
    for (auto& slot : slots_)
      slot.reserve(text_room(*std::max_element(reads.bytes.begin(), reads.bytes.end())));
    fetch(0);
  }

  /// Text `i`, complete in the order of the stream. The one before `i` has been cut.
  const char* text(std::size_t i, cudaStream_t stream) {
    if (reads_.host_texts.empty()) return reads_.texts[i].data();
    check(cudaStreamWaitEvent(stream, copied_[i % 2]), "ordering streams");
    if (i + 1 < reads_.bytes.size()) fetch(i + 1);
    return slots_[i % 2].data();
  }

 private:
  void fetch(std::size_t i) {
    copy_to_device(slots_[i % 2].data(), reads_.host_texts[i].data(), reads_.bytes[i], copies_);
    copied_[i % 2].record(copies_);
  }

  const Reads& reads_;
  DeviceArray<char> slots_[2];
  Stream copies_;
  Event copied_[2];
};

struct Round {
  double seconds;
  DeviceTimes times;  ///< times of all GPUs together
  backend::Tally tally;
  SpillTotals spilled;
  double input_seconds = 0;  ///< part of all seconds until everything was cut
  std::uint64_t early_counts = 0;
};

/// Counts a GPU's reads, with the GPU current.
void feed(DeviceCounter& counter, const Reads& reads) {
  const cudaStream_t stream = counter.stream();
  const std::uint32_t most_tiles = tiles_of(*std::max_element(reads.bytes.begin(), reads.bytes.end())) + 1;
  DeviceArray<std::uint32_t> left[2] = {DeviceArray<std::uint32_t>(most_tiles),
                                        DeviceArray<std::uint32_t>(most_tiles)};
  DeviceArray<CutStatus> status(1);
  PinnedArray<CutStatus> result(1);
  TextSource source(reads);
  for (std::size_t i = 0; i < reads.bytes.size(); ++i) {
    const char* const text = source.text(i, stream);
    const std::uint32_t* tiles = nullptr;
    for (std::uint32_t tile_count = tiles_of(reads.bytes[i]); tile_count > 0;) {
      reset_status(status.data(), stream);
      counter.add(text, reads.bytes[i], tiles, tile_count, left[0].data(), status.data());
      copy_to_host(result.data(), status.data(), 1, stream);
      check(cudaStreamSynchronize(stream), "cutting");
      tile_count = result[0].tiles_left;
      if (tile_count > 0 || counter.wants_room(result[0].fullest)) counter.make_room();
      std::swap(left[0], left[1]);
      tiles = left[1].data();
    }
  }
  counter.end_of_input();
}

/// Leaves frozen chunks on the device.
class LeftChunks : public ChunkSink {
 public:
  void put(FrozenChunk&& /*chunk*/) override {}
  void wait_for(std::uint32_t /*first_shard*/) override {}
};

Round run(const Options& options, Peers& peers, const std::vector<Reads>& reads) {
  DeviceCountPlan plan;
  plan.kmers.k = options.k;
  plan.memory_bytes = static_cast<std::uint64_t>(options.memory_gb * 1e9);
  plan.expected_kmers =
      static_cast<std::uint64_t>(options.reads) * options.gpus * (options.length - options.k + 1);
  plan.tuning = options.tuning;
  plan.tuning.joins_bins = !options.separate_bins;
  plan.table = backend::count_table_named(options.table);
  plan.spill.host_bytes = static_cast<std::uint64_t>(options.spill_gb * 1e9) / options.gpus;
  plan.spill.place.directory = options.directory;
  plan.spill.threads = options.spill_threads;
  std::vector<std::unique_ptr<DeviceCounter>> counters;
  if (peers.size() == 1) {
    counters.push_back(make_device_counter(plan));
  } else {
    counters = make_device_counters(plan, std::make_unique<PeerCarrier>(peers));
  }
  for (std::uint32_t i = 0; i < peers.size(); ++i) {
    const CurrentDevice current(peers.gpu(i));
    check(cudaDeviceSynchronize(), "preparing");
  }
  const auto on_each = [&](auto&& work) {
    run_team(
        peers.size(),
        [&](unsigned number) {
          check(cudaSetDevice(peers.gpu(number)), "choosing a GPU");
          work(number);
        },
        [] {});
  };
  const auto begin = std::chrono::steady_clock::now();
  on_each([&](unsigned number) { feed(*counters[number], reads[number]); });
  const std::chrono::duration<double> input_seconds = std::chrono::steady_clock::now() - begin;
  on_each([&](unsigned number) {
    LeftChunks chunks;
    counters[number]->finish(chunks);
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  Round round{seconds.count(), {}, backend::Tally(), {}, input_seconds.count()};
  for (std::uint32_t i = 0; i < peers.size(); ++i) {
    const CurrentDevice current(peers.gpu(i));
    counters[i]->add_to(round.tally);
    round.times.add(counters[i]->times());
    round.spilled.add(counters[i]->spilled());
    round.early_counts += counters[i]->early_counts();
    counters[i].reset();
  }
  return round;
}

/// Reads for GPU `number`, which is current; no two GPUs have the same.
Reads make_reads(const Options& options, std::uint32_t number) {
  // From the host in pieces so small that the first is soon there.
  const std::uint32_t reads_per_text = options.host ? 1u << 17 : 1u << 20;
  Reads made;
  const auto all = static_cast<std::uint64_t>(options.reads);
  for (std::uint64_t first = 0; first < all; first += reads_per_text) {
    const auto reads = static_cast<std::uint32_t>(std::min<std::uint64_t>(reads_per_text, all - first));
    const std::uint32_t n = reads * (options.length + 1);
    made.texts.emplace_back(text_room(n));
    made.bytes.push_back(n);
    make_reads_kernel<<<(n + 255) / 256, 256>>>(
        made.texts.back().data(), number * all + first, reads, options.length,
        static_cast<std::uint64_t>(options.genome) * options.gpus,
        static_cast<std::uint32_t>(options.error_rate * 4294967296.0));
    check_launch("making reads");
  }
  check(cudaDeviceSynchronize(), "making reads");
  if (!options.host) return made;
  for (std::size_t i = 0; i < made.bytes.size(); ++i) {
    made.host_texts.emplace_back(made.bytes[i]);
    check(cudaMemcpy(made.host_texts[i].data(), made.texts[i].data(), made.bytes[i], cudaMemcpyDeviceToHost),
          "taking reads to the host");
  }
  made.texts.clear();
  return made;
}

/// Prints the bytes that did not fit the devices, and their speed: rates are all bytes moved by wall time.
void print_spilled(const Round& round) {
  const SpillTotals& moved = round.spilled;
  if (round.early_counts > 0)
    std::printf("     counted early %llu times\n", (unsigned long long)round.early_counts);
  if (moved.to_host + moved.to_file == 0) return;
  const auto gb = [](std::uint64_t bytes) { return static_cast<double>(bytes) / 1e9; };
  const double out = gb(moved.to_host + moved.to_file), back = gb(moved.from_host + moved.from_file);
  const double last = round.seconds - round.input_seconds;
  std::printf(
      "     spilled %.3f GB to host memory, %.3f to files; reading %.1f ms (%.1f GB/s out), counting %.1f ms "
      "(%.1f GB/s back)\n",
      gb(moved.to_host), gb(moved.to_file), round.input_seconds * 1e3, out / round.input_seconds, last * 1e3,
      back / last);
}

int measure(const Options& options) {
  std::vector<int> gpus(options.gpus);
  std::iota(gpus.begin(), gpus.end(), 0);
  Peers peers(gpus);
  std::vector<Reads> reads;
  for (std::uint32_t i = 0; i < peers.size(); ++i) {
    const CurrentDevice current(peers.gpu(i));
    reads.push_back(make_reads(options, i));
  }
  std::vector<Round> rounds;
  for (std::uint32_t r = 0; r < options.rounds + 1; ++r) {
    Round round = run(options, peers, reads);
    if (r > 0) rounds.push_back(std::move(round));  // the first warms up
  }
  std::sort(rounds.begin(), rounds.end(),
            [](const Round& a, const Round& b) { return a.seconds < b.seconds; });
  const Round& median = rounds[rounds.size() / 2];
  const index::Totals totals = median.tally.totals();
  const auto kmers = static_cast<double>(totals.counted_kmers);
  const DeviceTimes& t = median.times;
  const double ms = 1e3 / options.gpus;  // of stages, the mean over GPUs
  const double other = 1e3 * median.seconds - ms * (t.cut + t.split + t.count_and_freeze);
  std::printf("%4u %8.0fM %5.2f%% %3u %8.3f %8.3f %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f %8.2f\n",
              options.gpus, options.genome * options.gpus / 1e6, options.error_rate * 100, options.k,
              kmers / 1e9, static_cast<double>(totals.counted_distinct) / 1e9, ms * t.cut, ms * t.split,
              ms * t.exchange, ms * t.count, ms * t.freeze, ms * t.count_and_freeze, other,
              median.seconds * 1e3, kmers / median.seconds / 1e9);
  print_spilled(median);
  std::fflush(stdout);
  for (std::uint32_t i = 0; i < peers.size(); ++i) {
    const CurrentDevice current(peers.gpu(i));
    reads[i].texts.clear();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("Counts reads made on GPUs, from ASCII in device memory to frozen shards.");
  Options options;
  std::vector<std::string> cases;
  line.add_option("--gpus", options.gpus,
                  "GPUs, the first ones; genome and reads are those of each, weak scaling");
  line.add_flag("--host", options.host, "reads are in pinned host memory and are copied to the GPUs");
  line.add_option("--genome", options.genome, "bases of the made-up genome");
  line.add_option("--error-rate", options.error_rate, "substitutions per base");
  line.add_option("--reads", options.reads, "reads");
  line.add_option("-l,--read-length", options.length, "bases of a read");
  line.add_option("-k", options.k, "length of the k-mers, 13 to 64");
  line.add_option("--rounds", options.rounds, "of which the median is printed, after one to warm up");
  line.add_option("--memory-gb", options.memory_gb, "device memory to use, 10^9 bytes");
  line.add_option("--spill-gb", options.spill_gb, "host memory for what does not fit, 10^9 bytes");
  line.add_option("--spill-threads", options.spill_threads, "of each GPU, that copy it");
  line.add_option("--tmp-dir", options.directory, "of a file for the rest");
  line.add_option("--kmers-per-bin", options.tuning.kmers_per_bin,
                  "occurrences in a bin, at most about; from k = 33 on half as many");
  line.add_option("--load", options.tuning.load, "of tables");
  line.add_flag("--separate-bins", options.separate_bins,
                "each bin is counted by itself, however few different k-mers it has");
  line.add_option("--table", options.table, "what bins are counted in: " + backend::count_table_names(", "));
  line.add_list("--case", cases, ' ',
                "GENOME,ERROR_RATE,K: one line of the table each, instead of the three options");
  if (const std::optional<int> status = line.parse(argc, argv)) return *status;
  try {
    std::printf("%4s %9s %6s %3s %8s %8s %7s %7s %7s %7s %7s %7s %7s %7s %8s\n", "GPUs", "genome", "errors",
                "k", "G k-mers", "G dist.", "cut", "split", "exch.", "count", "freeze", "both", "other",
                "all, ms", "G/s");
    if (cases.empty()) return measure(options);
    for (const std::string& one : cases) {
      if (std::sscanf(one.c_str(), "%lf,%lf,%u", &options.genome, &options.error_rate, &options.k) != 3) {
        std::fprintf(stderr, "device_count: --case %s is not GENOME,ERROR_RATE,K\n", one.c_str());
        return 2;
      }
      measure(options);
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "device_count: %s\n", error.what());
    return 4;
  }
  return 0;
}
