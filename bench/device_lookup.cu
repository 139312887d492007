// Times lookups on the GPU by themselves: in an index that is there, of reads whose text is already there,
// too; answers stay there. Prints a line. With --device-memory the index is paged instead, as if there were
// no more memory, and a line says how many bytes were moved, and what share of the link that is. With
// --gpus several GPUs look up together, in an index that each has, or that they have divided. See
// docs/results.md.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/lookup/paged_lookup_plan.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "command_line.h"
#include "index/index_file.h"
#include "io/input_set.h"
#include "kernels/exchange/peers.cuh"
#include "kernels/lookup/device_index.cuh"
#include "kernels/lookup/paged_index.cuh"
#include "kernels/lookup/routed_index.cuh"
#include "kernels/memory/current_device.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/text/joined_text.cuh"
#include "kernels/upload/frozen_shards.cuh"

namespace {

using namespace warpmer;
using namespace warpmer::gpu;

struct Options {
  std::string index;
  std::vector<std::string> reads;
  std::uint32_t rounds = 5;
  double least_kmers = 2e9;
  std::vector<double> paged_gb;
  std::vector<double> gpus;
  std::uint32_t threads = 8;
  std::vector<std::string> forms = {"copied", "remote", "routed", "routed-host"};
};

/// Text of some batches, joined, on the device.
struct Text {
  DeviceArray<char> characters;
  std::uint32_t bytes;
};

/// All reads, in texts of so many bytes at least, if there are so many.
std::vector<Text> load_texts(const Options& options, std::uint32_t k) {
  constexpr std::size_t kTextBytes = std::size_t{64} << 20;
  io::InputOptions input_options;
  input_options.overlap_bases = k - 1;
  io::InputSet inputs(options.reads, input_options);
  std::vector<Text> texts;
  std::string joined;
  const Stream stream;
  const auto send = [&] {
    if (joined.empty()) return;
    Text text{DeviceArray<char>(text_room(joined.size())), static_cast<std::uint32_t>(joined.size())};
    fill_bytes(text.characters.data(), 0, text.characters.size(), stream);
    copy_to_device(text.characters.data(), joined.data(), joined.size(), stream);
    stream.wait();
    texts.push_back(std::move(text));
    joined.clear();
  };
  for (io::Batch batch; inputs.next(batch);) {
    const std::uint64_t bytes = joined_bytes(batch);
    if (bytes == 0) continue;
    joined.resize(joined.size() + bytes);
    join(batch, {}, 0, bytes, joined.data() + (joined.size() - bytes));
    if (joined.size() >= kTextBytes) send();
  }
  send();
  return texts;
}

/// The sums of the answers to all texts, which are equal for all forms of an index.
struct Answers {
  unsigned long long kmers, found, sum;
  bool operator==(const Answers&) const = default;
};

__global__ void add_up_kernel(const std::uint32_t* answers, std::uint32_t n, Answers* total) {
  unsigned long long kmers = 0, found = 0, sum = 0;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (answers[i] == kNoKmerAnswer) continue;
    ++kmers;
    found += answers[i] > 0 ? 1 : 0;
    sum += static_cast<unsigned long long>(answers[i]) * (i % 1021 + 1);
  }
  atomicAdd(&total->kmers, kmers);
  atomicAdd(&total->found, found);
  atomicAdd(&total->sum, sum);
}

class Bench {
 public:
  Bench(const index::IndexFile& index, const std::vector<Text>& texts, std::uint32_t rounds)
      : index_(index), texts_(texts), rounds_(rounds), answers_(room_for_answers(texts)), status_(1) {
    reset_status(status_.data(), stream_);
  }

  /// Prints a line.
  void run(std::uint64_t least_kmers) {
    const auto begin = std::chrono::steady_clock::now();
    const auto form = load_index(index_);
    check(cudaDeviceSynchronize(), "loading an index");
    const double loading = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const Answers once = add_up(*form);
    const std::uint64_t repeats = 1 + least_kmers / std::max(once.kmers, 1ull);
    std::vector<double> seconds;
    for (std::uint32_t r = 0; r < rounds_; ++r) seconds.push_back(time(*form, repeats));
    std::sort(seconds.begin(), seconds.end());
    const double median = seconds[seconds.size() / 2] / static_cast<double>(repeats);
    std::printf("%9.1f %9.2f %9.3f %9.3f %7.1f %12llu %9.2f\n",
                static_cast<double>(index_.totals().stored_distinct) / 1e6,
                static_cast<double>(frozen_shards_bytes(index_)) /
                    static_cast<double>(std::max<std::uint64_t>(index_.totals().stored_distinct, 1)),
                loading, static_cast<double>(once.kmers) / 1e9,
                100.0 * static_cast<double>(once.found) / static_cast<double>(std::max(once.kmers, 1ull)),
                once.sum, static_cast<double>(once.kmers) / median / 1e9);
    std::fflush(stdout);
  }

 private:
  static std::size_t room_for_answers(const std::vector<Text>& texts) {
    std::uint32_t most = 1;
    for (const Text& text : texts) most = std::max(most, tiles_of(text.bytes));
    return std::size_t{most} * kTileStarts;
  }

  void look_up(const DeviceIndex& form, const Text& text) {
    form.look_up(text.characters.data(), text.bytes, text.bytes, answers_.data(), status_.data(), stream_);
  }
  /// Also warms up.
  Answers add_up(const DeviceIndex& form) {
    const DeviceArray<Answers> total(1);
    fill_bytes(total.data(), 0, 1, stream_);
    for (const Text& text : texts_) {
      look_up(form, text);
      add_up_kernel<<<1024, 256, 0, stream_>>>(answers_.data(), text.bytes, total.data());
    }
    const PinnedArray<Answers> result(1);
    copy_to_host(result.data(), total.data(), 1, stream_);
    stream_.wait();
    return result[0];
  }
  double time(const DeviceIndex& form, std::uint64_t repeats) {
    const Event begin(Event::Kind::timing), end(Event::Kind::timing);
    begin.record(stream_);
    for (std::uint64_t i = 0; i < repeats; ++i) {
      for (const Text& text : texts_) look_up(form, text);
    }
    end.record(stream_);
    end.wait();
    return end.seconds_since(begin);
  }

  const index::IndexFile& index_;
  const std::vector<Text>& texts_;
  std::uint32_t rounds_;
  DeviceArray<std::uint32_t> answers_;
  DeviceArray<CutStatus> status_;
  Stream stream_;
};

constexpr double kLinkBytesPerSecond = 55e9;  // host to device, of an H200

/// An index whose shards take turns in so much memory, asked for all texts at once, a thread each.
class PagedBench {
 public:
  PagedBench(const index::IndexFile& index, const std::vector<Text>& texts, std::uint64_t memory_bytes)
      : gpu_(current_gpu()),
        plan_(plan_for(index, texts, memory_bytes)),
        paged_(page_index(index, plan_, pages_to_pin(index))),
        all_(texts.begin(), texts.end()) {
    // Checks the shards, which is done once, and pins them.
    for (int round = 0; round < 3; ++round) ask_all(all_.size(), UINT32_MAX, 1);
  }

  /// Prints what the children's coming takes when hardly anything is asked, and then with all texts.
  Answers run(std::uint64_t memory_bytes, std::uint32_t rounds) {
    const Measured alone = measure(1, kTileStarts, rounds), all = measure(all_.size(), UINT32_MAX, rounds);
    const Answers answers = add_up();
    std::printf(
        "paged in %.2f GB: %u children; alone %.1f GB/s; %.3f G k-mers in %.4f s: %.3f G/s, %.2f GB moved, "
        "%.1f GB/s, %.0f %% of the link\n",
        static_cast<double>(memory_bytes) / 1e9, plan_.children(), alone.bytes / alone.seconds / 1e9,
        static_cast<double>(answers.kmers) / 1e9, all.seconds,
        static_cast<double>(answers.kmers) / all.seconds / 1e9, all.bytes / 1e9,
        all.bytes / all.seconds / 1e9, 100 * all.bytes / all.seconds / kLinkBytesPerSecond);
    std::fflush(stdout);
    return answers;
  }

 private:
  struct Asked {
    explicit Asked(const Text& text)
        : text(&text), answers(std::size_t{tiles_of(text.bytes)} * kTileStarts), status(1) {}
    const Text* text;
    DeviceArray<std::uint32_t> answers;
    DeviceArray<CutStatus> status;
    Stream stream;
  };
  /// The figures of a round, as an average of several without a pause.
  struct Measured {
    double seconds, bytes;
  };

  /// All of the memory is the shards'.
  static backend::PagedLookupPlan plan_for(const index::IndexFile& index, const std::vector<Text>& texts,
                                           std::uint64_t memory_bytes) {
    backend::PagedLookupCosts costs = paged_costs(index, 0, 0);
    costs.bytes_per_tile = 1;
    costs.bytes_per_slice = 0;
    backend::PagedLookupPlan plan = backend::plan_paged_lookup(shard_words(index), memory_bytes, costs, 1);
    if (plan.frame_words == 0) throw ResourceError("too little device memory to page this index in");
    plan.slices = static_cast<std::uint32_t>(texts.size());
    plan.slice_starts = 0;
    for (const Text& text : texts)
      plan.slice_starts = std::max(plan.slice_starts, tiles_of(text.bytes) * kTileStarts);
    return plan;
  }

  /// The first `most` starts of the first `texts` texts, each so often, one time after the other.
  void ask_all(std::size_t texts, std::uint32_t most, std::uint32_t times) const {
    run_team(
        static_cast<unsigned>(texts),
        [&](unsigned i) {
          check(cudaSetDevice(gpu_), "choosing a GPU");
          const Asked& one = all_[i];
          reset_status(one.status.data(), one.stream);
          const std::uint32_t bytes = std::min(one.text->bytes, most);
          for (std::uint32_t time = 0; time < times; ++time) {
            paged_->look_up(one.text->characters.data(), bytes, bytes, one.answers.data(), one.status.data(),
                            one.stream);
          }
        },
        [] {});
  }
  [[nodiscard]] Measured measure(std::size_t texts, std::uint32_t most, std::uint32_t rounds) const {
    ask_all(texts, most, 1);
    const std::uint64_t before = paged_->counts().fetched_bytes;
    const auto begin = std::chrono::steady_clock::now();
    ask_all(texts, most, rounds);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    return {seconds.count() / rounds, static_cast<double>(paged_->counts().fetched_bytes - before) / rounds};
  }
  [[nodiscard]] Answers add_up() const {
    const DeviceArray<Answers> total(1);
    const PinnedArray<Answers> result(1);
    const Stream stream;
    fill_bytes(total.data(), 0, 1, stream);
    for (const Asked& one : all_)
      add_up_kernel<<<1024, 256, 0, stream>>>(one.answers.data(), one.text->bytes, total.data());
    copy_to_host(result.data(), total.data(), 1, stream);
    stream.wait();
    return result[0];
  }

  int gpu_;
  backend::PagedLookupPlan plan_;
  std::unique_ptr<PagedIndex> paged_;
  std::vector<Asked> all_;
};

/// An index on several GPUs, each of which has all texts, and asks for them in slices from several threads.
class SeveralBench {
 public:
  SeveralBench(const index::IndexFile& index, const Options& options)
      : index_(index),
        gpus_(options.gpus.begin(), options.gpus.end()),
        peers_(gpus_),
        threads_(options.threads) {
    for (const int gpu : gpus_) {
      const CurrentDevice current(gpu);
      texts_.push_back(load_texts(options, index.params().k));
      for (unsigned i = 0; i < threads_; ++i) askers_.emplace_back(gpu);
    }
    for (const Text& text : texts_.front()) {
      for (std::uint32_t begin = 0; begin < text.bytes; begin += kSliceStarts)
        slices_.push_back({static_cast<std::size_t>(&text - texts_.front().data()), begin});
    }
  }
  ~SeveralBench() {
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const CurrentDevice current(gpus_[i]);
      texts_[i].clear();
    }
  }
  SeveralBench(const SeveralBench&) = delete;
  SeveralBench& operator=(const SeveralBench&) = delete;

  /// Prints a line. Returns what the answers come to.
  Answers run(const std::string& form, const Options& options) {
    const auto begin = std::chrono::steady_clock::now();
    const Form loaded = load(form);
    const std::chrono::duration<double> loading = std::chrono::steady_clock::now() - begin;
    const Answers once = ask(*loaded, 1, true);
    const auto repeats =
        static_cast<std::uint32_t>(1 + options.least_kmers / static_cast<double>(std::max(once.kmers, 1ull)));
    std::vector<double> seconds;
    for (std::uint32_t round = 0; round < options.rounds; ++round) {
      const auto from = std::chrono::steady_clock::now();
      ask(*loaded, repeats, false);
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count());
    }
    std::sort(seconds.begin(), seconds.end());
    const double median = seconds[seconds.size() / 2] / repeats;
    std::printf("%-12s %9zu %9.3f %9.3f %7.1f %9.2f\n", form.c_str(), gpus_.size(), loading.count(),
                static_cast<double>(once.kmers) / 1e9,
                100.0 * static_cast<double>(once.found) / static_cast<double>(std::max(once.kmers, 1ull)),
                static_cast<double>(once.kmers) / median / 1e9);
    std::fflush(stdout);
    return once;
  }

 private:
  static constexpr std::uint32_t kSliceStarts = kMostSliceStarts;

  struct Slice {
    std::size_t text;
    std::uint32_t begin;
  };
  /// The stream and memory with which a thread asks.
  struct Asker {
    Stream stream;
    DeviceArray<std::uint32_t> answers{kSliceStarts};
    DeviceArray<CutStatus> status{1};
    DeviceArray<Answers> total{1};
    PinnedArray<Answers> result{1};
  };
  /// An index as each GPU asks it, which goes while its GPU is current.
  class Forms {
   public:
    explicit Forms(const std::vector<int>& gpus) : gpus_(gpus) {}
    ~Forms() {
      for (std::size_t i = 0; i < forms.size(); ++i) {
        const CurrentDevice current(gpus_[i]);
        forms[i].reset();
      }
    }
    Forms(const Forms&) = delete;
    Forms& operator=(const Forms&) = delete;
    std::vector<std::unique_ptr<DeviceIndex>> forms;

   private:
    const std::vector<int>& gpus_;
  };
  using Form = std::unique_ptr<Forms>;

  Form load(const std::string& form) {
    auto loaded = std::make_unique<Forms>(gpus_);
    std::vector<std::shared_ptr<const FrozenPayloads>> payloads;
    if (form == "copied") {
      payloads = FrozenPayloads::copies(index_, peers_);
    } else {
      payloads.assign(gpus_.size(), std::make_shared<const FrozenPayloads>(index_, gpus_));
    }
    if (form == "routed" || form == "routed-host") {
      const std::uint64_t memory = frozen_shards_bytes(index_, peers_.size()) + (std::uint64_t{4} << 30);
      const RoutedLookupPlan plan = plan_routed_lookup(index_, peers_.size(), memory);
      if (plan.slice_starts < kSliceStarts) throw ResourceError("there is too little memory to route texts");
      loaded->forms = route_index(payloads[0], plan, form == "routed" ? Route::direct : Route::host);
      return loaded;
    }
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const CurrentDevice current(gpus_[i]);
      loaded->forms.push_back(load_index(payloads[i]));
    }
    return loaded;
  }

  /// Everything, so many times.
  Answers ask(const Forms& loaded, std::uint32_t repeats, bool adds_up) {
    run_team(
        static_cast<unsigned>(askers_.size()),
        [&](unsigned thread) {
          const std::size_t gpu = thread / threads_;
          const CurrentDevice current(gpus_[gpu]);
          const Asker& asker = *askers_[thread];
          fill_bytes(asker.total.data(), 0, 1, asker.stream);
          for (std::uint32_t repeat = 0; repeat < repeats; ++repeat) {
            for (std::size_t i = thread % threads_; i < slices_.size(); i += threads_)
              ask_slice(*loaded.forms[gpu], texts_[gpu][slices_[i].text], slices_[i].begin, asker, adds_up);
          }
          copy_to_host(asker.result.data(), asker.total.data(), 1, asker.stream);
          asker.stream.wait();
        },
        [] {});
    Answers all{};
    for (const auto& asker : askers_) {
      all.kmers += asker->result[0].kmers;
      all.found += asker->result[0].found;
      all.sum += asker->result[0].sum;
    }
    return all;
  }
  static void ask_slice(const DeviceIndex& form, const Text& text, std::uint32_t begin, const Asker& asker,
                        bool adds_up) {
    const std::uint32_t starts = std::min(kSliceStarts, text.bytes - begin);
    const std::uint32_t bytes = std::min(starts + kMaxK - 1, text.bytes - begin);
    reset_status(asker.status.data(), asker.stream);
    form.look_up(text.characters.data() + begin, bytes, starts, asker.answers.data(), asker.status.data(),
                 asker.stream);
    if (adds_up)
      add_up_kernel<<<1024, 256, 0, asker.stream>>>(asker.answers.data(), starts, asker.total.data());
  }

  const index::IndexFile& index_;
  std::vector<int> gpus_;
  Peers peers_;
  unsigned threads_;                      ///< threads of a GPU
  std::vector<std::vector<Text>> texts_;  ///< texts of each GPU, the same for all
  std::vector<Slice> slices_;
  std::vector<OnOneDevice<Asker>> askers_;
};

bool all_equal(const std::vector<Answers>& answers) {
  return std::count(answers.begin(), answers.end(), answers.front()) ==
         static_cast<std::ptrdiff_t>(answers.size());
}

int run_several(const index::IndexFile& index, const Options& options) {
  SeveralBench bench(index, options);
  std::printf("%-12s %9s %9s %9s %7s %9s\n", "form", "GPUs", "load, s", "G k-mers", "found %", "G/s");
  std::vector<Answers> answers;
  for (const std::string& form : options.forms) answers.push_back(bench.run(form, options));
  if (all_equal(answers)) return 0;
  std::fprintf(stderr, "device_lookup: the index does not answer alike on several GPUs\n");
  return 5;
}

int run(const Options& options) {
  const index::IndexFile index(options.index);
  if (!options.gpus.empty()) return run_several(index, options);
  const std::vector<Text> texts = load_texts(options, index.params().k);
  if (!options.paged_gb.empty()) {
    std::vector<Answers> answers;
    for (const double gb : options.paged_gb) {
      const auto bytes = static_cast<std::uint64_t>(gb * 1e9);
      answers.push_back(PagedBench(index, texts, bytes).run(bytes, options.rounds));
    }
    if (all_equal(answers)) return 0;
    std::fprintf(stderr, "device_lookup: the same index does not answer alike\n");
    return 5;
  }
  (void)load_index(index);  // checks the shards, which is done once
  std::printf("%9s %9s %9s %9s %7s %12s %9s\n", "M dist.", "bytes", "load, s", "G k-mers", "found %", "sum",
              "G/s");
  Bench(index, texts, options.rounds).run(static_cast<std::uint64_t>(options.least_kmers));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("Looks up reads, whose text is on the GPU, in an index that is there, too.");
  Options options;
  line.add_required("INDEX", options.index, "written by 'warpmer count'");
  line.add_required("READS", options.reads, "any input that warpmer takes");
  line.add_option("--rounds", options.rounds, "of which the median is printed");
  line.add_list("--device-memory", options.paged_gb, ',',
                "GB that shards take turns in, by commas; texts and answers are not counted. Prints "
                "averages of rounds");
  line.add_list("--gpus", options.gpus, ',', "numbers of GPUs that look up together, by commas");
  line.add_option("--threads", options.threads, "with --gpus: that ask on each of them");
  line.add_list("--forms", options.forms, ',',
                "with --gpus: copied (each has all of the index), remote (each has a part, and reads the "
                "others'), routed (k-mers go to the GPU that has theirs), routed-host (through the host)");
  line.add_option("--kmers", options.least_kmers, "lookups in a round, at least");
  if (const std::optional<int> status = line.parse(argc, argv)) return *status;
  try {
    return run(options);
  } catch (const Error& error) {
    std::fprintf(stderr, "device_lookup: %s\n", error.what());
    return 4;
  }
}
