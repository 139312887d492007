/// `kmc_tools`: works with databases, by the command line of KMC 3.2.4.

#include "cli/personalities/kmc/kmc_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/framework/command_files.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/suggestion.h"
#include "cli/personalities/option_table.h"
#include "cli/personalities/personality.h"
#include "cli/personalities/programs.h"
#include "formats/kff_file.h"
#include "formats/stream/count_width.h"
#include "jobs/merged_kmers.h"

namespace warpmer::cli {
namespace {

constexpr const char* kOperations =
    "Operations:\n"
    "  info DATABASE\n"
    "  transform DATABASE [-ci -cx] OPERATION...\n"
    "      sort|reduce|compact OUTPUT [-ci -cx -cs -okmc|-okff]\n"
    "      set_counts VALUE OUTPUT [-okmc|-okff]\n"
    "      histogram OUTPUT [-ci -cx]\n"
    "      dump [-s] OUTPUT [-ci -cx -cs]\n"
    "  simple DATABASE [-ci -cx] DATABASE [-ci -cx] OPERATION...\n"
    "      "
    "intersect|union|kmers_subtract|counters_subtract|reverse_kmers_subtract|reverse_counters_subtract\n"
    "          OUTPUT [-ci -cx -cs -ocmin|-ocmax|-ocsum|-ocdiff|-ocleft|-ocright -okmc|-okff]\n"
    "  complex DEFINITIONS\n"
    "  filter [-t|-hm] DATABASE [-ci -cx] READS|@LIST [-ci -cx -fa|-fq] OUTPUT [-fa|-fq]\n"
    "  check DATABASE [-ci -cx] KMER\n"
    "  compare DATABASE [-ci -cx] DATABASE [-ci -cx]\n";

OptionTable global_options(std::uint64_t& threads) {
  using enum ValuePlace;
  return {"kmc_tools",
          {taken("-t", glued, "threads", store_leading_number(threads, 1, UINT16_MAX)),
           ignored("-hp", none, "show no progress"), ignored("-v", none, "more to read on stderr")}};
}

std::string kmc_tools_help() {
  std::uint64_t threads = 0;
  return fmt::format("kmc_tools ver. 3.2.4 (as done by warpmer " WARPMER_VERSION
                     ")\nUsage:\n  kmc_tools [options] OPERATION ...\nOptions:\n{}{}",
                     options_text(global_options(threads)), kOperations);
}

/// Returns one section's lines.
std::string section_info(const formats::KffSection& section) {
  std::string text = fmt::format(
      "\ttype            :  {}\n\tdata_start      :  {}\n\tnb_blocks       :  {}\n\tminimizer (HEX) :  ",
      section.minimizer.empty() ? "raw" : "minimizer", section.at, section.blocks);
  for (const std::byte byte : section.minimizer)
    text += fmt::format("{:x} ", std::to_integer<unsigned>(byte));
  return text + "\n";
}

std::string kff_info(const std::string& path) {
  formats::KffSource file(path);
  const auto yes_or_no = [](bool is) { return is ? "yes" : "no"; };
  const auto codes = file.codes();
  std::string text = fmt::format(
      "This is KFF file, summary:\ncanonical         :  {}\nall k-mers unique :  {}\nsymbols encoding:\n"
      "\tA: {}\n\tC: {}\n\tG: {}\n\tT: {}\n",
      yes_or_no(file.facts().canonical), yes_or_no(file.is_unique()), codes[0], codes[1], codes[2], codes[3]);
  const std::vector<formats::KffSection> sections = file.take_sections();
  for (auto begin = sections.begin(); begin != sections.end();) {  // those of one scope
    const auto end = std::find_if(
        begin, sections.end(), [&](const formats::KffSection& each) { return each.scope != begin->scope; });
    text += fmt::format("k             :  {}\ndata_size     :  {}\nmax           :  {}\n", file.facts().k,
                        begin->data_bytes, begin->max);
    if (begin->minimizer_bases > 0) text += fmt::format("m             :  {}\n", begin->minimizer_bases);
    text += "Data sections:\n";
    std::uint64_t blocks = 0;
    for (; begin != end; ++begin) {
      text += section_info(*begin);
      blocks += begin->blocks;
    }
    text += fmt::format("tot_nb_blocks :  {}\n", blocks);
  }
  return text;
}

int run_info(CommandWords& words) {
  const KmcInput input = take_kmc_input(words);
  words.check_end();
  if (input.database.is_kff()) {
    print_on_standard_output(kff_info(input.database.path()));
    return kDone;
  }
  const formats::KmcHeader& header = input.database.header();
  std::string text;
  const auto row = [&text](std::string_view what, const auto& value) {
    text += fmt::format("{:<18}:  {}\n", what, value);
  };
  row("k", input.database.facts().k);
  row("total k-mers", header.kmers);
  row("cutoff max", header.max_count);
  row("cutoff min", header.min_count);
  row("counter size", fmt::format("{} bytes", header.count_bytes));
  row("mode", "occurrence counters");
  row("both strands", input.database.facts().canonical ? "yes" : "no");
  row("database format", header.bins > 0 ? "KMC2.x" : "KMC1.x");
  row("signature length", header.signature_bases);
  row("number of bins", header.bins);
  row("lut_prefix_len", header.prefix_bases);
  print_on_standard_output(text);
  return kDone;
}

/// The k-mer as it is given: its reverse complement is another one.
int run_check(CommandWords& words) {
  const KmcInput input = take_kmc_input(words);
  const std::string kmer = words.take("the k-mer");
  words.check_end();
  const std::uint32_t k = input.database.facts().k;
  Key128 wanted = 0;
  if (kmer.size() != k || !kmer_from_text(kmer, wanted))
    throw UsageError(fmt::format("kmc_tools check: '{}' is no {}-mer, which the database has", kmer, k));
  std::uint64_t count = 0;
  const auto source = input.database.open(input.bounds);
  std::vector<formats::CountedKmer> kmers(4096);
  while (const std::size_t n = count == 0 ? source->read(kmers) : 0) {
    for (const formats::CountedKmer& each : std::span(kmers).first(n)) {
      if (each.kmer == wanted) count = each.count;
    }
  }
  print_on_standard_output(fmt::format("{}\n", count));
  return kDone;
}

int run_compare(CommandWords& words, const host::Resources& resources) {
  const KmcInput first = take_kmc_input(words);
  const KmcInput second = take_kmc_input(words);
  words.check_end();
  check_alike(first, second);
  const jobs::StreamsCompared result =
      jobs::compare_kmers(first.database.sorted(first.bounds, resources, "-"),
                          second.database.sorted(second.bounds, resources, "-"), resources.threads);
  constexpr int kDiffers = 1;
  if (result == jobs::StreamsCompared::equal) {
    print_on_standard_output("DB Equals\n");
    return kDone;
  }
  print_on_standard_output(fmt::format("{}DB Differs\n", result == jobs::StreamsCompared::one_is_longer
                                                             ? "one of input is not finished\n"
                                                             : ""));
  return kDiffers;
}

int run_operation(const std::string& name, CommandWords& words, const host::Resources& resources) {
  if (name == "info") return run_info(words);
  if (name == "check") return run_check(words);
  if (name == "compare") return run_compare(words, resources);
  if (name == "transform") {
    run_kmc_transform(words, resources);
  } else if (name == "simple") {
    run_kmc_simple(words, resources);
  } else if (name == "complex") {
    run_kmc_complex(words, resources);
  } else if (name == "filter") {
    run_kmc_filter(words, resources);
  } else {
    words.refuse_operation(name, {"transform", "simple", "complex", "filter", "info", "check", "compare"});
  }
  return kDone;
}

}  // namespace

std::string CommandWords::take(const std::string& what) {
  if (words_.empty() || is_option_word(words_.front())) {
    throw UsageError(fmt::format("{}: {} is missing{} (see 'kmc_tools --help')", program_, what,
                                 words_.empty() ? "" : fmt::format(" before '{}'", words_.front())));
  }
  std::string word = words_.front();
  skip(1);
  return word;
}

void CommandWords::refuse_operation(const std::string& name, const std::vector<std::string>& names) const {
  throw UsageError(fmt::format("{}: there is no operation '{}'{} (see 'kmc_tools --help')", program_, name,
                               did_you_mean(near_words(name, names))));
}

void CommandWords::check_end() const {
  if (words_.empty()) return;
  throw UsageError(fmt::format("{}: '{}' is too much (see 'kmc_tools --help')", program_, words_.front()));
}

std::uint64_t KmcInput::largest_counter() const {
  const std::uint32_t bytes = database.header().count_bytes;
  return bytes == 0 ? 1 : std::min(formats::largest_of_bytes(bytes), formats::kLargestKmcCount);
}

TakeOption store_count(std::uint64_t& to) {
  return [&to](const GivenOption& given) {
    store_number(to)(given);
    to = std::max<std::uint64_t>(to, 1);
  };
}

KmcInput take_kmc_input(CommandWords& words) {
  using enum ValuePlace;
  KmcInput input{NamedDatabase(words.take("the name of a database")), {}};
  const formats::KmcHeader& header = input.database.header();
  input.bounds = {header.min_count, std::max<std::uint64_t>(header.max_count, 1)};
  words.skip(take_options({words.program(),
                           {taken("-ci", glued, "", store_count(input.bounds.min)),
                            taken("-cx", glued, "", store_count(input.bounds.max))}},
                          words.rest()));
  return input;
}

void check_alike(const KmcInput& first, const KmcInput& second) {
  const formats::StreamFacts &a = first.database.facts(), &b = second.database.facts();
  if (a.k != b.k) {
    throw UsageError(fmt::format("kmc_tools: {} has {}-mers, but {} has {}-mers", first.database.path(), a.k,
                                 second.database.path(), b.k));
  }
  if (a.canonical != b.canonical) {
    throw UsageError(fmt::format("kmc_tools: k-mers of {} stand for both strands, and those of {} for one",
                                 (a.canonical ? first : second).database.path(),
                                 (a.canonical ? second : first).database.path()));
  }
}

void check_database_output(const DatabaseOutput& output, const KmcInput& input) {
  check_files(output.files(), input.database.files());
}

int run_kmc_tools(const NamedCall& call) {
  if (asks_for_help(call)) {
    print_on_standard_output(kmc_tools_help());
    return kDone;
  }
  std::uint64_t threads = 0;
  CommandWords words("kmc_tools", call.words);
  words.skip(take_options(global_options(threads), words.rest()));
  const std::string operation = words.take("an operation");
  words = CommandWords("kmc_tools " + operation, words.rest());
  return run_operation(operation, words, host::settled(named_resources(threads)));
}

}  // namespace warpmer::cli
