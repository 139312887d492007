/// `kmc_tools filter`: reads by how many of their k-mers a database has.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/ordered_team.h"
#include "cli/personalities/kmc/kmc_tools.h"
#include "cli/personalities/named_jobs.h"
#include "cli/personalities/option_table.h"
#include "cli/personalities/personality.h"
#include "formats/text/text_file.h"
#include "io/read_pairs.h"
#include "jobs/device_choice.h"
#include "jobs/read_filter.h"
#include "jobs/temporary_index.h"

namespace warpmer::cli {
namespace {

enum class FilterMode { whole, trim, mask };

/// -ci or -cx of reads: a number of k-mers, or with a point in it a part of all.
struct ReadBound {
  std::uint64_t kmers = 0;
  double fraction = 0;
  bool is_given = false;
  bool is_fraction = false;
};

struct KmcFilter {
  FilterMode mode = FilterMode::whole;
  std::vector<std::string> reads;
  std::string output;
  bool is_fasta = false;  ///< -fa of the output
  ReadBound min{.kmers = 2, .fraction = 0}, max{.kmers = formats::kNoKmcLimit, .fraction = 1};
  backend::CountBounds counts;  ///< of the k-mers that are found
  std::uint32_t k = 0;

  [[nodiscard]] bool by_fraction() const { return min.is_fraction || max.is_fraction; }
};

TakeOption store_bound(ReadBound& bound) {
  return [&bound](const GivenOption& given) {
    bound.is_given = true;
    bound.is_fraction = given.value.find('.') != std::string_view::npos;
    if (!bound.is_fraction) return store_number(bound.kmers)(given);
    const std::optional<double> fraction = parse_decimal(given.value);
    if (!fraction || *fraction < 0 || *fraction > 1) {
      throw UsageError(
          fmt::format("{} must have a number from 0.0 to 1.0, not '{}'", given.name, given.value));
    }
    bound.fraction = *fraction;
  };
}

void check_bounds(const CommandWords& words, const KmcFilter& filter) {
  if (filter.min.is_given && filter.max.is_given && filter.min.is_fraction != filter.max.is_fraction) {
    throw UsageError(fmt::format("{}: -ci and -cx of reads are both whole numbers, or both have a point",
                                 words.program()));
  }
  if (filter.by_fraction() && filter.mode != FilterMode::whole) {
    throw UsageError(fmt::format("{}: with -t and -hm, -ci of reads is a count, and no part of all k-mers",
                                 words.program()));
  }
}

void take_reads(CommandWords& words, KmcFilter& filter) {
  using enum ValuePlace;
  filter.reads = {words.take("a file of reads")};
  bool is_fasta = false;
  const auto form_rows = [&is_fasta] {
    return std::vector<OptionRow>{taken("-fa", none, "", set_flag(is_fasta)),
                                  taken("-fq", none, "", set_flag(is_fasta, false))};
  };
  words.skip(take_options({words.program(), joined({form_rows(),
                                                    {taken("-ci", glued, "", store_bound(filter.min)),
                                                     taken("-cx", glued, "", store_bound(filter.max))}})},
                          words.rest()));
  check_bounds(words, filter);
  const bool are_fasta = is_fasta;
  filter.output = words.take("the name of the output");
  words.skip(take_options({words.program(), form_rows()}, words.rest()));
  words.check_end();
  filter.is_fasta = is_fasta;
  if (are_fasta && !is_fasta) {
    throw UsageError(
        fmt::format("{}: reads that are FASTA (-fa) have no qualities for -fq", words.program()));
  }
  // With -t and -hm, -ci0 of reads makes all k-mers good, also those that are not there: nothing changes.
  if (filter.mode != FilterMode::whole && filter.min.kmers == 0) {
    filter.mode = FilterMode::whole;
    filter.max.kmers = UINT64_MAX;
  }
}

/// True for a read of which so many k-mers are found. A k-mer with an unknown base is one that is not.
bool passes(const KmcFilter& filter, std::uint64_t found, std::uint64_t kmers) {
  if (!filter.by_fraction()) return found >= filter.min.kmers && found <= filter.max.kmers;
  if (kmers == 0) return filter.min.fraction == 0;
  const auto part = [kmers](double fraction) {
    return static_cast<std::uint64_t>(static_cast<float>(fraction) * static_cast<float>(kmers));
  };
  return found >= part(filter.min.fraction) && found <= part(filter.max.fraction);
}

/// One thread's work on batches.
class KmcReadFilter {
 public:
  KmcReadFilter(const KmcFilter& filter, const backend::Lookup& lookup) : filter_(filter), lookup_(lookup) {
    good_.counts = filter.counts;
    // With -t and -hm, -ci of reads is the least count of a k-mer that is good.
    if (filter.mode != FilterMode::whole) good_.counts.min = std::max(good_.counts.min, filter.min.kmers);
  }

  std::string filter(const io::Batch& batch) {
    std::string text;
    lookup_.profile(batch, profile_);
    for (std::size_t i = 0; i < batch.pieces.size(); ++i)
      append(batch, batch.pieces[i], profile_.exact(i, counts_), text);
    return text;
  }

 private:
  void append(const io::Batch& batch, const io::Piece& piece, std::span<const std::uint64_t> counts,
              std::string& to) {
    std::string_view bases = batch.bases(piece);
    if (filter_.mode == FilterMode::whole) {
      if (!passes(filter_, jobs::count_found(counts, good_).found, counts.size())) return;
    } else if (filter_.mode == FilterMode::trim) {
      bases = bases.substr(0, jobs::leading_bases(counts, filter_.k, good_));
      if (bases.empty()) return;
    } else {
      masked_.assign(bases);
      jobs::mask_others(counts, filter_.k, good_, masked_);
      bases = masked_;
    }
    const bool is_fastq = batch.is_fastq(piece) && !filter_.is_fasta;
    to.append(1, is_fastq ? '@' : '>').append(batch.header(piece)).append(1, '\n');
    to.append(bases).append(1, '\n');
    if (is_fastq) to.append("+\n").append(batch.quality(piece).substr(0, bases.size())).append(1, '\n');
  }

  const KmcFilter& filter_;
  const backend::Lookup& lookup_;
  jobs::ReadRule good_;
  backend::Profile profile_;
  std::vector<std::uint64_t> counts_;  ///< of a read
  std::string masked_;
};

void filter_reads(const KmcFilter& filter, const backend::Lookup& lookup, unsigned threads) {
  io::ReadingOptions reading = named_reading();
  io::ReadPairs reads(filter.reads, {}, io::Pairing::single, {.reading = reading, .threads = threads});
  formats::TextFile output(filter.output);
  const auto make = [each = KmcReadFilter(filter, lookup)](const io::ReadGroup& group) mutable {
    return each.filter(group.first);
  };
  work_in_order<io::ReadGroup>(reads, OrderedTeam(lookup, threads), make,
                               [&](const std::string& text) { output.write(text); });
  output.finish();
}

}  // namespace

void run_kmc_filter(CommandWords& words, const host::Resources& resources) {
  KmcFilter filter;
  const auto choose = [&filter](FilterMode mode) {
    return [&filter, mode](const GivenOption& /*given*/) { filter.mode = mode; };
  };
  words.skip(take_options({words.program(),
                           {taken("-t", ValuePlace::none, "", choose(FilterMode::trim)),
                            taken("-hm", ValuePlace::none, "", choose(FilterMode::mask))}},
                          words.rest()));
  const KmcInput input = take_kmc_input(words);
  take_reads(words, filter);
  filter.k = input.database.facts().k;
  filter.counts = input.bounds;
  for (const std::string& file : input.database.files()) check_output(filter.output, {file});
  expand_lists(filter.reads, {filter.output}, resources.memory_bytes);
  const jobs::TemporaryIndex temporary(folder_for_temporary(filter.output));
  import_database(input.database, resources, temporary);
  const index::IndexFile index(temporary.path());
  jobs::DeviceChoice device = named_device(filter.reads);
  const auto lookup = jobs::make_lookup(index, {.lenient = true, .threads = resources.threads}, device);
  filter_reads(filter, *lookup, resources.threads);
}

}  // namespace warpmer::cli
