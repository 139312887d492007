#include "jobs/export_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "backend/indexes/entries.h"
#include "backend/indexes/index_set.h"
#include "base/error.h"
#include "formats/stream/count_width.h"
#include "host/limits.h"

namespace warpmer::jobs {
namespace {

using formats::CountedKmer;

/// Stands in front of a sink: leaves out what is not wanted, and looks at large counts.
class CountGate {
 public:
  CountGate(const ExportOptions& options, const std::string& input, formats::KmerSink& sink)
      : options_(options), input_(input), sink_(sink) {}

  void write(std::span<const CountedKmer> kmers) {
    const auto passes = [&](const CountedKmer& each) {
      return options_.bounds.contains(each.count) && each.count <= options_.largest_count;
    };
    if (!std::all_of(kmers.begin(), kmers.end(), passes)) kmers = changed(kmers);
    report_.kmers += kmers.size();
    for (const CountedKmer& each : kmers) {
      least_ = std::min(least_, each.count);
      most_ = std::max(most_, each.count);
    }
    sink_.write(kmers);
  }

  ExportReport finish() {
    if (report_.kmers > 0) sink_.widen_bounds(least_, most_);
    sink_.finish();
    return report_;
  }

  /// Checks what has to be known before anything is written.
  void check(std::uint64_t largest_count) const {
    if (largest_count > options_.largest_count && !options_.saturate && options_.bounds.contains_all()) {
      refuse(largest_count);
    }
  }

 private:
  std::span<const CountedKmer> changed(std::span<const CountedKmer> kmers) {
    kept_.clear();
    for (CountedKmer each : kmers) {
      if (!options_.bounds.contains(each.count)) continue;
      if (each.count > options_.largest_count) {
        if (!options_.saturate) refuse(each.count);
        each.count = options_.largest_count;
        ++report_.saturated;
      }
      kept_.push_back(each);
    }
    return kept_;
  }

  /// UsageError: a count is larger than the output can hold.
  [[noreturn]] void refuse(std::uint64_t count) const {
    throw UsageError(fmt::format(
        "{} has a count of {}, and the output holds counts up to {}; choose wider counters or another "
        "format, or cap counts with 'warpmer convert --saturate'",
        input_, count, options_.largest_count));
  }

  const ExportOptions& options_;
  const std::string& input_;
  formats::KmerSink& sink_;
  ExportReport report_;
  std::uint64_t least_ = UINT64_MAX, most_ = 0;  ///< least and greatest of the counts that were written
  std::vector<CountedKmer> kept_;
};

}  // namespace

formats::StreamFacts facts_of(const index::IndexFile& index) {
  const index::Totals& totals = index.totals();
  return {index.params().k,     index.params().canonical, totals.stored_distinct,
          totals.largest_count, totals.min_count,         totals.max_count};
}

ExportReport export_index(const index::IndexFile& index, const ExportOptions& options,
                          formats::KmerSink& sink) {
  CountGate gate(options, options.shown_input.empty() ? index.path() : options.shown_input, sink);
  gate.check(index.totals().largest_count);
  const backend::EntryVisitor visit = [&](std::span<const CountedKmer> kmers) { gate.write(kmers); };
  if (options.order == formats::KmerOrder::any) {
    host::check_memory(options.resources.memory_bytes, backend::working_bytes(options.resources.threads),
                       options.resources.threads);
    backend::for_each_block(index, options.resources.threads, visit);
  } else {
    // A shard may have a k-mer in a group that is not its own, and in its own. Sinks rely on their order.
    std::optional<Key128> last;
    const backend::EntryVisitor visit_once = [&](std::span<const CountedKmer> kmers) {
      for (const CountedKmer& each : kmers) {
        if (last == each.kmer) {
          throw InputError(fmt::format(
              "{} is damaged: a k-mer stands in it twice; copy it again, or count again", index.path()));
        }
        last = each.kmer;
      }
      visit(kmers);
    };
    backend::for_each_block_sorted(index, options.order, options.resources.memory_bytes,
                                   options.resources.threads, visit_once);
  }
  return gate.finish();
}

ExportReport copy_kmers(formats::KmerSource& source, const std::string& input, const ExportOptions& options,
                        formats::KmerSink& sink) {
  constexpr std::size_t kAtOnce = 4096;
  host::check_memory(options.resources.memory_bytes, backend::working_bytes(options.resources.threads),
                     options.resources.threads);
  CountGate gate(options, input, sink);
  std::vector<CountedKmer> block(kAtOnce);
  while (const std::size_t n = source.read(block)) gate.write({block.data(), n});
  formats::warn_of_capped(source.capped(), input);
  return gate.finish();
}

}  // namespace warpmer::jobs
