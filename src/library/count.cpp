// warpmer::count: a counting job of one process.

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/text/quality_watch.h"
#include "io/text/repeated_inputs.h"
#include "jobs/count_job.h"
#include "jobs/device_choice.h"
#include "library/argument_checks.h"
#include "library/totals.h"
#include "library/watched_job.h"
#include "warpmer/warpmer.h"

namespace warpmer {

namespace {

constexpr unsigned kLargestQuality = 93;  // which is the last printable character

std::optional<int> quality_of(std::optional<unsigned> min_base_quality) {
  if (!min_base_quality) return std::nullopt;
  if (*min_base_quality > kLargestQuality) {
    throw UsageError(fmt::format("the smallest base quality is {}; Phred qualities are 0 to {}",
                                 *min_base_quality, kLargestQuality));
  }
  return static_cast<int>(*min_base_quality);
}

jobs::CountOptions job_options(const std::vector<std::string>& inputs, const CountOptions& options,
                               const std::string& output) {
  jobs::CountOptions job;
  job.kmers = {options.k, options.canonical};
  job.kept = {options.min_count, options.max_count};
  job.reading.lenient = options.lenient;
  job.reading.min_base_quality = quality_of(options.min_base_quality);
  if (options.min_base_quality) job.reading.qualities = std::make_shared<io::QualityWatch>();
  job.reading.reference = options.reference;
  job.resources = {options.threads, options.memory_bytes};
  job.tmp_directory = options.tmp_directory;
  job.inputs = inputs;
  job.output = output;
  job.provenance = {.tool_version = version(), .command_line = "libwarpmer", .inputs = {}};
  jobs::check_options(job);
  job.device = jobs::choose_device(options.device, 0);
  warn_of(job.device);
  io::warn_of_repeats(inputs);
  return job;
}

/// A call of this thread. Another one within it is a listener's, which would wait for its turn for ever.
class CountingCall {
 public:
  CountingCall() {
    if (std::exchange(is_under_way_, true))
      throw UsageError("a listener of a count cannot count itself; do so when that count has ended");
  }
  ~CountingCall() { is_under_way_ = false; }
  CountingCall(const CountingCall&) = delete;
  CountingCall& operator=(const CountingCall&) = delete;

 private:
  inline static thread_local bool is_under_way_ = false;
};

struct TurnState {
  std::mutex mutex;
  std::condition_variable ended;
  std::atomic<pid_t> holder = 0;  ///< the process in which somebody has it, or 0
};

/// The turn of a call: in a process one counts at a time. (A timed mutex would do, but that GCC's thread
/// sanitizer does not know how it is locked.)
class CountingTurn {
 public:
  /// UsageError in a forked process whose copy of the turn belongs to a thread that it does not have.
  static void check_fork() {
    if (const pid_t holder = turns_.holder; holder != 0 && holder != ::getpid()) {
      throw UsageError(
          "a process that was forked off while another thread counted cannot count; fork before");
    }
  }
  /// Waits for it, unless the job is cancelled meanwhile, which throws.
  explicit CountingTurn(const backend::JobProgress& progress) {
    std::unique_lock lock(turns_.mutex);
    while (turns_.holder != 0) {
      turns_.ended.wait_for(lock, std::chrono::milliseconds(100));
      progress.end_if_cancelled();
    }
    turns_.holder = ::getpid();
  }
  ~CountingTurn() {
    const std::lock_guard lock(turns_.mutex);
    turns_.holder = 0;
    turns_.ended.notify_one();
  }
  CountingTurn(const CountingTurn&) = delete;
  CountingTurn& operator=(const CountingTurn&) = delete;

 private:
  /// Is never destroyed: in a forked process that would wait for those who waited for a turn.
  inline static TurnState& turns_ = *new TurnState;
};

}  // namespace

Totals count(const std::vector<std::string>& inputs, const CountOptions& options, const std::string& output) {
  const auto work = [&](backend::JobProgress& progress) {
    std::vector<std::string> read = inputs;
    if (!options.reference.empty()) read.push_back(options.reference);
    library::check_output(output, read);
    library::check_name(options.tmp_directory);
    library::check_memory_cap(options.memory_bytes);
    return library::public_totals(jobs::count(job_options(inputs, options, output), progress).totals);
  };
  CountingTurn::check_fork();  // before there is another thread
  const CountingCall call;
  const auto take_turn = [](const backend::JobProgress& progress) { return CountingTurn(progress); };
  return library::run_job({options.listener, options.warning_listener}, work, take_turn);
}

const char* version() noexcept { return WARPMER_VERSION; }

}  // namespace warpmer
