/// `jellyfish query`, `merge`

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/messages.h"
#include "cli/framework/text_output.h"
#include "cli/output/progress.h"
#include "cli/personalities/jellyfish/jellyfish.h"
#include "cli/personalities/named_jobs.h"
#include "formats/jellyfish/jellyfish_file.h"
#include "formats/jellyfish/jellyfish_lookup.h"
#include "formats/jellyfish/jellyfish_text.h"
#include "io/input_set.h"
#include "jobs/export_job.h"
#include "jobs/set_job.h"
#include "jobs/temporary_index.h"

namespace warpmer::cli {
namespace {

/// Prints the counts of k-mers in a database.
class JellyfishQueries {
 public:
  JellyfishQueries(const formats::JellyfishLookup& database, TextOutput& output)
      : database_(database), output_(output) {}

  /// Prints a k-mer and its count.
  void print(Key128 kmer) {
    constexpr std::size_t kDigits = 20;
    kmer = in_database(kmer);
    char* const begin = output_.reserve(k() + kKmerRoom + kDigits);
    write_kmer(kmer, k(), begin);
    begin[k()] = ' ';
    char* end = std::to_chars(begin + k() + 1, begin + k() + 1 + kDigits, database_.find(kmer)).ptr;
    *end++ = '\n';
    output_.commit(static_cast<std::size_t>(end - begin));
  }

  /// Prints the count of a k-mer given as text, behind it or alone; says on stderr when it is none.
  void print(const std::string& word, bool is_alone) {
    Key128 kmer = 0;
    if (word.size() != k() || !kmer_from_text(word, kmer)) {
      print_error(fmt::format("Invalid mer '{}'", word));
    } else if (is_alone) {
      output_.print("{}\n", database_.find(in_database(kmer)));
    } else {
      print(kmer);
    }
  }

  /// Prints all k-mers of a sequence file, in its order.
  void print_sequences(const std::string& path) {
    io::InputOptions options;
    options.reading.lenient = true;
    options.overlap_bases = k() - 1;
    options.in_order = true;
    options.one_caller = true;
    io::InputSet input({path}, options);
    io::Batch batch;
    while (input.next(batch)) {
      for (const io::Piece& piece : batch.pieces)
        print_piece({batch.text.data() + piece.offset, piece.length});
    }
  }

 private:
  [[nodiscard]] std::uint32_t k() const { return database_.header().k; }
  [[nodiscard]] Key128 in_database(Key128 kmer) const {
    return database_.header().canonical ? canonical(kmer, k()) : kmer;
  }

  void print_piece(std::string_view bases) {
    Key128 kmer = 0;
    std::uint32_t length = 0;
    for (const char base : bases) {
      const bool is_base = char_class(base) == CharClass::base;
      kmer = is_base ? (kmer << 2 | base_code(base)) & key_mask<Key128>(k()) : 0;
      length = is_base ? length + 1 : 0;
      if (is_base && length >= k()) print(kmer);
    }
  }

  const formats::JellyfishLookup& database_;
  TextOutput& output_;
};

}  // namespace

int run_jellyfish_query(const JellyfishWords& command) {
  using enum ValuePlace;
  std::vector<std::string> sequences;
  std::string path = "-";
  bool is_interactive = false;
  const OptionTable table{
      "jellyfish query",
      {taken("-s,--sequence", free, "print the counts of all k-mers of this file",
             [&](const GivenOption& given) { sequences.emplace_back(given.value); }),
       taken("-o,--output", free, "output; standard output unless given", store_text(path)),
       taken("-i,--interactive", none, "print the counts of k-mers on standard input",
             set_flag(is_interactive)),
       ignored("-l,--load", none, "read the database into memory"),
       ignored("-L,--no-load", none, "do not read the database into memory")},
      true};
  const auto arguments = jellyfish_arguments(command, table, "file mers...", 1, SIZE_MAX);
  if (!arguments) return kDone;
  const formats::JellyfishLookup database(arguments->front());
  TextOutput output(path);
  JellyfishQueries queries(database, output);
  for (const std::string& file : sequences) queries.print_sequences(file);
  for (auto word = arguments->begin() + 1; word != arguments->end(); ++word) queries.print(*word, false);
  std::string line;
  while (is_interactive && std::getline(std::cin, line)) queries.print(line, true);
  output.finish();
  return kDone;
}

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
      : directory_(folder_for_temporary(merge.output)), call_(call) {
    for (const std::string& path : merge.inputs) import(path);
    for (const auto& kmers : facts_) {
      if (kmers.k != facts_.front().k) {
        throw UsageError(fmt::format("jellyfish merge: databases of different lengths of k-mers ({}, {})",
                                     facts_.front().k, kmers.k));
      }
    }
  }

  /// Makes an index of all of them.
  std::unique_ptr<jobs::TemporaryIndex> combined(backend::SetOperation operation, backend::CountRule counts,
                                                 const backend::CountBounds& kept) {
    auto result = std::make_unique<jobs::TemporaryIndex>(directory_);
    jobs::SetOptions job;
    job.rule = {.operation = operation, .counts = counts, .of_result = kept};
    for (const auto& index : indexes_) job.inputs.push_back(index->path());
    job.of_inputs.resize(1);
    job.resources = host::settled(named_resources());
    job.output = result->path();
    job.provenance = call_.provenance;
    backend::JobProgress progress;
    jobs::run_set_operation(job, progress);
    return result;
  }

 private:
  void import(const std::string& path) {
    indexes_.push_back(std::make_unique<jobs::TemporaryIndex>(directory_));
    formats::JellyfishSource source(path);
    facts_.push_back(source.facts());
    import_into(source, path, host::settled(named_resources()), call_.provenance, *indexes_.back());
  }

  std::string directory_;
  const NamedCall& call_;
  std::vector<std::unique_ptr<jobs::TemporaryIndex>> indexes_;
  std::vector<formats::StreamFacts> facts_;
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
  const jobs::ExportOptions job{.order = formats::KmerOrder::by_jellyfish,
                                .largest_count = UINT32_MAX,
                                .saturate = true,
                                .resources = host::settled(named_resources())};
  formats::JellyfishSink sink(merge.output, jobs::facts_of(index), 4, jellyfish_call(call));
  jobs::export_index(index, job, sink);
}

}  // namespace

int run_jellyfish_merge(const JellyfishWords& command) {
  using enum ValuePlace;
  JellyfishMerge merge;
  const OptionTable table{
      "jellyfish merge",
      {taken("-o,--output", free, "output; mer_counts_merged.jf unless given", store_text(merge.output)),
       taken("-m,--min", none, "smallest counts, not sums", set_flag(merge.is_min)),
       taken("-M,--max", none, "largest counts, not sums", set_flag(merge.is_max)),
       taken("-j,--jaccard", none, "write the Jaccard similarities, and no database",
             set_flag(merge.is_jaccard)),
       taken("-L,--lower-count", free, "write k-mers that occur at least so often",
             store_number(merge.lower)),
       taken("-U,--upper-count", free, "write k-mers that occur at most so often",
             store_number(merge.upper))},
      true};
  const auto arguments = jellyfish_arguments(command, table, "two databases or more", 2, SIZE_MAX);
  if (!arguments) return kDone;
  if (merge.is_min && merge.is_max) throw UsageError("jellyfish merge: -m and -M exclude each other");
  merge.inputs = *arguments;
  MergedInputs inputs(merge, command.call);
  if (merge.is_jaccard) {
    write_jaccard(merge, inputs);
  } else {
    write_merged(merge, inputs, command.call);
  }
  return kDone;
}

}  // namespace warpmer::cli
