#include "cli/personalities/kmc/kmc_databases.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <vector>

#include "backend/tally.h"
#include "base/thread_team.h"
#include "cli/personalities/named_jobs.h"
#include "file/output/temporary_name.h"
#include "formats/kff_file.h"
#include "formats/kmc_range.h"
#include "formats/stream/count_width.h"
#include "jobs/export_job.h"
#include "jobs/merged_kmers.h"
#include "jobs/temporary_index.h"

namespace warpmer::cli {
namespace {

using formats::Format;

/// Records of a database that a thread reads before it asks for more.
constexpr std::size_t kReadAtOnce = 4096;

/// Returns the KFF file that a name stands for; empty if it is none.
std::string kff_file_of(const std::string& name, PreferredFiles preferred) {
  std::error_code ignored;
  if (preferred == PreferredFiles::kmc && std::filesystem::exists(name + ".kmc_pre", ignored)) return "";
  for (const std::string& path : {name, name + ".kff"}) {
    if (!std::filesystem::is_regular_file(path, ignored)) continue;
    return formats::detect_format(path) == Format::kff ? path : "";
  }
  return "";
}

/// The two files of a database that is in the way of something else, and gone with this object.
class TemporaryDatabase {
 public:
  explicit TemporaryDatabase(const std::string& prefix)
      : prefixes_(prefix + ".kmc_pre"), suffixes_(prefix + ".kmc_suf") {}

 private:
  file::TemporaryName prefixes_, suffixes_;
};

/// A KFF file's k-mers, whose sections are in no order, as a database that is sorted.
class SortedKff {
 public:
  SortedKff(const NamedDatabase& kff, const host::Resources& resources, const std::string& directory)
      : index_(directory), sorted_(index_.path()) {
    import_database(kff, resources, index_);
    const index::IndexFile index(index_.path());
    formats::KmcSink sink(index_.path(), jobs::facts_of(index), 4);
    jobs::export_index(index,
                       {.order = formats::KmerOrder::by_kmer,
                        .largest_count = formats::kLargestKmcCount,
                        .saturate = true,
                        .resources = resources},
                       sink);
  }

  [[nodiscard]] std::string path() const { return index_.path() + ".kmc_pre"; }

 private:
  jobs::TemporaryIndex index_;
  TemporaryDatabase sorted_;
};

}  // namespace

NamedDatabase::NamedDatabase(const std::string& name, PreferredFiles preferred)
    : path_(kff_file_of(name, preferred)), format_(Format::kff) {
  if (!path_.empty()) {
    formats::KffSource source(path_);
    facts_ = source.facts();
    header_.min_count = static_cast<std::uint32_t>(facts_.min_count);
    header_.max_count = facts_.max_count;
    for (const formats::KffSection& section : source.take_sections())
      header_.count_bytes = std::max(header_.count_bytes, std::min(section.data_bytes, 4u));
    return;
  }
  path_ = name;
  format_ = Format::kmc;
  const formats::KmcSource source(path_);
  facts_ = source.facts();
  header_ = source.header();
}

std::unique_ptr<formats::KmerSource> NamedDatabase::open(const backend::CountBounds& bounds) const {
  return std::make_unique<jobs::BoundedKmers>(formats::open_source(path_, format_, true, 1), bounds);
}

index::Histogram NamedDatabase::histogram(const backend::CountBounds& bounds, unsigned threads) const {
  std::vector<backend::Tally> tallies(threads, backend::Tally(bounds));
  if (is_kff()) {
    formats::for_each_kmer(*open(bounds),
                           [&](const formats::CountedKmer& each) { tallies[0].note(each.count, 1); });
    return tallies[0].histogram();
  }
  const formats::KmcSource database(path_);
  database.check_table();
  const std::uint64_t records = database.header().kmers;
  const std::uint64_t parts = (records + kReadAtOnce - 1) / kReadAtOnce;
  share_numbers(threads, 0, parts, [&](unsigned thread, SharedNumbers& numbers) {
    std::vector<std::uint64_t> counts(kReadAtOnce);
    for (std::uint64_t part; numbers.take(part);) {
      const std::uint64_t first = part * kReadAtOnce;
      const auto some = std::span(counts).first(std::min<std::uint64_t>(kReadAtOnce, records - first));
      database.read_counts(first, some);
      tallies[thread].note(some.data(), some.size());
    }
  });
  database.check_size();
  for (unsigned thread = 1; thread < threads; ++thread) tallies[0].merge(tallies[thread]);
  return tallies[0].histogram();
}

jobs::RangedKmers NamedDatabase::sorted(const backend::CountBounds& bounds, const host::Resources& resources,
                                        const std::string& output) const {
  std::shared_ptr<const SortedKff> kff;
  if (is_kff())
    kff = std::make_shared<SortedKff>(*this, resources, folder_for_temporary(output + ".kmc_pre"));
  const auto database = std::make_shared<const formats::KmcSource>(kff ? kff->path() : path_);
  const auto open = [kff, database](const formats::KmerRange& range) {
    return formats::open_kmc_range(database, range);
  };
  return jobs::bounded({database->facts().k, open}, bounds);
}

std::uint32_t DatabaseOutput::counter_bytes() const {
  return std::min({formats::bytes_of_count(largest_counter), formats::bytes_of_count(bounds.max), 4u});
}

namespace {

/// Calls `copy(options, sink)`, which returns an ExportReport, for k-mers of which `facts` are known.
template <class Copy>
void write_output(formats::StreamFacts facts, const DatabaseOutput& output, const host::Resources& resources,
                  Copy&& copy) {
  const jobs::ExportOptions job{.bounds = output.bounds,
                                .order = formats::limits_of(output.format).order,
                                .largest_count = std::min(output.largest_counter, formats::kLargestKmcCount),
                                .saturate = true,
                                .resources = resources};
  facts.min_count = output.bounds.min;
  facts.max_count = output.bounds.max;
  const auto sink =
      formats::make_sink(output.path(), output.format, facts, output.counter_bytes(), resources.threads);
  const jobs::ExportReport report = copy(job, *sink);
  if (output.tells_of_capped) warn_of_capped(report.saturated, job.largest_count, output.path());
}

}  // namespace

void write_database(const jobs::RangedKmers& kmers, const DatabaseOutput& output,
                    const host::Resources& resources) {
  write_output(kmers.facts(), output, resources,
               [&](const jobs::ExportOptions& job, formats::KmerSink& sink) {
                 return jobs::copy_ranges(kmers, output.name, job, sink);
               });
}

void write_database(const index::IndexFile& index, const DatabaseOutput& output,
                    const host::Resources& resources) {
  write_output(jobs::facts_of(index), output, resources,
               [&](const jobs::ExportOptions& job, formats::KmerSink& sink) {
                 return jobs::export_index(index, job, sink);
               });
}

void write_text(formats::KmerSource& source, const DatabaseOutput& output, const host::Resources& resources) {
  write_output(source.facts(), output, resources,
               [&](const jobs::ExportOptions& job, formats::KmerSink& sink) {
                 return jobs::copy_kmers(source, output.name, job, sink);
               });
}

void import_database(const NamedDatabase& database, const host::Resources& resources,
                     const jobs::TemporaryIndex& index) {
  import_into(*database.open({0, UINT64_MAX}), database.path(), resources, {}, index, database.is_kff());
}

}  // namespace warpmer::cli
