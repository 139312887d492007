/// `jellyfish count`

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/lookup/lookup.h"
#include "base/error.h"
#include "cli/framework/command_files.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/text_output.h"
#include "cli/personalities/jellyfish/generator_commands.h"
#include "cli/personalities/jellyfish/jellyfish.h"
#include "cli/personalities/named_jobs.h"
#include "formats/jellyfish/jellyfish_bloom.h"
#include "formats/jellyfish/jellyfish_file.h"
#include "formats/jellyfish/jellyfish_order.h"
#include "formats/jellyfish/jellyfish_text.h"
#include "formats/stream/count_width.h"
#include "jobs/count_job.h"
#include "jobs/export_job.h"
#include "jobs/temporary_index.h"

namespace warpmer::cli {
namespace {

struct JellyfishCount {
  std::uint32_t k = 0;
  std::uint64_t size = 0;
  std::uint64_t threads = 0;
  std::uint32_t count_bytes = 4;
  std::uint64_t lower = 0, upper = UINT64_MAX;
  std::uint64_t bloom_size = 0;
  std::optional<int> min_quality;  ///< of bases, as a character
  std::uint64_t quality_start = 64;
  std::optional<std::uint64_t> quality_above_start;
  bool is_canonical = false;
  bool is_text = false;
  bool writes_nothing = false;
  std::string output = "mer_counts.jf";
  std::string timing;
  std::string bloom;              ///< file with a Bloom counter: only what occurred twice in it is counted
  std::string generators, shell;  ///< file with commands that write reads, and what runs them
  std::vector<std::string> inputs;
  std::vector<std::string> only;  ///< files with the k-mers to count
};

TakeOption add_to(std::vector<std::string>& list) {
  return [&list](const GivenOption& given) { list.emplace_back(given.value); };
}

std::vector<OptionRow> count_rows(JellyfishCount& count) {
  using enum ValuePlace;
  const auto take_quality = [&count](const GivenOption& given) {
    if (given.value.size() != 1 || given.value[0] < '!' || given.value[0] > '~')
      throw UsageError(fmt::format("{} must have one character, from ! to ~", given.name));
    count.min_quality = given.value[0];
  };
  return {
      taken("-m,--mer-len", free, "length of the k-mers", store_number(count.k, 1, kMaxK)),
      taken("-s,--size", free, "size of the hash that the output's header names, at least",
            store_suffixed(count.size)),
      taken("-t,--threads", free, "threads; those that warpmer finds unless given",
            store_number(count.threads, 1, UINT16_MAX)),
      taken("--sam", free, "SAM, BAM or CRAM to read; any input may be one", add_to(count.inputs)),
      taken("-o,--output", free, "output; mer_counts.jf unless given", store_text(count.output)),
      taken("--out-counter-len", free, "bytes of a count in the output; 4 unless given",
            store_number(count.count_bytes, 1, formats::kMostJellyfishCountBytes)),
      taken("-C,--canonical", none, "count both strands as one", set_flag(count.is_canonical)),
      taken("--bf-size", free, "leave out the first occurrence of each k-mer; exactly, not by a Bloom filter",
            store_suffixed(count.bloom_size)),
      taken("--if", free, "count only the k-mers of these files, also those that do not occur",
            add_to(count.only)),
      taken("-Q,--min-qual-char", free, "bases with a quality below this character are N", take_quality),
      taken("--min-quality", free, "bases with a quality below this are N",
            [&count](const GivenOption& given) {
              std::uint64_t quality = 0;
              store_number(quality, 0, '~')(given);
              count.quality_above_start = quality;
            }),
      taken("--quality-start", free, "character of quality 0; 64 unless given",
            store_number(count.quality_start, '!', '~')),
      taken("--text", none, "write text", set_flag(count.is_text)),
      taken("-L,--lower-count", free, "write k-mers that occur at least so often", store_number(count.lower)),
      taken("-U,--upper-count", free, "write k-mers that occur at most so often", store_number(count.upper)),
      taken("--timing", free, "write seconds to this file", store_text(count.timing)),
      taken("--bc", free, "count only k-mers that occurred twice, by this output of 'jellyfish bc'",
            store_text(count.bloom)),
      taken("-g,--generator", free, "file of commands that write reads, one a line",
            store_text(count.generators)),
      taken("-S,--shell", free, "shell for these commands; $SHELL unless given", store_text(count.shell)),
      taken("--no-write", none, "write no database", set_flag(count.writes_nothing))};
}

std::vector<OptionRow> other_rows() {
  using enum ValuePlace;
  return {ignored("-c,--counter-len", free, "bits of a count in memory"),
          ignored("-p,--reprobes", free, "places to try in the table"),
          ignored("-F,--Files", free, "files that are open at a time"),
          ignored("-G,--Generators", free, "commands that run at a time"),
          ignored("--bf-fp", free, "share of errors of the Bloom filter; there are none"),
          ignored("--disk", none, "no larger table"),
          ignored("--no-unlink", none, "intermediate files, which there are none of"),
          refused("--no-merge", none, "there are no intermediate files that could be kept")};
}

std::optional<JellyfishCount> read_count(const JellyfishWords& command) {
  JellyfishCount count;
  OptionTable table{"jellyfish count", joined({count_rows(count), other_rows()})};
  const auto files = jellyfish_arguments(command, std::move(table), "file...", 0, SIZE_MAX);
  if (!files) return std::nullopt;
  count.inputs.insert(count.inputs.begin(), files->begin(), files->end());
  if (count.k == 0) throw UsageError("jellyfish count: -m, the length of the k-mers, is missing");
  if (count.size == 0)
    throw UsageError("jellyfish count: -s, the size of the table, is missing (any will do)");
  if (!count.bloom.empty() && count.bloom_size > 0)
    throw UsageError("jellyfish count: --bc and --bf-size exclude each other");
  if (count.quality_above_start) {
    if (count.min_quality) throw UsageError("jellyfish count: -Q and --min-quality exclude each other");
    count.min_quality = static_cast<int>(count.quality_start + *count.quality_above_start);
    if (*count.min_quality > '~') throw UsageError("jellyfish count: no quality is as high as --min-quality");
  }
  return count;
}

/// Stands in front of the database: counts again in another index, leaves out, and caps.
class JellyfishFilter final : public formats::KmerSink {
 public:
  /// `counts`: k-mers have the counts that they have there, 0 included; null: their own. `bloom`: they
  /// occurred twice in it, or not at all; may be null.
  JellyfishFilter(const JellyfishCount& count, const backend::Lookup* counts,
                  const formats::JellyfishBloom* bloom, formats::KmerSink& sink)
      : count_(count),
        counts_(counts),
        bloom_(bloom),
        sink_(sink),
        largest_(count.is_text ? UINT64_MAX : formats::largest_of_bytes(count.count_bytes)) {}

  void encode(std::span<const formats::CountedKmer> kmers, formats::EncodedKmers& to) const override {
    std::vector<formats::CountedKmer> kept(kmers.begin(), kmers.end());
    if (counts_ != nullptr) count_again(kept);
    const bool leaves_out_first = count_.bloom_size > 0, may_be_zero = counts_ != nullptr;
    std::size_t n = 0;
    for (formats::CountedKmer each : kept) {
      if (bloom_ != nullptr && bloom_->occurrences(each.kmer) < 2) each.count = 0;
      if (leaves_out_first && each.count > 0) --each.count;
      if (each.count < count_.lower || each.count > count_.upper || (each.count == 0 && !may_be_zero))
        continue;
      if (each.count > largest_) ++to.capped;
      each.count = std::min(each.count, largest_);
      kept[n++] = each;
    }
    sink_.encode({kept.data(), n}, to);
  }
  void append(const formats::EncodedKmers& encoded) override { sink_.append(encoded); }
  [[nodiscard]] std::uint32_t position_bits() const override { return sink_.position_bits(); }
  void finish() override { sink_.finish(); }

  [[nodiscard]] std::uint64_t largest() const noexcept { return largest_; }

 private:
  void count_again(std::vector<formats::CountedKmer>& kmers) const {
    const std::vector<std::uint64_t> counts = counts_in(*counts_, kmers, count_.k);
    for (std::size_t i = 0; i < kmers.size(); ++i) kmers[i].count = counts[i];
  }

  const JellyfishCount& count_;
  const backend::Lookup* counts_;
  const formats::JellyfishBloom* bloom_;
  formats::KmerSink& sink_;
  std::uint64_t largest_;
};

jobs::CountOptions job_of(const JellyfishCount& count, const std::vector<std::string>& inputs,
                          const NamedCall& call) {
  return named_count({count.k, count.is_canonical}, inputs, named_resources(count.threads), call.provenance);
}

std::unique_ptr<formats::KmerSink> sink_for(const JellyfishCount& count, const formats::StreamFacts& facts,
                                            const formats::JellyfishCall& made_by,
                                            std::uint32_t position_bits) {
  if (count.is_text)
    return std::make_unique<formats::JellyfishTextSink>(count.output, facts, made_by, position_bits);
  const std::uint32_t most = formats::bytes_of_count(formats::kLargestJellyfishCount);
  return std::make_unique<formats::JellyfishSink>(count.output, facts, std::min(count.count_bytes, most),
                                                  made_by, position_bits);
}

/// Writes the k-mers of `kmers` with their counts, or with those in `counts`.
void write_database(const JellyfishCount& count, const index::IndexFile& kmers,
                    const index::IndexFile* counts, const formats::JellyfishBloom* bloom,
                    const host::Resources& resources, const NamedCall& call) {
  formats::StreamFacts facts = jobs::facts_of(kmers);
  const std::uint32_t position_bits = formats::jellyfish_position_bits(count.k, facts.distinct, count.size);
  facts.distinct = 0;  // the filter leaves some out
  const auto sink = sink_for(count, facts, jellyfish_call(call), position_bits);
  const auto lookup = counts != nullptr ? backend::make_cpu_lookup(*counts) : nullptr;
  JellyfishFilter filter(count, lookup.get(), bloom, *sink);
  const jobs::ExportReport report =
      jobs::export_index(kmers, {.order = formats::KmerOrder::by_jellyfish, .resources = resources}, filter);
  warn_of_capped(report.saturated, filter.largest(), count.output);
}

void check_count_files(const JellyfishCount& count) {
  std::vector<std::string> inputs = count.inputs, outputs;
  inputs.insert(inputs.end(), count.only.begin(), count.only.end());
  inputs.insert(inputs.end(), {count.bloom, count.generators});
  if (!count.writes_nothing) outputs.push_back(count.output);
  if (!count.timing.empty()) outputs.push_back(count.timing);
  check_files(outputs, inputs);
}

/// Opens the Bloom counter, if there is one.
std::unique_ptr<formats::JellyfishBloom> open_bloom(const JellyfishCount& count) {
  if (count.bloom.empty()) return nullptr;
  auto bloom = std::make_unique<formats::JellyfishBloom>(formats::map_jellyfish(count.bloom));
  if (bloom->header().k != count.k) {
    throw UsageError(fmt::format("jellyfish count: --bc: {} has {}-mers, and -m says {}", count.bloom,
                                 bloom->header().k, count.k));
  }
  return bloom;
}

/// No input is no error: a database of nothing is written.
void write_nothing(const JellyfishCount& count, const NamedCall& call) {
  if (count.writes_nothing) return;
  const auto sink = sink_for(count, {.k = count.k, .canonical = count.is_canonical}, jellyfish_call(call),
                             formats::jellyfish_position_bits(count.k, 0, count.size));
  sink->finish();
}

}  // namespace

void write_jellyfish_timing(const std::string& path, const jobs::CountReport& report) {
  if (path.empty()) return;
  TextOutput output(path);
  output.print("Init     0\nCounting {:g}\nWriting  {:g}\n", report.read_seconds, report.count_seconds);
  output.finish();
}

int run_jellyfish_count(const JellyfishWords& command) {
  const std::optional<JellyfishCount> count = read_count(command);
  if (!count) return kDone;
  check_count_files(*count);
  const auto bloom = open_bloom(*count);
  if (count->inputs.empty() && count->only.empty() && count->generators.empty()) {
    write_nothing(*count, command.call);
    return kDone;
  }
  const std::string directory = folder_for_temporary(count->output);
  GeneratorCommands commands(count->generators, count->shell);
  jobs::CountOptions job = job_of(*count, commands.inputs(count->inputs), command.call);
  const bool counts_all = count->only.empty();
  if (count->min_quality) job.reading.min_base_quality = *count->min_quality - '!';
  // What is left out later need not be written before.
  if (counts_all && count->bloom_size == 0) {
    job.kept.min = std::max<std::uint64_t>(count->lower, 1);
    // A job that keeps nothing is refused. Jellyfish writes a database of nothing, and so does the filter.
    if (count->upper >= job.kept.min) job.kept.max = count->upper;
  }
  if (counts_all && count->bloom_size > 0) job.kept.min = 2;
  const jobs::TemporaryIndex temporary(directory), wanted(directory);
  if (!counts_all) {
    (void)count_into(job_of(*count, count->only, command.call), wanted);
    job.only = wanted.path();
  }
  jobs::CountReport report = count_into(job, temporary);
  commands.finish();
  const index::IndexFile index(temporary.path());
  if (count->writes_nothing) {
    write_jellyfish_timing(count->timing, report);
    return kDone;
  }
  if (counts_all) {
    write_database(*count, index, nullptr, bloom.get(), report.resources, command.call);
  } else {
    const index::IndexFile kmers(wanted.path());
    write_database(*count, kmers, &index, bloom.get(), report.resources, command.call);
  }
  write_jellyfish_timing(count->timing, report);
  return kDone;
}

}  // namespace warpmer::cli
