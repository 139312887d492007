// Times a live table on one GPU or several: the k-mers of reads in pinned host memory are added, asked for,
// and both side by side, with copies under way while others are served. Prints a line. Or one that is larger
// than the memory of its GPUs, and how much of their links it uses. See docs/results.md.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/thread_team.h"
#include "command_line.h"
#include "io/text/batch.h"
#include "kernels/live/divided_kmers.cuh"
#include "kernels/live/paged_kmers.cuh"
#include "kernels/memory/current_device.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/text/cut.cuh"
#include "kmer/minimizer.h"
#include "kmer/ownership.h"

namespace {

using namespace warpmer;
using namespace warpmer::gpu;

constexpr std::uint32_t kReadBases = 150;
constexpr std::uint32_t kReadBytes = kReadBases + 1;

struct Options {
  double genome = 1e8;
  double reads = 1e7;
  double table_gb = 16;
  double host_gb = 64;
  std::string scheme = "warpdrive";
  std::uint32_t k = 31;
  std::uint32_t streams = 6;
  std::uint32_t rounds = 3;
  std::uint32_t devices = 1;
  std::uint32_t text_reads = 32768;

  [[nodiscard]] std::uint32_t text_bytes() const { return text_reads * kReadBytes; }
};

/// Reads of a random genome, in pinned memory.
PinnedArray<char> make_reads(const Options& options) {
  const auto genome_bases = static_cast<std::size_t>(options.genome);
  std::mt19937_64 random(1);
  std::string genome(genome_bases, 'A');
  for (std::size_t i = 0; i < genome_bases; i += 32) {
    std::uint64_t bits = random();
    for (std::size_t j = i; j < std::min(i + 32, genome_bases); ++j, bits >>= 2) genome[j] = "ACGT"[bits & 3];
  }
  const auto texts = static_cast<std::size_t>(options.reads / options.text_reads) + 1;
  PinnedArray<char> reads(texts * options.text_bytes());
  for (char* to = reads.data(); to != reads.data() + reads.size(); to += kReadBytes) {
    const std::size_t begin = random() % (genome_bases - kReadBases);
    std::copy_n(genome.data() + begin, kReadBases, to);
    to[kReadBases] = '\n';
  }
  return reads;
}

/// A text on its way, in the memory of a GPU.
struct TextSlot {
  explicit TextSlot(std::uint32_t bytes)
      : text(text_room(bytes)), answers(std::size_t{tiles_of(bytes)} * kTileStarts) {
    fill_bytes(text.data(), 0, text.size(), stream);
    reset_status(status.data(), stream);
  }
  DeviceArray<char> text;
  DeviceArray<std::uint32_t> answers;
  DeviceArray<CutStatus> status{1};
  Stream stream;
};

/// Returns CUDA's numbers of so many devices; where there are fewer, a GPU acts as several.
std::vector<int> gpus_for(std::uint32_t devices) {
  int count = 0;
  check(cudaGetDeviceCount(&count), "asking for GPUs");
  std::vector<int> gpus;
  for (std::uint32_t i = 0; i < devices; ++i) gpus.push_back(static_cast<int>(i) % count);
  return gpus;
}

backend::LiveScheme scheme_of(const std::string& name) {
  if (name == "warpdrive") return backend::LiveScheme::warpdrive;
  if (name == "slab") return backend::LiveScheme::slab;
  throw UsageError("--table must be warpdrive, slab or starfish, not '" + name + "'");
}

template <class Key>
class LiveBench {
 public:
  explicit LiveBench(const Options& options)
      : options_(options),
        gpus_(gpus_for(options.devices)),
        reads_(make_reads(options)),
        table_(gpus_, scheme_of(options.scheme), static_cast<std::uint64_t>(options.table_gb * 1e9),
               {options.k, true}, tiles_of(options.text_bytes()) * kTileStarts) {
    for (std::uint32_t i = 0; i < options.devices * options.streams; ++i)
      slots_.emplace_back(gpus_[i % options.devices], options.text_bytes());
  }

  void run() {
    const double fresh = time([](std::size_t) { return LiveAction::insert; });
    const double again = median([&] { return time([](std::size_t) { return LiveAction::insert; }); });
    const double ask = median([&] { return time([](std::size_t) { return LiveAction::ask; }); });
    const double both = median([&] {
      return time([&](std::size_t text) {
        return text / options_.devices % 2 == 0 ? LiveAction::insert : LiveAction::ask;
      });
    });
    const double remove = time([](std::size_t) { return LiveAction::remove; });
    const auto rate = [&](double seconds) { return kmers() / seconds / 1e9; };
    std::printf("%3u %4u %9.0f %9.3f %8.2f %8.2f %8.2f %8.2f %8.2f %8.1f\n", options_.k, options_.devices,
                options_.genome / 1e6, kmers() / 1e9, rate(fresh), rate(again), rate(ask), rate(both),
                rate(remove), static_cast<double>(reads_.size()) / ask / 1e9);
  }

 private:
  [[nodiscard]] double kmers() const {
    return static_cast<double>(reads_.size() / kReadBytes) * (kReadBases - options_.k + 1);
  }

  template <class Run>
  double median(const Run& run) const {
    std::vector<double> seconds;
    for (std::uint32_t i = 0; i < options_.rounds; ++i) seconds.push_back(run());
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }

  void wait_for_all() const {
    for (const int gpu : gpus_) {
      const CurrentDevice current(gpu);
      check(cudaDeviceSynchronize(), "serving");
    }
  }

  /// Brings all texts, each with its action; seconds from the first copy to the last answer. Slots take
  /// turns, and a thread brings what goes through one.
  template <class ActionOf>
  double time(const ActionOf& action_of) {
    wait_for_all();
    const auto begin = std::chrono::steady_clock::now();
    const std::uint32_t bytes = options_.text_bytes();
    const std::size_t texts = reads_.size() / bytes;
    run_team(
        static_cast<unsigned>(slots_.size()),
        [&](unsigned number) {
          const std::uint32_t device = number % options_.devices;
          const CurrentDevice current(gpus_[device]);
          const TextSlot& slot = *slots_[number];
          for (std::size_t text = number; text < texts; text += slots_.size()) {
            copy_to_device(slot.text.data(), reads_.data() + text * bytes, bytes, slot.stream);
            table_.texts(device, action_of(text))
                .look_up(slot.text.data(), bytes, bytes, slot.answers.data(), slot.status.data(),
                         slot.stream);
          }
        },
        [] {});
    wait_for_all();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  const Options options_;
  const std::vector<int> gpus_;
  const PinnedArray<char> reads_;
  const DividedKmers<Key> table_;
  std::vector<OnOneDevice<TextSlot>> slots_;
};

/// Bytes that cross the link of a GPU in each direction in a second, when both are used at once.
double link_rate() {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  const PinnedArray<char> from(kBytes), to(kBytes);
  const DeviceArray<char> there(kBytes), back(kBytes);
  const Stream up, down;
  double best = 0;
  for (int round = 0; round < 4; ++round) {
    check(cudaDeviceSynchronize(), "copying");
    const auto begin = std::chrono::steady_clock::now();
    copy_to_device(there.data(), from.data(), kBytes, up);
    copy_to_host(to.data(), back.data(), kBytes, down);
    check(cudaDeviceSynchronize(), "copying");
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, static_cast<double>(kBytes) / seconds.count());
  }
  return best;
}

/// One GPU's part of a table that is larger than its memory.
template <class Key>
class PagedPart {
 public:
  PagedPart(const Options& options, const PagedKmersPlan& plan)
      : text_bytes_(options.text_bytes()), table_(plan) {}

  void add_all(const std::vector<io::Batch>& batches) {
    using LiveRoom = typename PagedKmers<Key>::LiveRoom;
    for (const io::Batch& batch : batches) {
      const auto has_room = [&] { return table_.collect(batch) && table_.room() == LiveRoom::enough; };
      if (!has_room()) {
        table_.serve();
        if (!has_room()) throw ResourceError("the table is full; raise --host-gb");
      }
      table_.commit();
    }
    table_.serve();
  }
  /// Asks for as many batches together as the table can.
  void ask_all(const std::vector<io::Batch>& batches) {
    const std::size_t together = std::min(batches.size(), table_.most_together() / text_bytes_);
    questions_.resize(std::max<std::size_t>(1, together));
    for (std::size_t at = 0; at < batches.size();) {
      std::vector<PagedQuestion<Key>*> some;
      for (PagedQuestion<Key>& question : questions_) {
        if (at == batches.size()) break;
        question.batch = &batches[at++];
        question.answers.resize(text_bytes_);
        some.push_back(&question);
      }
      table_.ask(some);
    }
  }

  [[nodiscard]] const PagedKmers<Key>& table() const { return table_; }

 private:
  const std::uint32_t text_bytes_;
  PagedKmers<Key> table_;
  std::vector<PagedQuestion<Key>> questions_;
};

/// A table that is larger than the memory of its GPUs, each of which has some of the shards and gets all
/// texts: what is done to it, and what share of the time the children and texts that are moved would take if
/// nothing were done but that.
template <class Key>
class PagedBench {
 public:
  explicit PagedBench(const Options& options)
      : options_(options), gpus_(gpus_for(options.devices)), batches_(batches_of(make_reads(options))) {
    std::vector<double> links(gpus_.size());
    on_all([&](unsigned owner) { links[owner] = link_rate(); });
    link_ = *std::min_element(links.begin(), links.end());
    constexpr std::uint32_t kShards = 1u << kShardBits;
    for (std::uint32_t owner = 0; owner < options.devices; ++owner) {
      parts_.emplace_back(
          gpus_[owner], options,
          PagedKmersPlan{.kmers = {options.k, true},
                         .shards = {first_shard_of(owner, options.devices, kShards),
                                    first_shard_of(owner + 1, options.devices, kShards)},
                         .device_bytes = static_cast<std::uint64_t>(options.table_gb * 1e9),
                         .host_bytes = static_cast<std::uint64_t>(options.host_gb * 1e9 / options.devices)});
    }
  }

  void run() {
    std::printf("link: %.1f GB/s each way, both used at once%s\n", link_ / 1e9,
                gpus_.size() > 1 ? ", by all GPUs" : "");
    std::printf("%3s %4s %9s %9s %9s %9s %9s %9s %9s %6s\n", "k", "GPUs", "action", "G k-mers", "s", "G/s",
                "table GB", "GB up", "GB down", "share");
    const auto add = [this](PagedPart<Key>& part) { part.add_all(batches_); };
    measure("new", add);
    for (std::uint32_t i = 0; i < options_.rounds; ++i) measure("again", add);
    for (std::uint32_t i = 0; i < options_.rounds; ++i)
      measure("ask", [this](PagedPart<Key>& part) { part.ask_all(batches_); });
  }

 private:
  /// Reads as batches have them.
  std::vector<io::Batch> batches_of(const PinnedArray<char>& reads) const {
    std::vector<io::Batch> batches(reads.size() / options_.text_bytes());
    for (std::size_t i = 0; i < batches.size(); ++i) {
      batches[i].text.append({reads.data() + i * options_.text_bytes(), options_.text_bytes()});
      for (std::uint32_t read = 0; read < options_.text_reads; ++read)
        batches[i].pieces.push_back({.record = read + 1, .offset = read * kReadBytes, .length = kReadBases});
    }
    return batches;
  }
  [[nodiscard]] double text_bytes() const {
    return static_cast<double>(batches_.size()) * options_.text_bytes();
  }

  /// Calls `work(owner)` for all GPUs, side by side.
  template <class Work>
  void on_all(const Work& work) const {
    run_team(
        options_.devices,
        [&](unsigned owner) {
          const CurrentDevice current(gpus_[owner]);
          work(owner);
        },
        [] {});
  }

  template <class Work>
  void measure(const char* action, const Work& work) {
    std::vector<table::PagingCounts> before;
    for (const auto& part : parts_) before.push_back(part->table().paging());
    const auto begin = std::chrono::steady_clock::now();
    on_all([&](unsigned owner) { work(*parts_[owner]); });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    double up = 0, down = 0, most = 0, table_bytes = 0;
    for (std::size_t owner = 0; owner < parts_.size(); ++owner) {
      const PagedKmers<Key>& table = parts_[owner]->table();
      const double fetched =
          static_cast<double>(table.paging().fetched_bytes - before[owner].fetched_bytes) + text_bytes();
      const auto written = static_cast<double>(table.paging().written_bytes - before[owner].written_bytes);
      up += fetched;
      down += written;
      most = std::max({most, fetched, written});
      table_bytes += static_cast<double>(table.host_bytes());
    }
    const double kmers = text_bytes() / kReadBytes * (kReadBases - options_.k + 1);
    std::printf("%3u %4u %9s %9.3f %9.2f %9.3f %9.2f %9.1f %9.1f %6.2f\n", options_.k, options_.devices,
                action, kmers / 1e9, seconds.count(), kmers / seconds.count() / 1e9, table_bytes / 1e9,
                up / 1e9, down / 1e9, most / link_ / seconds.count());
  }

  const Options options_;
  const std::vector<int> gpus_;
  const std::vector<io::Batch> batches_;
  double link_ = 0;  ///< of the slowest
  std::vector<OnOneDevice<PagedPart<Key>>> parts_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::CommandLine line("Times a live table on one GPU or several.");
  line.add_option("--genome", options.genome, "bases of the genome");
  line.add_option("--reads", options.reads, "reads of 150 bases");
  line.add_option("--table", options.scheme, "warpdrive, slab or starfish");
  line.add_option("--gb", options.table_gb, "GB of the table on each GPU");
  line.add_option("--host-gb", options.host_gb, "GB of host memory for a table of starfish, on all GPUs");
  line.add_option("-k", options.k, "length of k-mers", 13, 64);
  line.add_option("--streams", options.streams, "texts of each GPU that are under way", 1);
  line.add_option("--text", options.text_reads, "reads of a text", 1, 100000);
  line.add_option("--devices", options.devices, "GPUs that have the table together", 1, 64);
  line.add_option("--rounds", options.rounds, "rounds, of which the median is taken");
  if (const std::optional<int> status = line.parse(argc, argv)) return *status;
  try {
    if (options.scheme == "starfish") {
      with_key_type(options.k, [&]<class Key>(Key) { PagedBench<Key>(options).run(); });
      return 0;
    }
    std::printf("%3s %4s %9s %9s %8s %8s %8s %8s %8s %8s\n", "k", "GPUs", "Mbp", "G k-mers", "new", "again",
                "ask", "both", "remove", "GB/s");
    with_key_type(options.k, [&]<class Key>(Key) { LiveBench<Key>(options).run(); });
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "device_live: %s\n", error.what());
    return 4;
  }
}
