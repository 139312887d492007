/// `FastK`: counts k-mers into a histogram, a table and profiles.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "backend/lookup/lookup.h"
#include "base/error.h"
#include "cli/framework/command_files.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/ordered_team.h"
#include "cli/personalities/changed_reads.h"
#include "cli/personalities/named_jobs.h"
#include "cli/personalities/option_table.h"
#include "cli/personalities/personality.h"
#include "cli/personalities/programs.h"
#include "file/byte_file.h"
#include "formats/fastk/fastk_histogram.h"
#include "formats/fastk/fastk_profile.h"
#include "formats/fastk/fastk_table.h"
#include "io/input_set.h"
#include "jobs/count_job.h"
#include "jobs/export_job.h"
#include "jobs/temporary_index.h"

namespace warpmer::cli {
namespace {

struct FastkCall {
  std::uint32_t k = 40;
  std::uint64_t gigabytes = 0;
  std::uint32_t threads = formats::kFastkParts;
  bool has_threads = false;
  std::uint64_t least = 0;  ///< of the table; 0: no table
  bool has_profiles = false;
  std::string table;  ///< that profiles are relative to
  bool is_compressed = false;
  std::uint64_t ignored_bases = 0;  ///< at the beginning of each sequence
  std::string output;               ///< directory and root
  std::string directory;            ///< for temporary files
  std::vector<std::string> inputs;

  [[nodiscard]] bool changes_reads() const { return is_compressed || ignored_bases > 0; }
  [[nodiscard]] std::vector<std::string> outputs() const {
    std::vector<std::string> files;
    if (table.empty()) files.push_back(output + ".hist");
    if (least > 0) files.push_back(output + ".ktab");
    if (has_profiles) files.push_back(output + ".prof");
    return files;
  }
};

/// Takes letters of one word: `-vtp`.
void take_letters(FastkCall& call, std::string_view letters) {
  for (const char letter : letters) {
    switch (letter) {
      case 'v':
        break;
      case 'c':
        call.is_compressed = true;
        break;
      case 'p':
        call.has_profiles = true;
        break;
      case 't':
        call.least = 1;
        break;
      default:
        throw UsageError(fmt::format("FastK: there is no option '-{}' (see 'FastK --help')", letter));
    }
  }
}

void take_table(FastkCall& call, const GivenOption& given) {
  const bool is_number =
      !given.value.empty() && std::isdigit(static_cast<unsigned char>(given.value[0])) != 0;
  if (!is_number) {
    take_letters(call, "t");
    take_letters(call, given.value);
    return;
  }
  store_number(call.least, 1, formats::kLargestFastkCount)(given);
}

void take_profile(FastkCall& call, const GivenOption& given) {
  call.has_profiles = true;
  if (given.value.starts_with(':')) {
    store_text(call.table)({given.name, given.value.substr(1)});
  } else {
    take_letters(call, given.value);
  }
}

OptionTable fastk_options(FastkCall& call) {
  using enum ValuePlace;
  return {
      "FastK",
      {taken("-k", glued, "length of the k-mers; 40 unless given", store_number(call.k, 1, kMaxK)),
       taken("-t", optional, "write OUTPUT.ktab, a table of k-mers that occur at least so often, or once",
             [&call](const GivenOption& given) { take_table(call, given); }),
       taken("-p", optional,
             "write OUTPUT.prof, profiles of all sequences; by the counts of a table as -p:TABLE",
             [&call](const GivenOption& given) { take_profile(call, given); }),
       taken("-c", none, "compress homopolymers first", set_flag(call.is_compressed)),
       taken("-bc", glued, "leave out so many bases at the beginning of each sequence",
             store_number(call.ignored_bases)),
       taken("-N", glued, "output, without an ending; unless given, as the first input is called",
             store_text(call.output)),
       taken("-P", glued, "directory for temporary files; unless given, $TMPDIR or /tmp",
             store_text(call.directory)),
       taken("-M", glued, "gigabytes of memory, a hard cap; if more than there are, as WARPMER_MEMORY says",
             store_number(call.gigabytes, 1)),
       taken("-T", glued, "threads, and parts of a table; parts are 4 unless given",
             [&call](const GivenOption& given) {
               store_number(call.threads, 1, 1024)(given);
               call.has_threads = true;
             }),
       ignored("-v", none, "more to read on stderr")},
      true};
}

/// In the order in which FastK tries them.
constexpr std::string_view kSequenceEndings[] = {".cram", ".bam",      ".sam",      ".fastq", ".fasta", ".fq",
                                                 ".fa",   ".fastq.gz", ".fasta.gz", ".fq.gz", ".fa.gz"};

std::string without_ending(const std::string& path) {
  for (const std::string_view ending : kSequenceEndings) {
    if (path.size() > ending.size() && path.ends_with(ending))
      return path.substr(0, path.size() - ending.size());
  }
  return path;
}

/// Returns the file that a source stands for: its ending may be left out. What is called just so is taken
/// last, as FastK never does.
std::string input_of(const std::string& source) {
  std::error_code ignored;
  for (const std::string_view ending : {".db", ".dam"}) {
    if (source.ends_with(ending))
      throw UsageError(fmt::format("FastK: '{}': Dazzler databases are not read", source));
  }
  if (without_ending(source) != source && std::filesystem::exists(source, ignored)) return source;
  for (const std::string_view ending : kSequenceEndings) {
    std::string path = source + std::string(ending);
    if (std::filesystem::exists(path, ignored)) return path;
  }
  return source;  // if it is not there, the job says so
}

/// Returns the name of the output where none is given: that of the first input.
std::string output_beside(const std::string& input) {
  if (file::descriptor_in_path(input) >= 0) {
    throw UsageError(
        fmt::format("FastK: outputs are called after the first input, and {} is a pipe or another descriptor "
                    "that has no name; give one by -N, as -Nreads",
                    input));
  }
  return without_ending(input);
}

FastkCall read_fastk_call(const std::vector<std::string>& words) {
  FastkCall call;
  for (const std::string& source : take_all_options(fastk_options(call), words))
    call.inputs.push_back(input_of(source));
  if (call.inputs.empty())
    throw UsageError("FastK: it takes sequences, and there are none (see 'FastK --help')");
  if (call.output.empty()) call.output = output_beside(call.inputs.front());
  if (call.directory.empty()) {
    const char* directory = std::getenv("TMPDIR");
    call.directory = directory != nullptr && *directory != '\0' ? directory : "/tmp";
  }
  if (!call.table.empty()) call.least = 0;  // there are only profiles then
  return call;
}

void write_profiles(const FastkCall& call, const std::vector<std::string>& inputs,
                    const index::IndexFile& index, std::uint64_t sequences,
                    const host::Resources& resources) {
  formats::FastkProfileSink sink(call.output + ".prof", call.k, call.threads, sequences);
  const unsigned threads = resources.threads;
  const auto lookup = backend::make_cpu_lookup(index, {.lenient = true, .threads = threads});
  io::InputSet input(inputs, sequences_to_look_up(index, resources));
  const auto look_up = [&, profile = backend::Profile(),
                        exact = std::vector<std::uint64_t>()](const io::Batch& batch) mutable {
    lookup->profile(batch, profile);
    formats::FastkProfiles profiles;
    for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
      const std::span<std::uint64_t> counts = profile.exact(i, exact);
      std::ranges::replace(counts, backend::Profile::kNoKmer, std::uint64_t{0});
      profiles.add(counts, batch.pieces[i].first_base == 0, batch.pieces[i].last);
    }
    return profiles;
  };
  work_in_order<io::Batch>(input, OrderedTeam(threads), look_up,
                           [&](const formats::FastkProfiles& profiles) { sink.write(profiles); });
  sink.finish();
}

void write_histogram(const FastkCall& call, const index::IndexFile& index) {
  file::BufferedOutput output(call.output + ".hist");
  output.write(formats::encoded(formats::fastk_histogram_of(call.k, index.histogram())));
  output.finish();
}

void write_table(const FastkCall& call, const index::IndexFile& index, const host::Resources& resources) {
  const jobs::ExportOptions job{.bounds = {.min = call.least},
                                .order = formats::KmerOrder::by_kmer,
                                .largest_count = formats::kLargestFastkCount,
                                .saturate = true,
                                .resources = resources};
  formats::StreamFacts facts = jobs::facts_of(index);
  facts.distinct = backend::entries_within(index, job.bounds);
  facts.min_count = call.least;
  formats::FastkSink sink(call.output + ".ktab", facts, call.threads);
  const jobs::ExportReport report = jobs::export_index(index, job, sink);
  warn_of_capped(report.saturated, job.largest_count, call.output + ".ktab");
}

/// Profiles by the counts of another table, and nothing else.
void run_relative(const FastkCall& call, const std::vector<std::string>& inputs,
                  const index::Provenance& provenance, const host::Resources& resources) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(formats::fastk_stub(call.table), ignored))
    throw InputError(fmt::format("FastK: there is no FastK table {}", call.table));
  const jobs::TemporaryIndex temporary(call.directory);
  {
    formats::FastkSource source(call.table);
    if (source.facts().k != call.k) {
      throw UsageError(
          fmt::format("FastK: the table of -p has {}-mers, and -k says {}", source.facts().k, call.k));
    }
    import_into(source, call.table, resources, provenance, temporary);
  }
  write_profiles(call, inputs, index::IndexFile(temporary.path()), 0, resources);
}

void run_counting(const FastkCall& call, const std::vector<std::string>& inputs,
                  const index::Provenance& provenance, const host::Resources& resources) {
  jobs::CountOptions job = named_count({.k = call.k}, inputs, resources, provenance);
  job.tmp_directory = call.directory;
  const jobs::TemporaryIndex temporary(call.directory);
  const jobs::CountReport report = count_into(job, temporary);
  const index::IndexFile index(temporary.path());
  write_histogram(call, index);
  if (call.least > 0) write_table(call, index, report.resources);
  if (call.has_profiles) write_profiles(call, inputs, index, report.totals.records, resources);
}

}  // namespace

int run_fastk(const NamedCall& named) {
  if (std::ranges::find(named.words, "--help") != named.words.end()) {
    FastkCall call;
    print_on_standard_output(help_text(fastk_options(call), "SOURCE..."));
    return kDone;
  }
  const FastkCall call = read_fastk_call(named.words);
  check_files(call.outputs(), call.inputs);
  constexpr std::uint64_t kGigabyte = 1'000'000'000;
  const host::Resources resources =
      host::settled(named_resources(call.has_threads ? call.threads : 0, call.gigabytes * kGigabyte));
  std::optional<jobs::TemporaryIndex> changed;
  std::vector<std::string> inputs = call.inputs;
  if (call.changes_reads()) {
    changed.emplace(call.directory);
    write_changed_reads(call.inputs, {call.is_compressed, call.ignored_bases}, resources, changed->path());
    inputs = {changed->path()};
  }
  if (call.table.empty()) {
    run_counting(call, inputs, named.provenance, resources);
  } else {
    run_relative(call, inputs, named.provenance, resources);
  }
  return kDone;
}

}  // namespace warpmer::cli
