#include "cli/output/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "cli/arguments/quantity.h"
#include "cli/framework/messages.h"

namespace warpmer::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Stage = backend::JobProgress::Stage;

/// Before this a rate says nothing.
constexpr double kSettledSeconds = 0.5;

std::size_t terminal_columns() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string render_reading(const ProgressSnapshot& now, double seconds) {
  std::string line = now.stage == Stage::answering ? "looked up " : "reading ";
  line += format_bytes(now.bytes_done);
  // A file that grows while it is read must not show more than it has.
  const std::uint64_t total = std::max(now.bytes_total, now.bytes_done);
  if (now.bytes_total > 0) {
    line += fmt::format(
        " of {} ({} %)", format_bytes(total),
        static_cast<int>(100.0 * static_cast<double>(now.bytes_done) / static_cast<double>(total)));
  }
  const double rate = seconds > 0 ? static_cast<double>(now.bytes_done) / seconds : 0;
  if (seconds >= kSettledSeconds) line += ", " + format_bytes(rate) + "/s";
  if (now.stage == Stage::reading) line += ", " + format_amount(now.kmers) + " k-mers";
  if (seconds >= kSettledSeconds && now.bytes_total > 0 && rate > 0)
    line += ", " + format_clock(static_cast<double>(total - now.bytes_done) / rate) + " left";
  return line;
}

std::string render_writing(const ProgressSnapshot& now, double seconds) {
  if (now.bytes_total == 0) return "writing";
  const double share =
      std::min(1.0, static_cast<double>(now.bytes_done) / static_cast<double>(now.bytes_total));
  std::string line = fmt::format("writing ({} %)", static_cast<int>(100 * share));
  if (seconds >= kSettledSeconds && share > 0)
    line += ", " + format_clock(seconds * (1 / share - 1)) + " left";
  return line;
}

}  // namespace

void note_share(backend::JobProgress& progress, backend::JobProgress::Stage stage, const Progress& so_far) {
  progress.bytes_done = so_far.done;
  progress.bytes_total = so_far.total;
  progress.stage = stage;
}

ProgressSnapshot take_snapshot(const backend::JobProgress& progress) {
  ProgressSnapshot snapshot;
  snapshot.stage = progress.stage.load();
  snapshot.bytes_done = progress.bytes_done.load();
  snapshot.bytes_total = progress.bytes_total.load();
  snapshot.kmers = progress.kmers.load();
  snapshot.shards_done = progress.shards_done.load();
  snapshot.shards_total = progress.shards_total.load();
  return snapshot;
}

std::string render_progress(const ProgressSnapshot& snapshot, double seconds) {
  switch (snapshot.stage) {
    case Stage::starting:
      return "starting";
    case Stage::reading:
    case Stage::answering:
      return render_reading(snapshot, seconds);
    case Stage::writing:
      return render_writing(snapshot, seconds);
    case Stage::counting:
      return fmt::format("counting shard {} of {}, {} k-mers", snapshot.shards_done, snapshot.shards_total,
                         format_amount(snapshot.kmers));
    case Stage::combining:
      return fmt::format("shard {} of {}", snapshot.shards_done, snapshot.shards_total);
    case Stage::indexing:
      return fmt::format("indexing bin {} of {}, {} k-mers", snapshot.shards_done, snapshot.shards_total,
                         format_amount(snapshot.kmers));
    case Stage::done:
      return "done";
  }
  return "";
}

ProgressMeter::ProgressMeter(const backend::JobProgress& progress, ProgressStyle style)
    : progress_(progress), style_(style) {
  if (style_ != ProgressStyle::none) thread_ = std::thread([this] { watch(); });
}

ProgressMeter::~ProgressMeter() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
  }
  wake_.notify_one();
  thread_.join();
  if (style_ == ProgressStyle::terminal) clear_progress();
}

void ProgressMeter::watch() {
  const auto interval = std::chrono::milliseconds(style_ == ProgressStyle::terminal ? 150 : 1000);
  const Clock::time_point start = Clock::now();
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval, [this] { return ended_; })) {
    show(render_progress(take_snapshot(progress_),
                         std::chrono::duration<double>(Clock::now() - start).count()));
  }
}

void ProgressMeter::show(const std::string& line) const {
  if (style_ == ProgressStyle::lines) {
    print_progress(line);
    return;
  }
  // One column short of the edge: some terminals wrap when the last one is used.
  show_progress(line.substr(0, terminal_columns() - 1));
}

ProgressStyle progress_style(bool forced) {
  if (message_flags().quiet) return ProgressStyle::none;
  if (isatty(STDERR_FILENO) != 0) return ProgressStyle::terminal;
  return forced ? ProgressStyle::lines : ProgressStyle::none;
}

}  // namespace warpmer::cli
