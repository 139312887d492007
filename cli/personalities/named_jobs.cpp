#include "cli/personalities/named_jobs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/ordered_stage.h"
#include "base/warning.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/looked_up_input.h"
#include "cli/output/progress.h"
#include "cli/personalities/personality.h"
#include "file/output/output_path.h"
#include "host/tmp_directory.h"
#include "jobs/import_job.h"
#include "jobs/set_job.h"

namespace warpmer::cli {

std::string folder_for_temporary(const std::string& output) {
  file::check_output_path(output);
  std::string folder = host::tmp_directory("", output);
  std::error_code fault;
  const bool is_usable =
      std::filesystem::is_directory(folder, fault) && ::access(folder.c_str(), W_OK | X_OK) == 0;
  return is_usable ? folder : host::directory_beside(output);
}

jobs::CountOptions named_count(const KmerParams& kmers, const std::vector<std::string>& inputs,
                               const host::Resources& resources, const index::Provenance& provenance) {
  jobs::CountOptions job;
  job.kmers = kmers;
  job.reading = named_reading();
  job.resources = resources;
  job.inputs = inputs;
  job.provenance = provenance;
  return job;
}

jobs::CountReport count_into(jobs::CountOptions job, const jobs::TemporaryIndex& index) {
  job.device = named_device(job.inputs);
  job.output = index.path();
  if (job.tmp_directory.empty()) job.tmp_directory = file::parent_of(index.path());
  return run_with_meter(progress_style(false),
                        [&](backend::JobProgress& progress) { return jobs::count(job, progress); })
      .report;
}

void import_into(formats::KmerSource& source, const std::string& input, const host::Resources& resources,
                 const index::Provenance& provenance, const jobs::TemporaryIndex& index,
                 bool sum_duplicates) {
  jobs::ImportOptions job;
  job.input = input;
  job.sum_duplicates = sum_duplicates;
  job.resources = resources;
  job.output = index.path();
  job.provenance = provenance;
  backend::JobProgress unseen;
  jobs::run_import(source, job, unseen);
}

void combine_into(const std::vector<std::string>& indexes, const std::vector<std::string>& inputs,
                  const backend::SetRule& rule, const host::Resources& resources,
                  const index::Provenance& provenance, const jobs::TemporaryIndex& index) {
  jobs::SetOptions job;
  job.rule = rule;
  job.inputs = indexes;
  job.names = inputs;
  job.of_inputs.resize(1);
  job.resources = resources;
  job.output = index.path();
  job.provenance = provenance;
  backend::JobProgress unseen;
  jobs::run_set_operation(job, unseen);
}

void warn_of_capped(std::uint64_t kmers, std::uint64_t largest_count, const std::string& output) {
  if (kmers == 0) return;
  warn(fmt::format("{} {} more than {} times and {} in {} with that count", counted(kmers, "k-mer"),
                   kmers == 1 ? "occurs" : "occur", largest_count, kmers == 1 ? "stands" : "stand", output));
}

std::vector<std::uint64_t> counts_in(const backend::Lookup& lookup,
                                     std::span<const formats::CountedKmer> kmers, std::uint32_t k) {
  std::string text(kmers.size() * k, '\0');
  std::vector<std::string_view> words;
  words.reserve(kmers.size());
  for (std::size_t i = 0; i < kmers.size(); ++i) {
    kmer_to_text(kmers[i].kmer, k, text.data() + i * k);
    words.push_back(std::string_view(text).substr(i * k, k));
  }
  std::vector<std::uint64_t> counts(kmers.size());
  lookup.find_valid(words, counts.data());
  return counts;
}

io::ReadingOptions named_reading() {
  io::ReadingOptions reading;
  reading.lenient = true;
  reading.drops_cut_record = true;
  return reading;
}

io::InputOptions sequences_in_order(std::uint32_t overlap_bases, const host::Resources& resources) {
  return {.reading = named_reading(),
          .overlap_bases = overlap_bases,
          .batch_bytes = std::size_t{1} << 20,
          .in_order = true,
          .longest_record_bytes = host::longest_record_bytes(resources.memory_bytes, resources.threads)};
}

io::InputOptions sequences_to_look_up(const index::IndexFile& index, const host::Resources& resources) {
  io::InputOptions options = sequences_in_order(index.params().k - 1, resources);
  // The text, counts in 32 and in 64 bits, and what waits for its turn to be written.
  constexpr std::uint64_t kOfBase = 4 + sizeof(std::uint32_t) + sizeof(std::uint64_t) + kResultsAhead * 4;
  fit_batches({.mapped_bytes = index.file_bytes(), .bytes_of_base = kOfBase}, resources, options);
  return options;
}

}  // namespace warpmer::cli
