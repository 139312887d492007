/// `warpmer histo`: how many distinct k-mers occur how often.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/index_params.h"
#include "base/error.h"
#include "cli/arguments/asked_table.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/index_inputs.h"
#include "cli/arguments/sample_names.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/printable.h"
#include "cli/framework/text_output.h"
#include "cli/output/counted_histogram.h"
#include "cli/output/table_schemas.h"
#include "cli/pictures/chart.h"
#include "cli/pictures/png_picture.h"
#include "cli/pictures/spectrum_chart.h"
#include "cli/pictures/terminal_plot.h"
#include "file/output/output_path.h"
#include "formats/fastk/fastk_histogram.h"
#include "formats/table/table_format.h"
#include "formats/text/ending.h"
#include "index/index_file.h"
#include "index/index_start.h"
#include "io/fastx/sequence_data.h"
#include "io/text/input_list.h"
#include "io/text/line_reader.h"
#include "serve/remote_table.h"
#include "stats/spectrum_model.h"

namespace warpmer::cli {
namespace {

struct HistoOptions {
  std::vector<std::string> inputs;  ///< indexes, or reads
  std::string title;                ///< of a picture of reads: the inputs as they were typed
  std::string server;               ///< instead of any
  CountFlags counting;              ///< of reads
  bool has_length = false;          ///< `-k` was given: the inputs are reads
  std::string counting_flag;        ///< one of the flags for counting that was given; empty: none was
  bool progress = false;
  std::string output;
  std::string format;  ///< empty: as the output's name has it
  bool dense = false;
  std::optional<std::uint64_t> max_count;
  bool cut = false;
  bool plot = false;
  bool log = false;

  [[nodiscard]] bool is_svg() const {
    return formats::content_of_path(output).content == formats::Content::svg;
  }
  [[nodiscard]] bool is_png() const {
    return formats::content_of_path(output).content == formats::Content::png;
  }
  [[nodiscard]] bool is_picture() const { return plot || is_svg() || is_png(); }
};

/// A histogram to print, and the index that it is of.
struct Spectrum {
  const index::Histogram& histogram;
  std::string name;
  index::IndexParams params;
  const index::Totals& totals;
};

/// `jellyfish histo` and `kat hist` have rows up to this count, and one for all larger ones, unless told
/// otherwise.
constexpr std::uint64_t kLastRow = 10000;
/// The largest count if every count is a row.
constexpr std::uint64_t kMostRows = 1'000'000;

// One space between the columns: other tools split on it.
void print_row(TextOutput& output, std::uint64_t count, std::uint64_t kmers) {
  output.print("{} {}\n", count, kmers);
}

/// Rows of the counts there are, or of all from 1 to the largest. Returns the count after the last.
std::uint64_t print_rows(const index::Histogram& histogram, bool dense, TextOutput& output) {
  std::uint64_t next = 1;
  for (const auto& [count, kmers] : histogram) {
    for (; dense && next < count; ++next) print_row(output, next, 0);
    print_row(output, count, kmers);
    next = count + 1;
  }
  return next;
}

/// Rows from `first` to `last`, and one more for the k-mers that occur more often.
void print_capped_rows(const index::Histogram& histogram, std::uint64_t first, std::uint64_t last,
                       TextOutput& output) {
  auto at = histogram.begin();
  for (std::uint64_t count = first; count <= last; ++count) {
    const bool is_there = at != histogram.end() && at->first == count;
    print_row(output, count, is_there ? (at++)->second : 0);
  }
  std::uint64_t rest = 0;
  for (; at != histogram.end(); ++at) rest += at->second;
  print_row(output, last + 1, rest);
}

/// With `max_count`, larger counts are one more row, of the count after it, or with `cut` left out.
index::Histogram capped(const index::Histogram& histogram, const HistoOptions& options) {
  if (!options.max_count) return histogram;
  index::Histogram rows(histogram.begin(), histogram.upper_bound(*options.max_count));
  std::uint64_t rest = 0;
  for (auto at = histogram.upper_bound(*options.max_count); at != histogram.end(); ++at) rest += at->second;
  if (rest > 0 && !options.cut) rows[*options.max_count + 1] = rest;
  return rows;
}

/// Every count up to the largest is a row: so many are no readable histogram, but a mistake.
void check_rows(const index::Histogram& histogram, const HistoOptions& options, const std::string& path) {
  if (histogram.empty()) return;
  const std::uint64_t largest = histogram.rbegin()->first;
  if (std::min(largest, options.max_count.value_or(UINT64_MAX)) <= kMostRows) return;
  throw UsageError(
      fmt::format("the largest count of {} is {}, and a row for every count would be too many; "
                  "give a --max-count up to {} (for example {})",
                  printable(path), largest, kMostRows, kLastRow));
}

void print_plain(const HistoOptions& options, const Spectrum& spectrum, TextOutput& output) {
  const index::Histogram rows = capped(spectrum.histogram, options);
  if (options.dense) check_rows(spectrum.histogram, options, spectrum.name);
  print_rows(rows, options.dense, output);
}

/// GenomeScope drops the last row, where jellyfish sums up; so there is one to be dropped, of a count that no
/// k-mer has.
void print_for_genomescope(const HistoOptions& options, const Spectrum& spectrum, TextOutput& output) {
  const index::Histogram rows = capped(spectrum.histogram, options);
  check_rows(spectrum.histogram, options, spectrum.name);
  print_row(output, print_rows(rows, true, output), 0);
}

void print_for_jellyfish(const HistoOptions& options, const Spectrum& spectrum, TextOutput& output) {
  print_capped_rows(spectrum.histogram, 0, options.max_count.value_or(kLastRow), output);
}

void print_for_kat(const HistoOptions& options, const Spectrum& spectrum, TextOutput& output) {
  const std::uint32_t k = spectrum.params.k;
  const std::string path = printable(spectrum.name);
  output.print("# Title:{}-mer spectra for: {}\n# XLabel:{}-mer frequency\n# YLabel:# distinct {}-mers\n", k,
               path, k, k);
  output.print("# Kmer value:{}\n# Input 1:{}\n###\n", k, path);
  print_capped_rows(spectrum.histogram, 1, options.max_count.value_or(kLastRow), output);
}

/// A row for each count that k-mers of any of the samples have, and a column for each sample.
void print_columns(const std::vector<index::Histogram>& histograms, bool dense, TextOutput& output) {
  std::map<std::uint64_t, std::vector<std::uint64_t>> rows;
  for (std::size_t i = 0; i < histograms.size(); ++i) {
    for (const auto& [count, kmers] : histograms[i])
      rows.try_emplace(count, histograms.size(), 0).first->second[i] = kmers;
  }
  std::uint64_t next = 1;
  const std::vector<std::uint64_t> none(histograms.size(), 0);
  for (const auto& [count, kmers] : rows) {
    for (; dense && next < count; ++next) output.print("{}\t{}\n", next, fmt::join(none, "\t"));
    output.print("{}\t{}\n", count, fmt::join(kmers, "\t"));
    next = count + 1;
  }
}

/// One sample has no name.
void write_table(const HistoOptions& options, std::uint32_t k, const std::vector<std::string>& names,
                 const std::vector<index::Histogram>& histograms, TextOutput& output) {
  if (const auto content = formats::table_named(options.format)) {
    output.begin_table(*content, histogram_table(k, names));
  } else {
    output.print("count\t{}\n", fmt::join(names, "\t"));
  }
  print_columns(histograms, options.dense, output);
}

void print_for_tables(const HistoOptions& options, const Spectrum& spectrum, TextOutput& output) {
  write_table(options, spectrum.params.k, {}, {capped(spectrum.histogram, options)}, output);
}

/// FastK's own file, which is binary.
void print_for_fastk(const HistoOptions& options, const Spectrum& spectrum, TextOutput& output) {
  if (options.max_count)
    throw UsageError("--format fastk always has rows up to 32767; leave out --max-count");
  output.write(formats::encoded(formats::fastk_histogram_of(spectrum.params.k, spectrum.histogram)));
}

struct HistoFormat {
  std::string_view name;
  std::string_view help;  ///< lines of the section `Formats:`
  void (*print)(const HistoOptions&, const Spectrum&, TextOutput&);
};

/// The list of formats.
constexpr std::array kFormats = {
    HistoFormat{"plain", "a row for each count that k-mers have", print_plain},
    HistoFormat{"genomescope",
                "every count from 1 to the largest; a last row of no k-mers, as\n"
                "GenomeScope leaves out the last row",
                print_for_genomescope},
    HistoFormat{"jellyfish",
                "what 'jellyfish histo -f' prints: every count from 0 to 10000,\n"
                "and row 10001 for all larger ones. MultiQC reads it from files\n"
                "whose names end in _jf.hist",
                print_for_jellyfish},
    HistoFormat{"kat",
                "what 'kat hist' writes: a header, every count from 1 to 10000,\n"
                "and row 10001 for all larger ones",
                print_for_kat},
    HistoFormat{"fastk",
                "what FastK writes, a binary .hist file: every count from 1 to\n"
                "32766, and row 32767 for all larger ones",
                print_for_fastk},
    HistoFormat{"npz",
                "NumPy arrays counts, kmers and k; of several indexes kmers has a\n"
                "column for each, and samples has their names",
                print_for_tables},
    HistoFormat{"arrow", "columns count and kmers, or one for each of several indexes", print_for_tables},
    HistoFormat{"parquet", "the same", print_for_tables},
};

/// Returns all names, with other words before the last.
std::string format_names(std::string_view between, std::string_view before_last) {
  std::string names;
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    if (i > 0) names += i + 1 == kFormats.size() ? before_last : between;
    names += kFormats[i].name;
  }
  return names;
}

std::string formats_help() {
  std::string help = "Formats:\n";
  for (const HistoFormat& format : kFormats) {
    std::string_view text = format.help, label = format.name;
    for (; !text.empty(); label = {}) help += fmt::format("  {:<13}{}\n", label, io::take_line(text));
  }
  return help;
}

/// UsageError if there is no such format.
const HistoFormat& format_named(const std::string& name) {
  for (const HistoFormat& format : kFormats) {
    if (format.name == name) return format;
  }
  throw UsageError(fmt::format("--format must be {}, not '{}'", format_names(", ", " or "), printable(name)));
}

void draw(const HistoOptions& options, const Spectrum& spectrum, TextOutput& output) {
  const auto model = stats::model_spectrum(spectrum.params, spectrum.totals, spectrum.histogram,
                                           threads_or_default(options.counting.job.resources.threads));
  const std::string title = fmt::format("{}, k = {}", spectrum.name, spectrum.params.k);
  SpectrumView view{options.log, options.max_count};
  if (!options.plot) {
    const std::string svg =
        draw_chart(spectrum_chart(title, spectrum.histogram, model, view), Svg::Frame::file);
    output.write(options.is_png() ? png_of(svg) : svg);
  } else {
    const TerminalStyle style = terminal_style(options.output);
    view.most_bins = columns_of(style);
    print_chart(spectrum_chart(title, spectrum.histogram, model, view), style, output);
  }
}

void print(const HistoOptions& options, const Spectrum& spectrum, TextOutput& output) {
  if (options.is_picture()) {
    draw(options, spectrum, output);
  } else {
    format_named(options.format).print(options, spectrum, output);
  }
  output.finish();
}

void check_picture(const HistoOptions& options) {
  if (options.log && !options.is_picture())
    throw UsageError("--log is for pictures: add --plot, or write to a file that ends in .svg or .png");
  if (options.is_picture() && (options.dense || options.cut || options.format != "plain")) {
    throw UsageError(fmt::format("{} is for rows of numbers, and a picture has none",
                                 options.dense ? "--dense"
                                 : options.cut ? "--cut"
                                               : "--format " + printable(options.format)));
  }
}

void check(const HistoOptions& options) {
  const std::string& format = options.format;
  format_named(format);
  if (options.dense && format != "plain")
    throw UsageError("--dense is for --format plain; the other formats have a row for every count");
  if (options.cut && (!options.max_count || format != "plain")) {
    throw UsageError(
        "--cut is for --max-count with --format plain: without it, a last row has all larger counts");
  }
  using formats::Content;
  if (options.plot) {
    formats::check_ending(options.output, {Content::text}, "leave out --plot");
  } else if (const auto table = formats::table_named(format)) {
    formats::check_table(options.output, *table);
  } else if (options.is_png()) {
    formats::check_ending(options.output, {Content::png});
    check_png();
  } else {
    formats::check_ending(options.output, {Content::text, Content::tsv, Content::svg, Content::png});
  }
  check_picture(options);
  check_standard_input({{"as an input", options.inputs}});
}

bool is_list(const std::string& input) { return input.starts_with('@'); }

/// Replaces lists by what they name, which says whether these are indexes or reads. A list may be a pipe, and
/// is read once: what it calls "@x" is no list for counting.
void expand_lists_of(HistoOptions& options) {
  expand_index_lists(options.inputs, {options.output}, options.counting.job.resources.memory_bytes);
  for (std::string& input : options.inputs) {
    if (is_list(input)) input.insert(0, "./");
  }
}

/// True for an index, and for what cannot be looked into before it is opened: standard input or a pipe.
bool may_be_index(const std::string& input) { return index::is_index_file(input) || file::is_stream(input); }

/// True when -k says that the inputs are reads, a list without an index, a URL or what is in one of them.
bool say_that_they_are_reads(const HistoOptions& options, bool are_listed) {
  if (options.has_length) return true;
  if (are_listed && std::ranges::none_of(options.inputs, may_be_index)) return true;
  return std::ranges::any_of(io::list_inputs(options.inputs), [](const io::InputFile& file) {
    return file.is_url || !io::sequence_data_in(file.path).empty();
  });
}

[[noreturn]] void refuse_counting_flag(const HistoOptions& options, const std::string& index) {
  throw UsageError(fmt::format("{} is an index, which has its histogram; {} is for reads", printable(index),
                               options.counting_flag));
}

/// True when the inputs are to be counted.
bool are_reads(HistoOptions& options) {
  const bool are_listed = std::ranges::any_of(options.inputs, is_list);
  if (are_listed && !options.has_length) expand_lists_of(options);
  const bool are = say_that_they_are_reads(options, are_listed);
  if (!are && !options.counting_flag.empty()) {
    const auto index = std::ranges::find_if(options.inputs, index::is_index_file);
    if (index != options.inputs.end()) refuse_counting_flag(options, *index);
    throw UsageError(
        fmt::format("{} is for reads; for what is no file of reads, such as a pipe, give -k, too",
                    options.counting_flag));
  }
  return are;
}

int print_of_reads(HistoOptions options) {
  for (const std::string& input : options.inputs) {
    if (!index::is_index_file(input)) continue;
    if (!options.counting_flag.empty()) refuse_counting_flag(options, input);
    throw UsageError(fmt::format(
        "{} is an index; reads are counted without one: name either indexes or reads", printable(input)));
  }
  CountFlags& counting = options.counting;
  counting.job.inputs = options.inputs;
  TextOutput output(options.output);
  const auto timed = count_for_histogram(counting, options.output, {}, options.progress);
  const jobs::CountReport& report = timed.report;
  const Spectrum spectrum{report.histogram, options.title,
                          backend::params_for(counting.job.kmers.k, counting.job.kmers.canonical),
                          report.totals};
  print(options, spectrum, output);
  print_counted(timed);
  return kDone;
}

/// Adds a hint to the message for what could not be looked into.
index::IndexFile open_index(const std::string& path) {
  try {
    return index::IndexFile(path);
  } catch (const InputError& error) {
    if (!file::is_stream(path)) throw;
    throw InputError(fmt::format("{}; should these be reads, give -k, too", error.what()));
  }
}

int print_of_indexes(const HistoOptions& options) {
  if (options.inputs.size() > 1 && options.is_picture())
    throw UsageError("a picture is of one index, and several are a table; name one");
  const bool is_table = formats::table_named(options.format).has_value();
  if (options.inputs.size() > 1 && options.format != "plain" && !is_table) {
    throw UsageError("--format " + options.format +
                     " is for one index; several are a table, in --format plain");
  }
  if (options.inputs.size() == 1) {
    const index::IndexFile index = open_index(options.inputs.front());
    TextOutput output(options.output);
    print(options, {index.histogram(), index.path(), index.params(), index.totals()}, output);
    return kDone;
  }
  std::vector<index::Histogram> histograms;
  std::uint32_t k = 0;
  for (const std::string& path : options.inputs) {
    const index::IndexFile index = open_index(path);
    if (is_table && k != 0 && k != index.params().k) {
      throw UsageError(fmt::format("{} has k = {}, and those before it have k = {}; a file has one k",
                                   printable(path), index.params().k, k));
    }
    k = index.params().k;
    if (options.dense) check_rows(index.histogram(), options, path);
    histograms.push_back(capped(index.histogram(), options));
  }
  TextOutput output(options.output);
  const std::vector<std::string> names = sample_names(options.inputs, false, {}, {"count"});
  write_table(options, k, names, histograms, output);
  output.finish();
  return kDone;
}

int print_of_server(const HistoOptions& options) {
  check_only_server(options.server, options.inputs);
  if (!options.counting_flag.empty())
    throw UsageError(fmt::format("{} is for reads; a server has counted its own", options.counting_flag));
  const serve::RemoteTable table(options.server);
  TextOutput output(options.output);
  const serve::TableContent content = table.content();
  const auto [k, canonical] = table.kmers();
  print(options, {content.histogram, options.server, backend::params_for(k, canonical), content.totals},
        output);
  return kDone;
}

int run_histo(HistoOptions options) {
  if (options.plot && options.format.empty()) options.format = "plain";
  options.format = formats::settled_format(options.format, options.output, "plain");
  check(options);
  if (!options.server.empty()) return print_of_server(options);
  options.title = fmt::format("{}", fmt::join(options.inputs, " "));
  return are_reads(options) ? print_of_reads(options) : print_of_indexes(options);
}

/// Adds the flags for counting; when the command runs, `note_counting_flags` of them sees which were given.
std::vector<const CLI::Option*> declare_counting_flags(CLI::App& command, CountFlags& counting) {
  const std::size_t before = command.get_options().size();
  add_counting_flags(command, counting);
  const std::vector<CLI::Option*> all = command.get_options();
  return {all.begin() + static_cast<std::ptrdiff_t>(before), all.end()};
}

void note_counting_flags(const std::vector<const CLI::Option*>& flags, HistoOptions& options) {
  for (const CLI::Option* flag : flags) {
    if (flag->count() == 0) continue;
    options.counting_flag = flag->get_name();
    options.has_length |= flag->check_sname("k");
  }
}

}  // namespace

void add_histo_command(Application& application) {
  auto options = std::make_shared<HistoOptions>();
  CLI::App& command = application.add_command(
      "histo",
      "Print how many distinct k-mers occur how often.\n"
      "One line per count: the count, a space, the number of distinct k-mers that occur so often. No header, "
      "no upper limit. Of several indexes a table with tabs: a header, and a column for each. Reads are "
      "counted, all inputs together, and no index is written: with the flags for counting that 'warpmer "
      "count' has.",
      formats_help() + R"(  --max-count N has rows up to N, and row N + 1 for all larger counts, in every
  format but fastk ('jellyfish histo -h N' does so); with --cut, larger counts
  are left out ('kmc_tools transform DB histogram F -cxN' does so). Where every
  count is a row, the largest may be 1000000: then --max-count is needed.

Pictures:
  --plot prints one as wide as the terminal (80 columns where there is none), in
  plain ASCII unless the locale is UTF-8; -o FILE.svg and -o FILE.png draw one.
  Where the spectrum has a clear peak, the curve is that of the model
  ('warpmer stats'), and errors that are higher than it are cut off; --log shows
  them. Counts go to about three times the coverage, or to --max-count.

Examples:
  warpmer histo sample.wmi
  warpmer histo -k 21 -m 8G reads_1.fq.gz reads_2.fq.gz
  warpmer histo --dense --max-count 1000 sample.wmi > counts.txt
  warpmer histo --max-count 255 a.wmi b.wmi > table.tsv
  warpmer histo --format genomescope sample.wmi > sample.hist
  warpmer histo --plot sample.wmi
  warpmer histo --log -o sample.svg sample.wmi
  warpmer histo -o sample.png sample.wmi
  warpmer histo --server run.sock
  warpmer histo --format jellyfish -o sample_jf.hist sample.wmi  # for MultiQC
)");
  command.add_flag("--dense", options->dense,
                   "Print every count from 1 to the largest, also those that no k-mer has.");
  command
      .add_option(
          "--format", options->format,
          "For whom the rows are; see Formats. Default: plain, or what the output's name ends in: .npz, "
          ".arrow, .parquet.")
      ->type_name(format_names("|", "|"));
  add_whole_number(command, "--max-count", 1, UINT64_MAX - 1, options->max_count,
                   "Rows of counts up to N; row N + 1 has the k-mers of all larger counts.");
  command.add_flag("--cut", options->cut, "With --max-count: leave larger counts out.");
  command.add_flag("--plot", options->plot, "Print a picture instead of rows; see Pictures.");
  command.add_flag("--log", options->log, "In a picture, heights are logarithmic.");
  add_text_output_flag(command, options->output);
  auto flags =
      std::make_shared<std::vector<const CLI::Option*>>(declare_counting_flags(command, options->counting));
  add_progress_flag(command, options->progress);
  CLI::Option* const inputs =
      command
          .add_option(
              "INPUT", options->inputs,
              "Indexes written by 'warpmer count', @LIST for a file that names one on each line, - for "
              "standard "
              "input; or reads, anything that 'warpmer count' takes, for pipes and standard input with -k.")
          ->required()
          ->type_name("FILE");
  add_server_flag(command, options->server, inputs);
  options->counting.job.provenance = application.provenance();
  options->counting.job.ranks = &application.ranks();
  application.on_run(command, [options, flags] {
    note_counting_flags(*flags, *options);
    return run_histo(*options);
  });
}

}  // namespace warpmer::cli
