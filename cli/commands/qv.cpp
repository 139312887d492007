/// `warpmer qv`: quality and completeness of assemblies, by the k-mers of reads.

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/empty_input.h"
#include "backend/lookup/lookup.h"
#include "backend/lookup/seen_kmers.h"
#include "base/error.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/looked_up_input.h"
#include "cli/framework/messages.h"
#include "cli/framework/ordered_team.h"
#include "cli/framework/printable.h"
#include "cli/output/asked_reads.h"
#include "cli/output/assembly_reads.h"
#include "cli/output/multiqc.h"
#include "cli/output/progress.h"
#include "cli/output/report.h"
#include "io/input_set.h"
#include "io/text/input_list.h"
#include "stats/assembly_quality.h"
#include "stats/spectrum_model.h"

namespace warpmer::cli {
namespace {

using stats::AssemblyKmers;
using stats::SolidKmers;

struct QvOptions {
  std::string index;
  std::vector<std::string> assemblies;
  std::optional<std::uint64_t> solid_count;
  std::string sequences;
  std::string multiqc;
  bool progress = false;
  io::ReadingOptions reading;
  unsigned threads = 0;
  ReportFlags report;
};

/// A row of the table: an assembly, or all together.
struct AssemblyRow {
  std::string name;
  AssemblyKmers sums;
  std::optional<std::uint64_t> solid_found;  ///< distinct; none where it is not known what is solid
  std::uint64_t sequences = 0;
};

/// The numbers that a piece of a sequence adds.
struct SequencePart {
  std::string name;
  AssemblyKmers sums;
  bool last = true;
};

AssemblyKmers sums_of(std::span<const std::uint32_t> counts) {
  AssemblyKmers sums;
  for (const std::uint32_t count : counts) {
    sums.kmers += count != backend::Profile::kNarrowNoKmer ? 1 : 0;
    sums.missing += count == 0 ? 1 : 0;
  }
  return sums;
}

std::vector<SequencePart> parts_of(const io::Batch& batch, const backend::Profile& profile) {
  std::vector<SequencePart> parts;
  parts.reserve(batch.pieces.size());
  for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
    parts.push_back(
        {std::string(batch.name(batch.pieces[i])), sums_of(profile.narrow(i)), batch.pieces[i].last});
  }
  return parts;
}

/// The columns that sequences and assemblies have in common.
std::string sums_text(const AssemblyKmers& sums, std::uint32_t k) {
  return fmt::format("{}\t{}\t{}\t{}", sums.kmers, sums.missing, number_text(stats::quality_value(sums, k)),
                     number_text(stats::base_error_rate(sums, k)));
}

class QvJob {
 public:
  /// `sequences` may be null.
  QvJob(const QvOptions& options, const index::IndexFile& index, const std::optional<SolidKmers>& solid,
        TextOutput* sequences)
      : options_(options), index_(index), k_(index.params().k), solid_(solid), sequences_(sequences) {
    const backend::LookupOptions lookup{.lenient = options.reading.lenient,
                                        .threads = threads_or_default(options.threads)};
    if (solid) {
      met_.emplace(index, solid->count);
      lookup_ = backend::make_noting_lookup(index, lookup, *met_);
    } else {
      lookup_ = backend::make_cpu_lookup(index, lookup);
    }
    if (sequences_ != nullptr) sequences_->write("assembly\tsequence\tkmers\tmissing\tqv\terror_rate\n");
  }

  /// A row for each file and, if there are several, one for all.
  std::vector<AssemblyRow> run(backend::JobProgress& progress) {
    const std::vector<io::InputFile> files = io::list_inputs(options_.assemblies);
    std::optional<backend::SeenKmers> met_by_any;
    if (solid_ && files.size() > 1) met_by_any.emplace(index_, solid_->count);
    std::vector<AssemblyRow> rows;
    AssemblyRow all{"all", {}, {}};
    std::uint64_t bytes_before = 0;
    const std::uint64_t all_bytes = bytes_of(files);
    for (const io::InputFile& file : files) {
      AssemblyRow& row = rows.emplace_back(AssemblyRow{file.shown, {}, {}});
      read(file, row, [&](std::uint64_t bytes) {
        note_share(progress, backend::JobProgress::Stage::answering, {bytes_before + bytes, all_bytes});
      });
      bytes_before += file.disk_bytes;
      all.sums += row.sums;
      all.sequences += row.sequences;
      if (solid_) row.solid_found = met_->number();
      if (met_by_any) {
        met_by_any->add(*met_);
        met_->clear();
      }
    }
    if (met_by_any) all.solid_found = met_by_any->number();
    if (files.size() > 1) rows.push_back(std::move(all));
    return rows;
  }

 private:
  /// Returns the bytes of all files; 0 when they are not known.
  static std::uint64_t bytes_of(const std::vector<io::InputFile>& files) {
    std::uint64_t bytes = 0;
    for (const io::InputFile& file : files) {
      if (file.disk_bytes == 0) return 0;
      bytes += file.disk_bytes;
    }
    return bytes;
  }

  void read(const io::InputFile& file, AssemblyRow& row,
            const std::function<void(std::uint64_t)>& note_bytes) {
    const unsigned threads = threads_or_default(options_.threads);
    io::InputSet input({file.path}, input_in_order(options_.reading, k_, threads));
    AssemblyKmers so_far;  // of a sequence that goes on in the next batch
    AskedReads asked;
    const auto look_up = [&, profile = backend::Profile()](const io::Batch& batch) mutable {
      lookup_->profile(batch, profile);
      asked.add(batch, profile);
      note_bytes(input.progress().bytes_done);
      return parts_of(batch, profile);
    };
    work_in_order<io::Batch>(input, OrderedTeam(threads), look_up, [&](const auto& parts) {
      for (const SequencePart& part : parts) add(part, so_far, row);
    });
    row.sequences = asked.totals().records;
    backend::warn_if_empty(asked.totals(), k_, shown_input(file.path));
  }

  void add(const SequencePart& part, AssemblyKmers& so_far, AssemblyRow& row) {
    so_far += part.sums;
    if (!part.last) return;
    row.sums += so_far;
    if (sequences_ != nullptr)
      sequences_->print("{}\t{}\t{}\n", printable(row.name), printable(part.name), sums_text(so_far, k_));
    so_far = {};
  }

  const QvOptions& options_;
  const index::IndexFile& index_;
  const std::uint32_t k_;
  const std::optional<SolidKmers> solid_;
  TextOutput* const sequences_;
  std::optional<backend::SeenKmers> met_;
  std::unique_ptr<backend::Lookup> lookup_;
};

void print_rows(const std::vector<AssemblyRow>& rows, std::uint32_t k, const std::optional<SolidKmers>& solid,
                TextOutput& output) {
  output.write(
      "assembly\tkmers\tmissing\tqv\terror_rate\tsolid_count\tsolid_kmers\tsolid_found\tcompleteness\n");
  for (const AssemblyRow& row : rows) {
    output.print("{}\t{}", printable(row.name), sums_text(row.sums, k));
    if (solid && row.solid_found) {
      output.print("\t{}\t{}\t{}\t{}\n", solid->count, solid->kmers, *row.solid_found,
                   number_text(stats::completeness(*row.solid_found, solid->kmers)));
    } else {
      output.write("\tNA\tNA\tNA\tNA\n");
    }
  }
}

/// JSON knows only finite numbers.
Json finite_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json rows_json(const std::vector<AssemblyRow>& rows, std::uint32_t k,
               const std::optional<SolidKmers>& solid) {
  Json assemblies = Json::array();
  for (const AssemblyRow& row : rows) {
    Json json = {{"assembly", row.name},
                 {"kmers", row.sums.kmers},
                 {"missing", row.sums.missing},
                 {"qv", finite_json(stats::quality_value(row.sums, k))},
                 {"error_rate", finite_json(stats::base_error_rate(row.sums, k))},
                 {"solid_found", nullptr},
                 {"completeness", nullptr}};
    if (solid && row.solid_found) {
      json["solid_found"] = *row.solid_found;
      json["completeness"] = finite_json(stats::completeness(*row.solid_found, solid->kmers));
    }
    assemblies.push_back(std::move(json));
  }
  return {{"k", k},
          {"solid_count", solid ? Json(solid->count) : Json(nullptr)},
          {"solid_kmers", solid ? Json(solid->kmers) : Json(nullptr)},
          {"assemblies", std::move(assemblies)}};
}

/// Returns a row for each assembly, for MultiQC; what is no number has no cell.
MultiqcSection quality_section(const std::vector<AssemblyRow>& rows, std::uint32_t k,
                               const std::optional<SolidKmers>& solid) {
  const auto column = [](const char* title, const char* description, const char* format) {
    return Json{{"title", title}, {"description", description}, {"format", format}};
  };
  MultiqcSection section;
  section.id = "warpmer_qv";
  section.name = "Quality of assemblies";
  section.description = "Assemblies by the k-mers of reads, as Merqury defines it.";
  section.headers = {
      {"qv", column("QV", "-10 log10 of the error rate", "{:,.2f}")},
      {"completeness", column("Completeness %", "Solid k-mers of the reads that it has", "{:,.2f}")},
      {"error_rate", column("Error rate", "Wrong bases per base", "{:.2e}")},
      {"kmers", column("K-mers", "Each as often as it occurs", "{:,.0f}")},
      {"missing", column("Missing", "Those that the reads do not have", "{:,.0f}")}};
  for (const AssemblyRow& row : rows) {
    std::string name = printable(row.name);
    while (section.data.contains(name)) name += "_";  // the sum of all, beside a file that is called "all"
    Json& cells = section.data[name] = {{"kmers", row.sums.kmers}, {"missing", row.sums.missing}};
    const auto add = [&](const char* cell, double value) {
      if (std::isfinite(value)) cells[cell] = value;
    };
    add("qv", stats::quality_value(row.sums, k));
    add("error_rate", stats::base_error_rate(row.sums, k));
    if (solid && row.solid_found) add("completeness", stats::completeness(*row.solid_found, solid->kmers));
  }
  return section;
}

void check_read_once(const QvOptions& options) {
  check_standard_input({{"as the index", {options.index}}, {"as an assembly", options.assemblies}});
}

void complete(QvOptions& options) {
  const std::string& output = options.report.output;
  check_ending(options.report, formats::Content::tsv);
  formats::check_ending(options.sequences, {formats::Content::tsv});
  check_read_once(options);  // a list from standard input among them
  expand_lists(options.assemblies, {output, options.sequences, options.multiqc});
  check_read_once(options);  // and what lists name
}

int run_qv(QvOptions options) {
  complete(options);
  const index::IndexFile index(options.index);
  check_reads_of_assembly(index);
  TextOutput output(options.report.output);  // now, so that a path that cannot be written costs no run
  const unsigned threads = threads_or_default(options.threads);
  std::optional<TextOutput> sequences;
  if (!options.sequences.empty()) sequences.emplace(options.sequences, threads);
  MultiqcFile multiqc(options.multiqc);
  const std::optional<SolidKmers> solid = solid_kmers_of(
      index, options.solid_count ? options.solid_count : stats::model_spectrum(index, threads).solid_count());
  const auto [rows, seconds] =
      run_with_meter(progress_style(options.progress),
                     [&, to = sequences ? &*sequences : nullptr](backend::JobProgress& progress) {
                       return QvJob(options, index, solid, to).run(progress);
                     });
  const std::uint32_t k = index.params().k;
  if (options.report.json) {
    output.write(json_text(rows_json(rows, k, solid)));
  } else {
    print_rows(rows, k, solid, output);
  }
  io::warn_of_phred64(options.reading.qualities);
  if (multiqc.is_wanted()) multiqc.write(quality_section(rows, k, solid));
  if (sequences) sequences->finish();
  multiqc.finish();
  output.finish();
  print_last_line(fmt::format("looked up {} in {}, {:.1f} s, {}", counted(rows.back().sequences, "sequence"),
                              options.index, seconds, shown_output(options.report.output)));
  return kDone;
}

}  // namespace

void add_qv_command(Application& application) {
  auto options = std::make_shared<QvOptions>();
  CLI::App& command = application.add_command(
      "qv",
      "Say how good an assembly is by the k-mers of reads: quality value and completeness, as Merqury "
      "defines them.\n"
      "The index is that of accurate reads of the same sample, counted without --min-count. K-mers of the "
      "assembly that are not in the reads are taken for errors of the assembly, k-mers of the reads that are "
      "not in the assembly for gaps.",
      R"(Columns, a line for each assembly and, of several, one for all together:
  assembly      the file
  kmers         k-mers of it, each as often as it occurs
  missing       those that the reads do not have
  qv            -10 log10 of the error rate; inf where none is missing
  error_rate    wrong bases per base: 1 - (1 - missing / kmers)^(1/k)
  solid_count   k-mers that the reads have so often are solid, no errors
  solid_kmers   distinct solid k-mers of the reads
  solid_found   those that the assembly has
  completeness  their share, in per cent
  Without k-mers, or where it is not known what is solid: NA. In JSON, inf and
  NA are null. Numbers have 6 digits, as Merqury's.
  With --sequences, of each sequence: assembly, sequence, kmers, missing, qv,
  error_rate.

Examples:
  warpmer count -k 21 -o reads.wmi reads_1.fq.gz reads_2.fq.gz
  warpmer qv reads.wmi assembly.fa
  warpmer qv reads.wmi hap1.fa hap2.fa --sequences per_sequence.tsv > qv.tsv
  warpmer qv reads.wmi assembly.fa --solid-count 5 --json
)");
  command
      .add_option("--sequences", options->sequences,
                  "Also write a line for each sequence to FILE, in input order; - for standard output.")
      ->type_name("FILE");
  add_multiqc_flag(command, options->multiqc, "a table");
  add_solid_count_flag(command, options->solid_count);
  add_reading_flags(command, options->reading);
  add_threads_flag(command, options->threads);
  add_progress_flag(command, options->progress);
  add_report_flags(command, options->report);
  add_index_argument(command, options->index);
  command
      .add_option("ASSEMBLY", options->assemblies,
                  "Sequences: any input that 'warpmer count' takes, @LIST and - included.")
      ->required()
      ->type_name("FILE");
  application.on_run(command, [options] { return run_qv(*options); });
}

}  // namespace warpmer::cli
