// Whole index files with anything changed and all checksums right: whatever reads them refuses them by an
// InputError, or gets along with them, and what it then writes is good. Sanitizers see what it must not do.
//
// WARPMER_FUZZ_SECONDS=N goes on for so long, WARPMER_FUZZ_SEED=N with other files, and WARPMER_FUZZ_ROUND=N
// does that round alone. The files of a round that went wrong are kept: in warpmer_index_fuzz, or, where the
// process dies of it, in the scratch folder.
//
// ctest: one thread

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/indexes/entry_text.h"
#include "backend/lookup/lookup.h"
#include "backend/lookup/seen_kmers.h"
#include "base/error.h"
#include "formats/jellyfish/jellyfish_file.h"
#include "formats/kff_file.h"
#include "formats/kmc_database.h"
#include "host/limits.h"
#include "index/index_file.h"
#include "jobs/compare_job.h"
#include "jobs/export_job.h"
#include "jobs/matrix_job.h"
#include "jobs/set_job.h"
#include "jobs/update_job.h"
#include "kmer/alphabet.h"
#include "kmer/minimizer.h"
#include "random_text.h"
#include "refusal.h"
#include "stats/spectrum_model.h"
#include "tier.h"
#include "unit/cpu/one_piece.h"
#include "unit/index/index_file_common.h"
#include "unit/jobs/changed_index.h"
#include "warpmer/warpmer.h"

using namespace warpmer;
using namespace warpmer::tests;
using index::test::read_bytes;
using index::test::says;
using index::test::ScratchFolder;
using index::test::write_bytes;

namespace {

using Clock = std::chrono::steady_clock;

std::optional<std::uint64_t> number_of(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

host::Resources one_thread() { return {.threads = 1, .memory_bytes = std::uint64_t{8} << 30}; }

/// Returns an m-mer that is the minimizer of nearly all that has it.
std::string likely_minimizer(std::uint32_t m, Random& random) {
  std::string best;
  std::uint32_t least = UINT32_MAX;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = random_text(random, m);
    std::uint32_t code = 0, other = 0;
    for (std::uint32_t at = 0; at < m; ++at) {
      const std::uint32_t base = base_code(text[at]);
      code |= base << 2 * at;
      other |= (3 - base) << 2 * (m - 1 - at);
    }
    const std::uint32_t hash = minimizer_hash(std::min(code, other));
    if (hash < least) {
      least = hash;
      best = text;
    }
  }
  return best;
}

/// Reads of a little genome, with errors, one k-mer often, and a large group; as FASTA.
std::string random_reads(std::uint32_t k, Random& random) {
  const std::string genome = random_text(random, 300 + random() % 600);
  std::string reads;
  for (std::uint64_t i = 0; i < 8; ++i) {
    std::string read = genome.substr(random() % 200, 100 + random() % 300);
    if (random() % 2 == 0) read[random() % read.size()] = 'A';
    reads += ">\n" + read + "\n";
  }
  reads += ">\n" + std::string(random() % 3000, 'T') + "\n";
  const std::uint32_t m = minimizer_length(k);
  if (k > m && random() % 2 == 0) {
    const std::string minimizer = likely_minimizer(m, random);
    const std::uint64_t strings = 60 + random() % 60;
    for (std::uint64_t i = 0; i < strings; ++i)
      reads += ">\n" + random_text(random, k - m) + minimizer + random_text(random, k - m) + "\n";
  }
  return reads;
}

/// A good index, another one that shares most of its k-mers, and reads.
struct Base {
  Base(const ScratchFolder& scratch, Random& random)
      : k(static_cast<std::uint32_t>(random() % 6 == 0 ? 1 + random() % 12 : 13 + random() % 52)),
        canonical(random() % 3 != 0),
        reads(random_reads(k, random)),
        good(scratch / "good.wmi"),
        fasta(scratch / "reads.fa") {
    CountOptions options;
    options.k = k;
    options.canonical = canonical;
    options.threads = 1;
    options.memory_bytes = one_thread().memory_bytes;
    write_bytes(fasta, reads + ">\n" + random_text(random, 150) + "\n");
    (void)count({fasta}, options, good);
    write_bytes(fasta, reads);
    (void)count({fasta}, options, scratch / "base.wmi");
    parts = std::make_unique<ChangedIndex>(read_bytes(scratch / "base.wmi"));
  }

  std::uint32_t k;
  bool canonical;
  std::string reads, good, fasta;
  std::unique_ptr<ChangedIndex> parts;
};

struct Outcome {
  std::uint64_t rounds = 0;
  std::map<std::string, std::uint64_t> done, refused;  ///< by what was done, and by what it said
  std::map<std::string, double> longest;               ///< seconds
};

/// Forgets k-mers.
class NoSink final : public formats::KmerSink {
 public:
  void encode(std::span<const formats::CountedKmer> /*kmers*/, formats::EncodedKmers& /*to*/) const override {
  }
  void append(const formats::EncodedKmers& /*encoded*/) override {}
  void finish() override {}
};

/// Everything that reads an index, on one that may be bad.
class Readers {
 public:
  Readers(const ScratchFolder& scratch, const Base& base, Outcome& outcome, Random& random)
      : scratch_(scratch),
        base_(base),
        outcome_(outcome),
        random_(random),
        bad_(scratch / "bad.wmi"),
        written_(scratch / "out") {}

  void run() {
    attempt("open", [&] { const index::IndexFile file(bad_); });
    if (!attempt("read", [&] { read_all(bad_); })) {
      // Some shards may be good. What looks at few of them is refused late or never.
      some_of({0, 1, 3, 4, 6, 11});
      return;
    }
    some_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  }

 private:
  /// Does one thing in three.
  void some_of(const std::vector<int>& numbers) {
    for (const int number : numbers) {
      if (random_() % 3 == 0) one(number);
    }
  }
  void one(int number) {
    switch (number) {
      case 0:
        attempt("dump", [&] { dump(false); });
        break;
      case 1:
        attempt("dump --sort", [&] { dump(true); });
        break;
      case 2:
        attempt("library", [&] { use_library(); });
        break;
      case 3:
        attempt("query", [&] { look_up(); });
        break;
      case 4:
        attempt("note", [&] { note(); });
        break;
      case 5:
        attempt("spectrum", [&] {
          const index::IndexFile file(bad_);
          (void)stats::model_spectrum(file, 1);
        });
        break;
      case 6:
        set_operation(random_() % 2 == 0);
        break;
      case 7:
        set_operation(false);
        break;
      case 8:
        attempt("compare", [&] {
          backend::JobProgress progress;
          (void)jobs::compare_indexes(
              {{bad_, base_.good, bad_}, std::vector<backend::CountBounds>(3), one_thread()}, progress);
        });
        break;
      case 9:
        attempt("matrix", [&] { make_matrix(); });
        break;
      case 10:
        attempt("export", [&] { export_some(); });
        break;
      case 11:
        attempt("add", [&] { update(true); });
        break;
      default:
        attempt("remove", [&] { update(false); });
    }
  }

  /// Returns whether it was done. Anything thrown that is no refusal passes.
  bool attempt(const std::string& what, const std::function<void()>& work) {
    INFO(what);
    const auto begin = Clock::now();
    bool is_done = true;
    try {
      work();
      ++outcome_.done[what];
    } catch (const Error& error) {
      std::string said = error.what();
      // An index may have become a good one of other k-mers.
      const bool is_other = error.kind() == ErrorKind::usage && says(said, "only indexes that are alike");
      if (error.kind() != ErrorKind::input && !is_other) {
        keep();
        throw;
      }
      if (const auto at = said.find("bad.wmi"); at != std::string::npos) said = said.substr(at);
      ++outcome_.refused[without_digits(said)];
      is_done = false;
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    outcome_.longest[what] = std::max(outcome_.longest[what], seconds);
    return is_done;
  }

  /// Leaves the file for whoever looks into it.
  void keep() const {
    const auto folder = std::filesystem::temp_directory_path() / "warpmer_index_fuzz";
    std::filesystem::create_directories(folder);
    std::filesystem::copy(scratch_.path(), folder, std::filesystem::copy_options::overwrite_existing);
  }
  static void read_all(const std::string& path) {
    const index::IndexFile file(path);
    std::uint64_t kmers = 0;
    for (std::uint32_t shard = 0; shard < file.params().shards(); ++shard) {
      if (index::layout::has_strings(file.params().k)) {
        (void)file.strings(shard);
      } else {
        (void)index::test::copy_of(file, shard);
        (void)file.shard(shard);
      }
      kmers += file.kmers(shard);
    }
    CHECK(kmers == file.totals().stored_distinct);
  }
  /// Anything that was written from a bad index is good.
  void check_written() const { REQUIRE_NOTHROW(read_all(written_)); }

  void dump(bool sorted) {
    const index::IndexFile file(bad_);
    backend::EntryTextPlan plan;
    plan.format = random_() % 2 == 0 ? backend::EntryFormat::tsv : backend::EntryFormat::fasta;
    if (random_() % 4 == 0) plan.bounds = {1 + random_() % 3, 1 + log_random(random_)};
    plan.sorted = sorted;
    plan.resources = one_thread();
    std::uint64_t bytes = 0;
    backend::write_entries(file, plan, [&](std::string_view text, const Progress&) { bytes += text.size(); });
  }
  void use_library() {
    const Index index(bad_);
    std::vector<std::string> kmers;
    index.for_each([&](std::string_view kmer, std::uint64_t count) {
      REQUIRE(kmer.size() == index.k());
      REQUIRE(count > 0);
      if (kmers.size() < 100) kmers.emplace_back(kmer);
    });
    (void)index.counts_of(kmers);
    (void)index.counts_in(sequence());
  }
  /// Returns all bases of the reads as one sequence with breaks, with some of them changed.
  std::string sequence() {
    std::string text;
    for (const char c : base_.reads) text += c == '>' || c == '\n' ? 'N' : c;
    for (std::size_t i = random_() % 300; i < text.size(); i += 1 + random_() % 300)
      text[i] = base_char(static_cast<unsigned>(random_() % 4));
    return text;
  }
  void look_up() {
    const index::IndexFile file(bad_);
    const auto lookup = backend::make_cpu_lookup(file, {.lenient = true, .threads = 3});
    backend::Profile profile;
    const std::string text = sequence();
    const io::Batch batch = batch_of(text);
    lookup->profile(batch, profile);
    const std::uint32_t k = file.params().k;
    std::vector<std::string> kmers(50);
    for (std::string& kmer : kmers) kmer = random_text(random_, k);
    for (std::size_t at = 0; at + k <= text.size(); at += 1 + random_() % 50) {
      if (text.substr(at, k).find('N') == std::string::npos) kmers.push_back(text.substr(at, k));
    }
    std::vector<std::uint64_t> counts(kmers.size());
    lookup->find_all({std::vector<std::string_view>(kmers.begin(), kmers.end())}, counts.data());
    for (std::size_t i = 0; i < kmers.size(); i += 9) REQUIRE(lookup->find(kmers[i]) == counts[i]);
  }
  void note() {
    const index::IndexFile file(bad_);
    backend::SeenKmers seen(file, 1);
    const auto lookup = backend::make_noting_lookup(file, {.lenient = true}, seen);
    backend::Profile profile;
    lookup->profile(batch_of(sequence()), profile);
    REQUIRE(seen.number() <= file.totals().stored_distinct);
  }
  void set_operation(bool with_itself) {
    using backend::CountRule, backend::SetOperation;
    const std::vector<std::pair<SetOperation, CountRule>> rules{
        {SetOperation::unite, CountRule::sum},
        {SetOperation::unite, CountRule::max},
        {SetOperation::unite, CountRule::first},
        {SetOperation::intersect, CountRule::min},
        {SetOperation::intersect, CountRule::last},
        {SetOperation::subtract, CountRule::first},
        {SetOperation::subtract, CountRule::difference},
        {SetOperation::symmetric_difference, CountRule::first}};
    jobs::SetOptions options;
    std::tie(options.rule.operation, options.rule.counts) = rules[random_() % rules.size()];
    options.inputs = {bad_, with_itself ? bad_ : base_.good};
    if (random_() % 2 == 0) std::swap(options.inputs[0], options.inputs[1]);
    if (random_() % 5 == 0) options.of_inputs = {{1 + random_() % 3, log_random(random_) | 3}};
    options.resources = one_thread();
    options.output = written_;
    const bool is_done = attempt("sets", [&] {
      backend::JobProgress progress;
      (void)jobs::run_set_operation(options, progress);
    });
    if (is_done) check_written();
  }
  void make_matrix() {
    jobs::MatrixOptions options;
    options.inputs = {base_.good, bad_};
    options.samples = {"good", "bad"};
    options.of_inputs.resize(2);
    options.presence = random_() % 2 == 0;
    options.resources = one_thread();
    backend::JobProgress progress;
    std::uint64_t bytes = 0;
    jobs::write_matrix(options, progress,
                       [&](std::string_view text, const Progress&) { bytes += text.size(); });
  }
  void export_some() {
    const index::IndexFile file(bad_);
    jobs::ExportOptions options;
    options.resources = one_thread();
    options.saturate = true;
    const formats::StreamFacts facts = jobs::facts_of(file);
    std::unique_ptr<formats::KmerSink> sink;
    switch (random_() % 4) {
      case 0:
        options.order = formats::KmerOrder::by_kmer;
        options.largest_count = UINT32_MAX;
        sink = std::make_unique<formats::KmcSink>(written_, facts, 4);
        break;
      case 1:
        options.order = formats::KmerOrder::by_jellyfish;
        options.largest_count = (std::uint64_t{1} << 56) - 1;
        sink = std::make_unique<formats::JellyfishSink>(written_, facts, 7);
        break;
      case 2:
        options.order = formats::KmerOrder::by_kmer;
        sink = std::make_unique<formats::KffSink>(written_, facts, 8);
        break;
      default:
        sink = std::make_unique<NoSink>();
    }
    (void)jobs::export_index(file, options, *sink);
  }
  void update(bool adds) {
    jobs::UpdateOptions options;
    options.index = bad_;
    (adds ? options.added : options.removed) = {base_.fasta};
    options.count.resources = one_thread();
    options.count.output = written_;
    options.count.tmp_directory = scratch_.path();
    backend::JobProgress progress;
    (void)jobs::update(options, progress);
    check_written();
  }

  const ScratchFolder& scratch_;
  const Base& base_;
  Outcome& outcome_;
  Random& random_;
  std::string bad_, written_;
};

/// Some changed files of one base.
void fuzz(std::uint64_t seed, Outcome& outcome) {
  Random random(seed);
  const ScratchFolder scratch;
  const Base base(scratch, random);
  write_bytes(scratch / "round", fmt::format("WARPMER_FUZZ_ROUND={}\n", seed));
  CAPTURE(base.k);
  for (int variant = 0; variant < by_tier(30, 15); ++variant) {
    ChangedIndex changed = *base.parts;
    if (variant > 0) changed.change(random);
    write_bytes(scratch / "bad.wmi", changed.bytes(random));
    Readers(scratch, base, outcome, random).run();
    ++outcome.rounds;
  }
}

}  // namespace

TEST_CASE("of index files with something changed, all are refused but those that can be read") {
  const auto round = number_of("WARPMER_FUZZ_ROUND");
  const std::uint64_t seconds = number_of("WARPMER_FUZZ_SECONDS").value_or(0);
  const std::uint64_t first = round.value_or(number_of("WARPMER_FUZZ_SEED").value_or(0) << 32);
  const std::uint64_t rounds = round ? 1 : by_tier<std::uint64_t>(6, 3);
  const auto begin = Clock::now();
  Outcome outcome;
  for (std::uint64_t i = 0; seconds > 0 || i < rounds; ++i) {
    if (seconds > 0 && Clock::now() - begin > std::chrono::seconds(seconds)) break;
    CAPTURE(first + i);
    fuzz(first + i, outcome);
  }
  if (round) return;
  CHECK(outcome.done["read"] > outcome.rounds / 10);
  CHECK(outcome.done["read"] < outcome.rounds * 9 / 10);
  CHECK(outcome.refused.size() > 10);
  if (seconds == 0) return;
  MESSAGE(fmt::format("{} files, {} MiB at most", outcome.rounds, host::peak_resident_bytes() >> 20));
  for (const auto& [what, times] : outcome.done)
    MESSAGE(fmt::format("{} {}, {:.2f} s at most", times, what, outcome.longest[what]));
  for (const auto& [what, times] : outcome.refused) MESSAGE(fmt::format("{} {}", times, what));
}

TEST_CASE("an update sees that counts are larger than the totals say") {
  const ScratchFolder scratch;
  Random random(1);
  CountOptions options;
  options.threads = 1;
  options.memory_bytes = one_thread().memory_bytes;
  const std::string reads = ">\n" + random_text(random, 200) + "\n";
  write_bytes(scratch / "reads.fa", reads);
  write_bytes(scratch / "others.fa", ">\n" + random_text(random, 200) + "\n");
  (void)count({scratch / "reads.fa"}, options, scratch / "base.wmi");
  ChangedIndex changed(read_bytes(scratch / "base.wmi"));
  changed.set_counts(UINT64_MAX);
  write_bytes(scratch / "bad.wmi", changed.bytes());
  CHECK(Index(scratch / "bad.wmi").count_of(reads.substr(2, 31)) == UINT64_MAX);
  // Of the sum, and of single counts, too.
  for (const char* added : {"others.fa", "reads.fa"}) {
    jobs::UpdateOptions update;
    update.index = scratch / "bad.wmi";
    update.added = {scratch / added};
    update.count.resources = one_thread();
    update.count.output = scratch / "out.wmi";
    backend::JobProgress progress;
    CHECK_THROWS_WITH_AS((void)jobs::update(update, progress), doctest::Contains("its counts add up to more"),
                         InputError);
  }
}
