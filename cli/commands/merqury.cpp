/// `warpmer merqury`: Merqury's files about assemblies, by the k-mers of reads.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "backend/indexes/copy_spectra.h"
#include "backend/lookup/lookup.h"
#include "base/error.h"
#include "base/ordered_stage.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/application.h"
#include "cli/framework/command_files.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/looked_up_input.h"
#include "cli/framework/messages.h"
#include "cli/framework/ordered_team.h"
#include "cli/framework/printable.h"
#include "cli/framework/text_output.h"
#include "cli/output/assembly_reads.h"
#include "cli/output/merqury_files.h"
#include "cli/output/missing_track.h"
#include "cli/output/phase_track.h"
#include "cli/output/progress.h"
#include "cli/output/sequence_sizes.h"
#include "cli/pictures/blob_plot.h"
#include "cli/pictures/png_picture.h"
#include "file/output/output_group.h"
#include "host/limits.h"
#include "host/tmp_directory.h"
#include "io/input_set.h"
#include "io/text/input_list.h"
#include "jobs/counted_assembly.h"
#include "stats/assembly_quality.h"
#include "stats/index_spectrum.h"
#include "stats/phase_blocks.h"

namespace warpmer::cli {
namespace {

using backend::AssemblySpectra;
using backend::CopySpectrum;

struct MerquryCommand {
  jobs::MerquryOptions job;
  std::string prefix;
  std::optional<std::uint64_t> solid_count;
  stats::PhaseLimits phase_limits;
  PlotFormats plots;
  std::string phase_flag;  ///< the last flag that is for phase blocks; empty without one
  Force force = Force::no_flag;
  bool progress = false;
};

/// 6 digits, as awk prints them.
std::string awk_number(double value) { return std::isnan(value) ? "na" : fmt::format("{:.6g}", value); }

void write_rows(const std::string& name, const index::Histogram& histogram, TextOutput& output) {
  for (const auto& [count, kmers] : histogram) output.print("{}\t{}\t{}\n", name, count, kmers);
}

/// Writes a histogram for each number of copies; `none` is the name of the first.
void write_copies(const std::string& path, const std::string& none, const CopySpectrum& spectrum) {
  TextOutput output(path);
  output.write("Copies\tkmer_multiplicity\tCount\n");
  for (std::size_t i = 0; i < CopySpectrum::kClasses; ++i) {
    const std::string name = i == 0 ? none : i + 1 == CopySpectrum::kClasses ? ">4" : std::to_string(i);
    write_rows(name, spectrum.of_reads[i], output);
  }
  output.finish();
}

void write_only(const std::string& path, const CopySpectrum& spectrum) {
  const auto& classes = spectrum.not_in_reads;
  const std::uint64_t distinct = std::accumulate(classes.begin(), classes.end(), std::uint64_t{0});
  TextOutput output(path);
  output.print("1\t0\t{}\n2\t0\t{}\n", distinct, spectrum.missing - distinct);
  output.finish();
}

/// Writes who has the reads' k-mers, and who those that reads do not have.
void write_owners(const MerquryFiles& files, const AssemblySpectra& spectra) {
  const std::vector<std::string> names = files.owners();
  TextOutput output(files.path("spectra-asm.hist")), missing(files.path("dist_only.hist"));
  output.write("Assembly\tkmer_multiplicity\tCount\n");
  for (std::size_t owner = 0; owner < names.size(); ++owner) {
    write_rows(names[owner], spectra.by_owner[owner], output);
    if (owner > 0) missing.print("{}\t0\t{}\n", names[owner], spectra.missing_by_owner[owner]);
  }
  output.finish();
  missing.finish();
}

void write_quality(const MerquryFiles& files, const AssemblySpectra& spectra, std::uint32_t k,
                   TextOutput& output) {
  for (std::size_t c = 0; c < spectra.spectra[0].size(); ++c) {
    const stats::AssemblyKmers sums{spectra.spectra[0][c].kmers, spectra.spectra[0][c].missing};
    output.print("{}\t{}\t{}\t{}\t{}\n", c < files.assemblies().size() ? files.assemblies()[c] : "Both",
                 sums.missing, sums.kmers, awk_number(stats::quality_value(sums, k)),
                 awk_number(stats::base_error_rate(sums, k)));
  }
  output.finish();
}

std::uint64_t kmers_of(const CopySpectrum& spectrum) {
  std::uint64_t kmers = spectrum.found(1);
  for (const auto& [count, number] : spectrum.of_reads[0]) kmers += number;
  return kmers;
}

/// Writes shares of solid k-mers, and of hap-mers, that the assemblies have.
void write_completeness(const MerquryFiles& files, const AssemblySpectra& spectra,
                        const std::optional<stats::SolidKmers>& solid) {
  TextOutput output(files.path("completeness.stats"));
  const auto write = [&](std::size_t column, const std::string& set, std::uint64_t found, std::uint64_t all) {
    output.print("{}\t{}\t{}\t{}\t{}\n",
                 column < files.assemblies().size() ? files.assemblies()[column] : "both", set, found, all,
                 awk_number(stats::completeness(found, all)));
  };
  if (solid) {
    for (std::size_t c = 0; c < spectra.spectra[0].size(); ++c)
      write(c, "all", spectra.spectra[0][c].found(solid->count), solid->kmers);
  }
  for (std::size_t c = 0; c < spectra.spectra[0].size(); ++c) {
    for (std::size_t h = 0; h < files.hapmers().size(); ++h) {
      const CopySpectrum& spectrum = spectra.spectra[1 + h][c];
      write(c, files.hapmers()[h], spectrum.found(1), kmers_of(spectrum));
    }
  }
  output.finish();
}

void write_spectra(const MerquryFiles& files, const AssemblySpectra& spectra) {
  for (std::size_t c = 0; c < spectra.spectra[0].size(); ++c) {
    const std::string of = c < files.assemblies().size() ? files.assemblies()[c] + "." : "";
    write_copies(files.path(of + "spectra-cn.hist"), "read-only", spectra.spectra[0][c]);
    write_only(files.path(of + "only.hist"), spectra.spectra[0][c]);
  }
  for (std::size_t a = 0; a < files.assemblies().size(); ++a) {
    for (std::size_t h = 0; h < files.hapmers().size(); ++h) {
      const std::string& hapmer = files.hapmers()[h];
      write_copies(files.path(files.assemblies()[a] + "." + hapmer + ".spectra-hap-cn.hist"),
                   hapmer + "-only", spectra.spectra[1 + h][a]);
    }
  }
  write_owners(files, spectra);
}

/// The numbers that a piece of a sequence adds.
struct ContigPart {
  std::string name;
  std::vector<MissingRun> missing;  ///< k-mers that reads do not have
  std::uint64_t kmers = 0;
  std::uint64_t missing_kmers = 0;
  std::vector<std::uint64_t> of_hapmers;  ///< k-mers that each set of hap-mers has
  std::vector<stats::HapMarker> markers;  ///< these k-mers
  std::vector<GaplessStretch> stretches;  ///< of the bases that were not in the piece before
  std::uint64_t end = 0;                  ///< position behind the last base
  bool last = true;
};

/// Looks all sequences of an assembly up, and writes what is said of each, in order.
class ContigJob {
 public:
  ContigJob(const MerquryCommand& command, const MerquryFiles& files,
            const std::vector<std::unique_ptr<backend::Lookup>>& lookups, std::uint64_t mapped_bytes)
      : command_(command),
        files_(files),
        lookups_(lookups),
        mapped_bytes_(mapped_bytes),
        k_(lookups.front()->kmers().k) {
    if (files.hapmers().empty()) return;
    hapmers_.emplace(files.path("hapmers.count"));
    hapmers_->print("Assembly\tContig\t{}\t{}\tSize\n", files.hapmers()[0], files.hapmers()[1]);
  }

  void run(std::size_t assembly) {
    const unsigned threads = command_.job.resources.threads;
    io::InputSet input({command_.job.assemblies[assembly]}, reading(threads));
    TextOutput quality(files_.path(files_.assemblies()[assembly] + ".qv"));
    MissingTrack track(files_.track(assembly, ".bed"), files_.track(assembly, ".wig"), k_, threads);
    std::optional<PhaseTrack> phases;
    if (hapmers_) phases.emplace(files_, assembly, command_.phase_limits, command_.plots, k_, threads);
    SequenceSizes sizes;
    ContigPart contig;
    contig.of_hapmers.resize(files_.hapmers().size());
    const auto look_up =
        [&, profiles = std::vector<backend::Profile>(lookups_.size())](const io::Batch& batch) mutable {
          for (std::size_t i = 0; i < lookups_.size(); ++i) lookups_[i]->profile(batch, profiles[i]);
          return parts_of(batch, profiles, k_);
        };
    const auto add_parts = [&](const std::vector<ContigPart>& parts) {
      for (const ContigPart& part : parts) {
        track.add(part.name, part.missing, part.last);
        if (phases) {
          phases->add(part.name, part.markers, part.last);
          sizes.add(part.stretches, part.end, part.last);
        }
        add(part, contig, assembly, quality);
      }
    };
    work_in_order<io::Batch>(input, OrderedTeam(threads), look_up, add_parts);
    track.finish();
    if (phases) {
      phases->finish();
      const std::string& name = files_.assemblies()[assembly];
      sizes.write(files_.path(name), name, threads);
      sizes.draw(command_.plots, files_.path(name), name, phases->blocks());
    }
    quality.finish();
  }
  void finish() {
    if (!hapmers_) return;
    hapmers_->finish();
    if (!command_.plots.any()) return;
    write_plot(command_.plots, files_.path("hapmers.blob"),
               draw_blobs({"Hap-mers of sequences", files_.hapmers()[0], files_.hapmers()[1],
                           files_.assemblies(), blobs_.take(), blobs_.all()},
                          Svg::Frame::file));
  }

 private:
  [[nodiscard]] io::InputOptions reading(unsigned threads) const {
    const host::Resources& resources = command_.job.resources;
    io::InputOptions options = input_in_order(command_.job.reading, k_, threads);
    options.longest_record_bytes = host::longest_record_bytes(resources.memory_bytes, threads);
    constexpr std::uint64_t kOfText = 4, kOfResult = 16;  // bytes for a base, at most
    const std::uint64_t indexes = lookups_.size();
    const std::uint64_t of_base = kOfText + sizeof(std::uint32_t) * indexes +
                                  kResultsAhead * (kOfResult + (indexes - 1) * 2 * sizeof(stats::HapMarker));
    fit_batches({mapped_bytes_, of_base, static_cast<unsigned>(indexes)}, resources, options);
    return options;
  }

  static std::vector<ContigPart> parts_of(const io::Batch& batch,
                                          const std::vector<backend::Profile>& profiles, std::uint32_t k) {
    std::vector<ContigPart> parts(batch.pieces.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const io::Piece& piece = batch.pieces[i];
      ContigPart& part = parts[i];
      part.name = batch.name(piece);
      part.last = piece.last;
      const auto counts = profiles.front().narrow(i);
      for (std::size_t at = 0; at < counts.size(); ++at) {
        part.kmers += counts[at] != backend::Profile::kNarrowNoKmer ? 1 : 0;
        if (counts[at] != 0) continue;
        const std::uint64_t start = piece.first_base + at;
        if (part.missing.empty() || part.missing.back().end != start) part.missing.push_back({start, start});
        ++part.missing.back().end;
        ++part.missing_kmers;
      }
      add_markers(profiles, i, piece.first_base, k, part);
      if (profiles.size() == 1) continue;
      const std::uint32_t repeated = piece.length - piece.new_bases(k);
      part.stretches = gapless_stretches(batch.bases(piece).substr(repeated), piece.first_base + repeated);
      part.end = piece.first_base + piece.length;
    }
    return parts;
  }

  /// A k-mer that both sets have is a marker of both, in their order.
  static void add_markers(const std::vector<backend::Profile>& profiles, std::size_t piece,
                          std::uint64_t first_base, std::uint32_t k, ContigPart& part) {
    part.of_hapmers.resize(profiles.size() - 1);
    for (std::size_t at = 0; at < profiles.front().narrow(piece).size(); ++at) {
      for (std::size_t h = 0; h < part.of_hapmers.size(); ++h) {
        const std::uint32_t count = profiles[h + 1].narrow(piece)[at];
        if (count == 0 || count == backend::Profile::kNarrowNoKmer) continue;
        ++part.of_hapmers[h];
        part.markers.push_back({first_base + at, first_base + at + k, h});
      }
    }
  }

  void add(const ContigPart& part, ContigPart& contig, std::size_t assembly, TextOutput& quality) {
    contig.kmers += part.kmers;
    contig.missing_kmers += part.missing_kmers;
    for (std::size_t h = 0; h < part.of_hapmers.size(); ++h) contig.of_hapmers[h] += part.of_hapmers[h];
    if (!part.last) return;
    const stats::AssemblyKmers sums{contig.kmers, contig.missing_kmers};
    quality.print("{}\t{}\t{}\t{}\t{}\n", printable(part.name), sums.missing, sums.kmers,
                  awk_number(stats::quality_value(sums, k_)), awk_number(stats::base_error_rate(sums, k_)));
    if (hapmers_) {
      hapmers_->print("{}\t{}\t{}\t{}\t{}\n", files_.assemblies()[assembly], printable(part.name),
                      contig.of_hapmers[0], contig.of_hapmers[1], contig.kmers);
      blobs_.add({part.name, assembly, contig.of_hapmers[0], contig.of_hapmers[1], contig.kmers});
    }
    contig.kmers = contig.missing_kmers = 0;
    std::fill(contig.of_hapmers.begin(), contig.of_hapmers.end(), 0);
  }

  const MerquryCommand& command_;
  const MerquryFiles& files_;
  const std::vector<std::unique_ptr<backend::Lookup>>& lookups_;
  const std::uint64_t mapped_bytes_;  ///< of the indexes that k-mers are looked up in
  const std::uint32_t k_;
  std::optional<TextOutput> hapmers_;
  LargestBlobs blobs_;
};

/// Rejects what no job could do.
void complete(MerquryCommand& command, const MerquryFiles& files) {
  jobs::MerquryOptions& job = command.job;
  if (job.assemblies.size() > 2)
    throw UsageError(fmt::format("one or two assemblies can be judged, not {}", job.assemblies.size()));
  const std::string last = command.prefix.substr(command.prefix.find_last_of('/') + 1);
  if (last.empty() || last == "." || last == "..") {
    throw UsageError("-o needs a prefix for names of files, as out/sample; '" + command.prefix +
                     "' ends in none");
  }
  std::vector<std::string> indexes = job.hapmers;
  indexes.push_back(job.reads);
  check_can_be_read_again(indexes, "merqury opens an index");
  for (const io::InputFile& file : io::list_inputs(job.assemblies)) {
    if (!io::can_be_opened_again(file))
      throw UsageError(file.shown + " is an assembly, which is read twice; give a file");
  }
  if (files.is_pair() && files.assemblies().front() == files.assemblies().back()) {
    throw UsageError("both assemblies are called '" + files.assemblies().front() +
                     "', and files are named after them; rename one");
  }
  if (!files.hapmers().empty() && files.hapmers().front() == files.hapmers().back()) {
    throw UsageError("both sets of hap-mers are called '" + files.hapmers().front() +
                     "', and files are named after them; rename one");
  }
  if (files.hapmers().empty() && !command.phase_flag.empty())
    throw UsageError(command.phase_flag + " is for phase blocks, which are those of --hapmers; add them");
  if (command.plots.png && !command.plots.svg)
    throw UsageError("--no-plots draws nothing, and --png asks for pictures; leave one of them out");
  if (command.plots.png) check_png();
  job.tmp_directory = host::tmp_directory(job.tmp_directory, files.path("qv"));
}

/// Checks all files that were written and have not got their names yet.
void check_outputs(const MerquryCommand& command) {
  std::vector<std::string> inputs = command.job.assemblies;
  inputs.push_back(command.job.reads);
  if (!command.job.reading.reference.empty()) inputs.push_back(command.job.reading.reference);
  inputs.insert(inputs.end(), command.job.hapmers.begin(), command.job.hapmers.end());
  check_files(file::OutputGroup::current()->names(), inputs, command.force);
}

int run_merqury(MerquryCommand command) {
  const MerquryFiles files(command.prefix, command.job.assemblies, command.job.hapmers);
  complete(command, files);
  command.job.resources = host::settled(command.job.resources);
  const index::IndexFile reads(command.job.reads);
  check_reads_of_assembly(reads);
  stats::IndexSpectrum spectrum(reads, command.job.resources.threads);
  const std::optional<stats::SolidKmers> solid =
      solid_kmers_of(reads, command.solid_count ? command.solid_count : spectrum.model().solid_count());
  TextOutput quality(files.path("qv"));  // now, so that a path that cannot be written costs no run
  std::deque<index::IndexFile> hapmers;
  const backend::LookupOptions lookup{.lenient = command.job.reading.lenient,
                                      .threads = command.job.resources.threads};
  const auto [spectra, seconds] =
      run_with_meter(progress_style(command.progress), [&](backend::JobProgress& progress) {
        AssemblySpectra found = jobs::assembly_spectra(command.job, progress);
        host::return_freed_memory_at_once();
        std::vector<std::unique_ptr<backend::Lookup>> lookups;
        lookups.push_back(backend::make_cpu_lookup(reads, lookup));
        std::uint64_t mapped_bytes = reads.file_bytes();
        for (const std::string& path : command.job.hapmers) {
          lookups.push_back(backend::make_cpu_lookup(hapmers.emplace_back(path), lookup));
          mapped_bytes += hapmers.back().file_bytes();
        }
        ContigJob contigs(command, files, lookups, mapped_bytes);
        for (std::size_t a = 0; a < files.assemblies().size(); ++a) contigs.run(a);
        contigs.finish();
        return found;
      });
  write_quality(files, spectra, reads.params().k, quality);
  write_completeness(files, spectra, solid);
  write_spectra(files, spectra);
  draw_spectra(files, command.plots, spectrum, spectra);
  check_outputs(command);
  print_last_line(fmt::format("judged {} by {}, {:.1f} s, {}.*", counted(files.assemblies().size(), "file"),
                              command.job.reads, seconds, command.prefix));
  return kDone;
}

}  // namespace

void add_merqury_command(Application& application) {
  auto command = std::make_shared<MerquryCommand>();
  CLI::App& app = application.add_command(
      "merqury",
      "Write Merqury's files about one or two assemblies, by the k-mers of reads.\n"
      "Names, columns and definitions are Merqury's, so its plots and what reads its results go on as they "
      "are. "
      "The index is that of accurate reads of the same sample, counted without --min-count. For a table of "
      "quality and completeness alone, 'warpmer qv' is faster.",
      R"(Files, where ASM is the name of an assembly's file without .fa, .fasta and .gz:
  PREFIX.qv                      k-mers that only the assembly has, all k-mers,
                                 QV, error rate
  PREFIX.ASM.qv                  the same for each sequence
  PREFIX.completeness.stats      solid k-mers, and hap-mers, that are there
  PREFIX[.ASM].spectra-cn.hist   the reads' k-mers by copies in the assembly
  PREFIX[.ASM].only.hist         k-mers that the reads do not have
  PREFIX.spectra-asm.hist        the reads' k-mers by who has them
  PREFIX.dist_only.hist          k-mers that the reads do not have likewise
  ASM_only.bed, ASM_only.wig     where those are, in the folder of PREFIX
  PREFIX.hapmers.count           with --hapmers: how many each sequence has
  PREFIX.ASM.HAP.spectra-hap-cn.hist   with --hapmers: they by copies

Phase blocks, with --hapmers:
  100_20000 are --num-switch and --short-range.
  PREFIX.ASM.100_20000.phased_block.bed     blocks with their switches
  PREFIX.ASM.100_20000.phased_block.counts  hap-mers of each block
  PREFIX.ASM.100_20000.phased_block.stats   number, sum, smallest, mean, N50 and
                                            largest of blocks; their switches
  PREFIX.ASM.100_20000.switches.txt         switches in per cent of hap-mers
  PREFIX.ASM.100_20000.phased_block.sizes   sizes of blocks, falling
  PREFIX.ASM.100_20000.switch.bed           each hap-mer
  PREFIX.ASM.HAP.wig                        how many hap-mers are over a base
  PREFIX.ASM.contig.sizes, .scaff.sizes     sizes of sequences without and with
                                            gaps, falling

Pictures:
  X is fl (filled), ln (lines) or st (stacked). --png makes .png of them, too.
  PREFIX[.ASM].spectra-cn.X.svg, PREFIX.spectra-asm.X.svg, and with --hapmers
  PREFIX.ASM.HAP.spectra-cn.X.svg, PREFIX.hapmers.blob.svg,
  PREFIX.ASM.100_20000.phased_block.blob.svg, and sizes over their share of
  all bases (N*): PREFIX.ASM.block.N.svg and PREFIX.ASM.continuity.N.svg

Examples:
  warpmer count -k 21 -o reads.wmi reads_1.fq.gz reads_2.fq.gz
  warpmer merqury reads.wmi assembly.fa -o out
  warpmer merqury reads.wmi hap1.fa hap2.fa -o out
  warpmer merqury reads.wmi mat.fa pat.fa --hapmers mat.wmi pat.wmi -o trio
)");
  app.add_option("-o,--prefix", command->prefix, "Begin the names of what is written with PREFIX.")
      ->required()
      ->type_name("PREFIX");
  app.add_option("--hapmers", command->job.hapmers,
                 "Indexes of the k-mers that only one of the parents has and the child inherited.")
      ->expected(2)
      ->allow_extra_args(false)  // what follows the two is INDEX
      ->type_name("FILE");
  const auto note = [command](std::uint64_t& limit, const char* flag) {
    return [command, &limit, flag](std::uint64_t value) {
      limit = value;
      command->phase_flag = flag;
    };
  };
  add_whole_number(app, "--num-switch", 1, UINT64_MAX, note(command->phase_limits.switches, "--num-switch"),
                   "So many hap-mers of the other haplotype in a row begin a new phase block. Default: 100.");
  add_whole_number(app, "--short-range", 0, UINT64_MAX,
                   note(command->phase_limits.range_bases, "--short-range"),
                   "So do those that reach over more than so many bases. Default: 20000.");
  app.add_flag_callback(
      "--no-plots", [command] { command->plots.svg = false; }, "Draw no pictures.");
  app.add_flag("--png", command->plots.png, "Draw the pictures as PNG, too.");
  add_solid_count_flag(app, command->solid_count);
  add_reading_flags(app, command->job.reading);
  add_resource_flags(app, command->job.resources);
  add_tmp_directory_flag(app, command->job.tmp_directory);
  add_progress_flag(app, command->progress);
  add_index_argument(app, command->job.reads)->description("Index written by 'warpmer count', in a file.");
  app.add_option("ASSEMBLY", command->job.assemblies, "Sequences of one assembly, or of two haplotypes.")
      ->required()
      ->type_name("FILE");
  application.on_run(app, [command, &app] {
    command->force = force_of(app);
    return run_merqury(*command);
  });
}

}  // namespace warpmer::cli
