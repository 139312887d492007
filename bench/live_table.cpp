// How fast live tables (src/cpu/live) take k-mers and answer questions, beside lookups in an index:
//
//   live_table INDEX READS.fq|.fa [warpdrive|slab [THREADS]]
//
// Prints, in million k-mers a second of wall time and of CPU time: questions to the index; questions to a
// live table that begins with it, before anything is added; additions of all reads, and of them all again;
// questions then; additions and questions half and half; removals; and additions to a table that begins with
// nothing.

#include "backend/live/live_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/lookup/lookup.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "group_shards.h"
#include "index/index_file.h"
#include "io/text/batch.h"

namespace {

using namespace warpmer;

/// Returns the reads in batches of about a mebibyte.
std::vector<io::Batch> read_batches(const std::string& path) {
  std::vector<io::Batch> batches;
  std::string text;
  std::uint64_t record = 0;
  bench::for_each_stretch(path, [&](const std::vector<std::uint8_t>& codes) {
    if (batches.empty() || batches.back().text.size() >= std::size_t{1} << 20) batches.emplace_back();
    io::Batch& batch = batches.back();
    text.clear();
    for (const std::uint8_t code : codes) text += base_char(code);
    io::Piece piece;
    piece.record = ++record;
    piece.offset = static_cast<std::uint32_t>(batch.text.size());
    piece.length = static_cast<std::uint32_t>(text.size());
    batch.text.append(text);
    batch.pieces.push_back(piece);
  });
  return batches;
}

class Measurements {
 public:
  Measurements(std::vector<io::Batch> batches, std::uint32_t k, unsigned threads)
      : batches_(std::move(batches)), threads_(threads) {
    for (const io::Batch& batch : batches_) {
      for (const io::Piece& piece : batch.pieces) kmers_ += piece.length < k ? 0 : piece.length - k + 1;
    }
  }

  /// Calls `work(batch, number)` for all batches, on all threads, and prints how fast that was.
  void run(std::string_view what, const std::function<void(const io::Batch&, std::size_t)>& work) const {
    std::atomic<std::size_t> next{0};
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t cpu_start = std::clock();
    run_team(
        threads_,
        [&](unsigned) {
          for (std::size_t i; (i = next.fetch_add(1)) < batches_.size();) work(batches_[i], i);
        },
        [&] { next = batches_.size(); });
    const double cpu = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    fmt::print("{:<42} {:7.1f} M/s {:7.1f} M/CPU-s\n", what, static_cast<double>(kmers_) / wall / 1e6,
               static_cast<double>(kmers_) / cpu / 1e6);
  }
  /// Asks for all k-mers.
  void ask(std::string_view what, const backend::Lookup& lookup) const {
    run(what, [&](const io::Batch& batch, std::size_t) {
      thread_local backend::Profile profile;
      lookup.profile(batch, profile);
    });
  }

 private:
  const std::vector<io::Batch> batches_;
  const unsigned threads_;
  std::uint64_t kmers_ = 0;
};

void measure(const index::IndexFile& file, const Measurements& reads, backend::LiveTablePlan plan) {
  const auto lookup = backend::make_cpu_lookup(file, {true, true});
  reads.ask("ask the index, for the first time", *lookup);
  reads.ask("ask the index", *lookup);
  plan.base = &file;
  const auto table = backend::make_cpu_live_table(plan);
  fmt::print("{}\n", table->describe());
  const auto add = [&](backend::LiveTable& to) {
    return [&to](const io::Batch& batch, std::size_t) { to.add(batch, true); };
  };
  const auto held = [](const backend::LiveTable& of) {
    fmt::print("  {} MiB held\n", of.memory_bytes() >> 20);
  };
  reads.ask("ask, nothing added, for the first time", table->lookup(true));
  reads.ask("ask, nothing added", table->lookup(true));
  reads.run("add", add(*table));
  held(*table);
  reads.ask("ask", table->lookup(true));
  reads.run("add again", add(*table));
  held(*table);
  reads.ask("ask", table->lookup(true));
  reads.run("half of the batches added, half asked", [&](const io::Batch& batch, std::size_t i) {
    thread_local backend::Profile profile;
    if (i % 2 == 0) {
      table->add(batch, true);
    } else {
      table->lookup(true).profile(batch, profile);
    }
  });
  reads.run("remove", [&](const io::Batch& batch, std::size_t) { table->remove(batch, true); });
  held(*table);
  plan.base = nullptr;
  const auto empty = backend::make_cpu_live_table(plan);
  reads.run("add to nothing", add(*empty));
  held(*empty);
  reads.ask("ask", empty->lookup(true));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) {
    fmt::print(stderr, "usage: live_table INDEX READS.fq|.fa [warpdrive|slab [THREADS]]\n");
    return 2;
  }
  const index::IndexFile file(argv[1]);
  backend::LiveTablePlan plan;
  plan.kmers = {file.params().k, file.params().canonical};
  plan.memory_bytes = std::uint64_t{1} << 40;
  plan.threads = argc > 4 ? static_cast<unsigned>(std::stoul(argv[4])) : 1;
  plan.scheme = argc > 3 && std::string_view(argv[3]) == "slab" ? backend::LiveScheme::slab
                                                                : backend::LiveScheme::warpdrive;
  measure(file, Measurements(read_batches(argv[2]), file.params().k, plan.threads), plan);
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "live_table: {}\n", error.what());
  return 1;
}
