/// `jellyfish merge`

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/framework/command_files.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/text_output.h"
#include "cli/personalities/jellyfish/jellyfish.h"
#include "cli/personalities/named_jobs.h"
#include "formats/jellyfish/jellyfish_file.h"
#include "formats/jellyfish/jellyfish_order.h"
#include "jobs/export_job.h"
#include "jobs/temporary_index.h"

namespace warpmer::cli {
namespace {

struct JellyfishMerge {
  std::string output = "mer_counts_merged.jf";
  bool is_min = false, is_max = false, is_jaccard = false;
  std::uint64_t lower = 0, upper = UINT64_MAX;
  std::vector<std::string> inputs;
};

/// The indexes of databases, in files that are removed with this.
class MergedInputs {
 public:
  MergedInputs(const JellyfishMerge& merge, const NamedCall& call)
      : inputs_(merge.inputs), directory_(folder_for_temporary(merge.output)), call_(call) {
    for (const std::string& path : merge.inputs) import(path);
    for (std::size_t i = 1; i < facts_.size(); ++i) {
      const formats::StreamFacts &first = facts_.front(), &other = facts_[i];
      if (other.k != first.k) {
        throw UsageError(fmt::format("jellyfish merge: databases of different lengths of k-mers ({}, {})",
                                     first.k, other.k));
      }
      if (other.canonical != first.canonical) {
        throw UsageError(fmt::format("jellyfish merge: {} was counted with -C, and {} without",
                                     merge.inputs[first.canonical ? 0 : i],
                                     merge.inputs[first.canonical ? i : 0]));
      }
    }
  }

  /// Makes an index of all of them.
  std::unique_ptr<jobs::TemporaryIndex> combined(backend::SetOperation operation, backend::CountRule counts,
                                                 const backend::CountBounds& kept) {
    auto result = std::make_unique<jobs::TemporaryIndex>(directory_);
    std::vector<std::string> paths;
    paths.reserve(indexes_.size());
    for (const auto& index : indexes_) paths.push_back(index->path());
    combine_into(paths, inputs_, {.operation = operation, .counts = counts, .of_result = kept},
                 host::settled(named_resources()), call_.provenance, *result);
    return result;
  }

  /// Returns the largest of the sizes that their headers name.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

 private:
  void import(const std::string& path) {
    indexes_.push_back(std::make_unique<jobs::TemporaryIndex>(directory_));
    auto file = formats::map_jellyfish(path);
    // A larger hash fits into no memory, and warpmer 0.2 named 4^k.
    constexpr std::uint32_t kLargestBits = 40;
    const formats::JellyfishHeader header = formats::read_jellyfish_header(*file, {});
    if (header.size < std::uint64_t{1} << std::min(2 * header.facts.k, kLargestBits))
      size_ = std::max(size_, header.size);
    formats::JellyfishSource source(std::move(file), formats::JellyfishZeros::leave_out);
    facts_.push_back(source.facts());
    import_into(source, path, host::settled(named_resources()), call_.provenance, *indexes_.back());
  }

  const std::vector<std::string>& inputs_;
  std::string directory_;
  const NamedCall& call_;
  std::vector<std::unique_ptr<jobs::TemporaryIndex>> indexes_;
  std::vector<formats::StreamFacts> facts_;
  std::uint64_t size_ = 0;
};

void write_jaccard(const JellyfishMerge& merge, MergedInputs& inputs) {
  const auto totals = [&](backend::SetOperation operation, backend::CountRule counts) {
    const auto made = inputs.combined(operation, counts, {});
    std::pair<double, double> sums;
    const index::IndexFile index(made->path());
    for (const auto& [count, kmers] : index.histogram()) {
      sums.first += static_cast<double>(kmers);
      sums.second += static_cast<double>(kmers) * static_cast<double>(count);
    }
    return sums;
  };
  const auto shared = totals(backend::SetOperation::intersect, backend::CountRule::min);
  const auto all = totals(backend::SetOperation::unite, backend::CountRule::max);
  TextOutput output(merge.output);
  output.print("Jaccard  {:g}\nwJaccard {:g}\n", shared.first / all.first, shared.second / all.second);
  output.finish();
}

void write_merged(const JellyfishMerge& merge, MergedInputs& inputs, const NamedCall& call) {
  using backend::CountRule, backend::SetOperation;
  const auto made = inputs.combined(merge.is_min ? SetOperation::intersect : SetOperation::unite,
                                    merge.is_min   ? CountRule::min
                                    : merge.is_max ? CountRule::max
                                                   : CountRule::sum,
                                    {std::max<std::uint64_t>(merge.lower, 1), merge.upper});
  const index::IndexFile index(made->path());
  const formats::StreamFacts facts = jobs::facts_of(index);
  const jobs::ExportOptions job{.order = formats::KmerOrder::by_jellyfish,
                                .largest_count = UINT32_MAX,
                                .saturate = true,
                                .resources = host::settled(named_resources())};
  formats::JellyfishSink sink(merge.output, facts, 4, jellyfish_call(call),
                              formats::jellyfish_position_bits(facts.k, facts.distinct, inputs.size()));
  warn_of_capped(jobs::export_index(index, job, sink).saturated, job.largest_count, merge.output);
}

}  // namespace

int run_jellyfish_merge(const JellyfishWords& command) {
  using enum ValuePlace;
  JellyfishMerge merge;
  OptionTable table{
      "jellyfish merge",
      {taken("-o,--output", free, "output; mer_counts_merged.jf unless given", store_text(merge.output)),
       taken("-m,--min", none, "smallest counts, not sums", set_flag(merge.is_min)),
       taken("-M,--max", none, "largest counts, not sums", set_flag(merge.is_max)),
       taken("-j,--jaccard", none, "write the Jaccard similarities, and no database",
             set_flag(merge.is_jaccard)),
       taken("-L,--lower-count", free, "write k-mers that occur at least so often",
             store_number(merge.lower)),
       taken("-U,--upper-count", free, "write k-mers that occur at most so often",
             store_number(merge.upper))}};
  const auto arguments = jellyfish_arguments(command, std::move(table), "two databases or more", 2, SIZE_MAX);
  if (!arguments) return kDone;
  if (merge.is_min && merge.is_max) throw UsageError("jellyfish merge: -m and -M exclude each other");
  merge.inputs = *arguments;
  check_files({merge.output}, merge.inputs);
  MergedInputs inputs(merge, command.call);
  if (merge.is_jaccard) {
    write_jaccard(merge, inputs);
  } else {
    write_merged(merge, inputs, command.call);
  }
  return kDone;
}

}  // namespace warpmer::cli
