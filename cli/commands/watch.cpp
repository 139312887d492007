/// `warpmer watch`: counts sequence files as they appear in a folder.

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/warning.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/application.h"
#include "cli/framework/command_files.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/messages.h"
#include "cli/framework/process.h"
#include "cli/framework/text_output.h"
#include "file/output/output_path.h"
#include "jobs/watch_job.h"
#include "system/signals.h"

namespace warpmer::cli {
namespace {

constexpr const char* kHeader =
    "seconds\tfiles\treads\tbases\tkmers\tdistinct\tcoverage\tgenome_size\tnew\tmatched\n";

struct WatchCommand {
  jobs::WatchOptions job;
  bool forward = false;
  std::vector<std::string> until;
  std::optional<double> min_fraction;
};

/// SIGUSR1, which waits until it is asked for, rather than end the process.
class SaveSignal {
 public:
  SaveSignal() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  ~SaveSignal() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SaveSignal(const SaveSignal&) = delete;
  SaveSignal& operator=(const SaveSignal&) = delete;

  /// Returns whether it has come since.
  static bool take() { return system::take_signal(SIGUSR1); }
  /// Returns the same, and leaves it there.
  static bool has_come() {
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1) == 1;
  }

 private:
  sigset_t before_{};
};

class WatchConsole final : public jobs::WatchListener {
 public:
  explicit WatchConsole(TextOutput& lines) : lines_(lines) { lines_.write(kHeader); }

  void line(const jobs::WatchLine& line) override {
    const auto number = [](const std::optional<double>& value, const char* format) {
      return value ? fmt::format(fmt::runtime(format), *value) : std::string("NA");
    };
    lines_.print("{:.0f}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", line.seconds, line.files, line.records,
                 line.bases, line.kmers, line.distinct, number(line.coverage, "{:.4g}"),
                 number(line.genome_size, "{:.0f}"), number(line.fresh, "{:.4g}"),
                 number(line.matched, "{:.4g}"));
    lines_.flush();
  }
  void problem(const std::string& what) override { warn(what); }
  void saved(const jobs::IndexReport& /*report*/) override { name_outputs(); }

  Wish wait(double seconds) override {
    if (is_told_to_end(seconds)) return Wish::end;
    return SaveSignal::take() ? Wish::save : Wish::go_on;
  }
  bool must_end() override { return is_told_to_end(0); }
  bool must_save() override { return SaveSignal::has_come(); }

 private:
  [[nodiscard]] bool is_told_to_end(double seconds) const {
    pollfd stop = {stop_.descriptor(), POLLIN, 0};
    return poll(&stop, 1, static_cast<int>(1000 * seconds)) > 0;
  }

  TextOutput& lines_;
  const StopSignals stop_;
};

/// Returns a time such as 90, 90s, 30m, 12h or 2d in seconds.
std::optional<double> parse_time(std::string_view text) {
  constexpr std::array<std::pair<char, double>, 4> kUnits = {
      {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}}};
  double unit = 1;
  for (const auto& [letter, seconds] : kUnits) {
    if (text.ends_with(letter)) unit = seconds;
  }
  if (!text.empty() && (text.back() < '0' || text.back() > '9') && text.back() != '.') {
    if (unit == 1 && text.back() != 's') return std::nullopt;
    text.remove_suffix(1);
  }
  const std::optional<double> number = parse_decimal(text);
  return number && *number >= 0 ? std::optional(*number * unit) : std::nullopt;
}

/// Reads one limit: coverage=N, new<N or time=N. Of several of a kind, the one that holds first counts.
void read_limit(std::string_view text, jobs::WatchLimits& limits) {
  const auto value_behind = [&](std::string_view name) {
    return text.starts_with(name) ? std::optional(text.substr(name.size())) : std::nullopt;
  };
  if (const auto value = value_behind("coverage=")) {
    const std::optional<double> coverage = parse_decimal(*value);
    if (coverage && *coverage > 0) {
      limits.coverage = std::min(*coverage, limits.coverage.value_or(*coverage));
      return;
    }
  } else if (const auto fraction = value_behind("new<")) {
    const std::optional<double> fresh = parse_decimal(*fraction);
    if (fresh && *fresh > 0 && *fresh <= 1) {
      limits.fresh = std::max(*fresh, limits.fresh.value_or(*fresh));
      return;
    }
  } else if (const auto time = value_behind("time=")) {
    if (const std::optional<double> seconds = parse_time(*time)) {
      limits.seconds = std::min(*seconds, limits.seconds.value_or(*seconds));
      return;
    }
  }
  throw UsageError(fmt::format(
      "--until {}: say coverage=N, new<F with a fraction F up to 1, or time=N with s, m, h or d behind it",
      text));
}

int run_watch(WatchCommand command) {
  const SaveSignal save;
  jobs::WatchOptions& job = command.job;
  if (job.folder.empty()) throw UsageError("DIR is empty; name the folder to watch");
  if (job.output.empty() || file::is_stream(job.output))
    throw UsageError("watch writes its index again and again: give a file, with -o FILE");
  check_index_output(job.output);
  if (job.against.empty() && (command.min_fraction || job.matches.min_kmers > 1))
    throw UsageError("--min-kmers and --min-fraction say which reads match what --against names; add it");
  for (const std::string& limit : command.until) read_limit(limit, job.until);
  job.kmers.canonical = !command.forward;
  if (command.min_fraction) job.matches.min_fraction = *command.min_fraction;
  TextOutput lines("-");
  WatchConsole console(lines);
  const jobs::WatchReport report = jobs::watch(job, console);
  lines.finish();
  print_last_line(fmt::format("{} of {}, {}, {} distinct, {} {}; ended because {}",
                              counted(report.totals.records, "read"), counted(report.files, "file"),
                              counted(report.totals.counted_kmers, "k-mer"),
                              with_thousands(report.totals.counted_distinct), shown_output(job.output),
                              format_bytes(report.index_bytes), report.why));
  return report.damaged > 0 ? kInputError : kDone;
}

void declare_flags(CLI::App& app, WatchCommand& command) {
  jobs::WatchOptions& job = command.job;
  add_length_flag(app, job.kmers.k);
  app.add_flag("--forward", command.forward,
               "Count k-mers as they are read, as 'warpmer count --forward' does.");
  app.add_option("-o,--output", job.output, "The index to write. It gets its name when it is complete.")
      ->type_name("FILE");
  app.add_option(
         "--until", command.until,
         "When to end: coverage=N, when the genome is sequenced N times as the spectrum says; new<F, when "
         "fewer than this fraction of the k-mers since the last line had not been seen before; time=N, N "
         "seconds, or minutes, hours or days with m, h or d behind the number. May be given several times: "
         "the first that holds counts. Default: SIGTERM or SIGINT.")
      ->type_name("LIMIT");
  app.add_option(
         "--against", job.against,
         "An index that reads are looked up in, for example of a host: the last column is the fraction of "
         "this job's reads that match it.")
      ->type_name("FILE");
  add_whole_number(app, "--min-kmers", 1, UINT64_MAX, job.matches.min_kmers,
                   "With --against: a read matches with at least N of its k-mers found. Default: 1.");
  add_fraction(app, "--min-fraction", command.min_fraction,
               "With --against: a read matches with at least this fraction of its k-mers found. Default: 0.");
  add_whole_number(app, "--every", 1, 86400, job.line_seconds,
                   "Seconds between lines, and between looks whether it is time to end. Default: 60.");
  add_whole_number(app, "--settle", 0, 86400, job.settle_seconds,
                   "A file is finished when it has not changed for so many seconds. Default: 10.");
  add_reading_flags(app, job.reading);
  add_resource_flags(app, job.resources);
  app.add_option("DIR", job.folder,
                 "The folder, with all folders within it, but not those that links lead to.")
      ->required()
      ->type_name("DIR");
}

}  // namespace

void add_watch_command(Application& application) {
  auto command = std::make_shared<WatchCommand>();
  CLI::App& app = application.add_command(
      "watch",
      "Count sequence files as they appear in a folder, such as a basecaller's fastq_pass.\n"
      "It looks at the folder every 2 seconds, counts what is finished and what grows by whole records, "
      "prints a "
      "line a minute, and writes the index when it ends. It goes on with an index that an earlier 'warpmer "
      "watch' "
      "has written, without counting anything twice.",
      R"(Files:
  Names that end in .fastq, .fq, .fasta, .fa or .fna, perhaps with .gz, .bgz,
  .zst, .bz2 or .xz behind, in .bam, .cram or .sam; not in folders whose names
  end in _fail or _skip. Plain text is counted record by record while it grows,
  all others when they are finished; one that has grown since goes on from
  there. A file that cannot be read is named on stderr and left out until it
  changes, and so is a folder that cannot be listed; if that is so in the end,
  the exit status is 3.

Lines:
  On standard output, with tabs between: seconds since the beginning; files,
  reads, bases, k-mers and distinct k-mers counted; how often the genome is
  sequenced, and its size, as the spectrum says (NA while it is not clear); the
  fraction of the k-mers since the last line that were new; and, with --against,
  the fraction of reads that match.

Signals:
  SIGUSR1 writes the index and goes on. SIGTERM and SIGINT end the job: files
  that are being read are finished, and the index is written.

Examples:
  warpmer watch run7/fastq_pass -k 31 -o run7.wmi
  warpmer watch run7 -k 21 -o run7.wmi --until coverage=30 --until time=48h
  warpmer watch run7 -k 31 -o run7.wmi --against human.wmi --min-fraction 0.1
)");
  declare_flags(app, *command);
  command->job.provenance = application.provenance();
  application.on_run(app, [command] { return run_watch(*command); });
}

}  // namespace warpmer::cli
