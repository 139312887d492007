#include "engine/count_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/error.h"
#include "core/minimizer.h"
#include "engine/backend.h"
#include "engine/limits.h"
#include "engine/thread_team.h"
#include "io/input.h"
#include "io/quality.h"

namespace warpmer::engine {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void check(const CountOptions& options) {
  if (options.k < 1 || options.k > kMaxK)
    throw UsageError(fmt::format("k is {}; warpmer counts k-mers of 1 to {} bases", options.k, kMaxK));
  if (options.min_count < 1) throw UsageError("the smallest count kept is at least 1");
  if (options.min_count > options.max_count) {
    throw UsageError(fmt::format("the smallest count kept ({}) is larger than the largest ({})",
                                 options.min_count, options.max_count));
  }
}

/// Reserve for what no one accounts for: stacks, allocator slack, the C++ runtime.
constexpr std::uint64_t kSlackBytes = std::uint64_t{24} << 20;

class CountJob {
 public:
  CountJob(const CountOptions& options, JobProgress& progress)
      : options_(options),
        progress_(progress),
        threads_(options.threads > 0 ? options.threads : usable_cores()),
        // Unasked, stay clear of the limit at which the kernel kills.
        memory_cap_(options.memory_bytes > 0 ? options.memory_bytes : usable_memory_bytes() / 10 * 9),
        device_(options.device) {}

  CountReport run() {
    try {
      return read_and_count(true);
    } catch (const io::NotPlainFastq&) {
      // What the backend has taken for records were none, or were not like others: begin again, carefully.
    }
    failed_ = false;
    bases_ = 0;
    progress_.kmers = 0;
    return read_and_count(false);
  }

 private:
  CountReport read_and_count(bool may_take_text) {
    io::InputSet input(options_.inputs, input_options());
    index::IndexWriter writer(options_.output, index_params(), threads_);
    const auto session = with_fallback(device_, [&] {
      backend_ = make_backend(device_);
      return backend_->start(plan(input));
    });
    const io::TextMemory* const fastq_memory = backend_->fastq_memory();
    if (may_take_text && fastq_memory != nullptr) input.hand_over_fastq(*fastq_memory);
    const auto start = Clock::now();
    read(input, *session);
    report_.read_seconds = seconds_since(start);
    const auto middle = Clock::now();
    freeze(*session, writer);
    index::Totals totals = session->tally().totals();
    const FoundInText found = session->found_in_text();
    totals.records = input.records() + found.records;
    totals.bases = bases_ + found.bases;
    index::Provenance provenance = options_.provenance;
    provenance.inputs = input.files();
    writer.finish(totals, session->tally().histogram(), provenance);
    report_.count_seconds = seconds_since(middle);
    complete_report(*session, totals, writer);
    progress_.stage = JobProgress::Stage::done;
    return report_;
  }

  [[nodiscard]] io::InputOptions input_options() const {
    io::InputOptions input;
    input.overlap_bases = options_.k - 1;
    input.min_base_quality = options_.min_base_quality;
    input.reference = options_.reference;
    input.threads = threads_;
    return input;
  }

  [[nodiscard]] index::IndexParams index_params() const {
    index::IndexParams params;
    params.k = options_.k;
    params.canonical = options_.canonical;
    params.minimizer_length = minimizer_length(options_.k);
    params.shard_bits = shard_bits(options_.k);
    params.hash_version = kHashVersion;
    return params;
  }

  [[nodiscard]] CountPlan plan(io::InputSet& input) const {
    CountPlan plan;
    plan.k = options_.k;
    plan.canonical = options_.canonical;
    plan.lenient = options_.lenient;
    plan.lowest_quality = io::lowest_unmasked(options_.min_base_quality);
    plan.min_count = options_.min_count;
    plan.max_count = options_.max_count;
    plan.threads = threads_;
    plan.devices = device_.gpus.empty() ? device_.cpu_devices : static_cast<unsigned>(device_.gpus.size());
    plan.device_memory_bytes = device_.device_memory_bytes;
    const std::uint64_t spoken_for = resident_bytes() + input.memory_bytes(threads_) + kSlackBytes;
    if (memory_cap_ <= spoken_for) {
      throw ResourceError(
          fmt::format("-m {} MB is too little: reading alone needs {} MB; raise -m or lower -t",
                      memory_cap_ >> 20, (spoken_for >> 20) + 1));
    }
    plan.memory_bytes = memory_cap_ - spoken_for;
    plan.other_bytes = spoken_for;
    plan.input_bytes = input.progress().bytes_total;
    plan.input_fraction = [&input] {
      const io::InputProgress bytes = input.progress();
      return bytes.bytes_total == 0
                 ? 0
                 : static_cast<double>(bytes.bytes_done) / static_cast<double>(bytes.bytes_total);
    };
    return plan;
  }

  void read(io::InputSet& input, CountingSession& session) {
    progress_.stage = JobProgress::Stage::reading;
    run_team(
        threads_,
        [&](unsigned thread) {
          io::Batch batch;
          std::uint64_t bases = 0;
          while (!failed_ && input.next(batch)) {
            for (const io::Piece& piece : batch.pieces) bases += new_bases(piece);
            progress_.kmers += session.add(batch, thread);
            const io::InputProgress bytes = input.progress();
            progress_.bytes_done = bytes.bytes_done;
            progress_.bytes_total = bytes.bytes_total;
          }
          progress_.kmers += session.end_of_input(thread);
          bases_ += bases;
        },
        [&] {
          failed_ = true;
          input.cancel();
        });
  }

  /// Bases of a piece that were not in the piece before.
  [[nodiscard]] std::uint64_t new_bases(const io::Piece& piece) const {
    return piece.first_base == 0 ? piece.length : piece.length - std::min(piece.length, options_.k - 1);
  }

  void freeze(CountingSession& session, index::IndexWriter& writer) {
    progress_.shards_total = 1u << shard_bits(options_.k);
    progress_.stage = JobProgress::Stage::counting;
    const ShardSink sink = [&](std::uint32_t shard, index::FrozenShard&& frozen) {
      const auto start = Clock::now();
      writer.put(shard, std::move(frozen));
      frozen.payload = writer.take_spare();
      // Shards wait in memory for those before them. One that takes long (a hot k-mer) must not make all
      // others pile up; whoever counts it has not come here, so it is never he who waits.
      while (writer.bytes_waiting() > most_waiting_bytes() && !failed_)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      write_seconds_ += seconds_since(start);
      if (failed_) throw InternalError("stopped because another thread failed");
    };
    run_team(
        threads_, [&](unsigned thread) { session.finish(thread, sink, [&] { ++progress_.shards_done; }); },
        [&] { failed_ = true; });
  }

  [[nodiscard]] std::uint64_t most_waiting_bytes() const { return memory_cap_ / 16; }

  void complete_report(const CountingSession& session, const index::Totals& totals,
                       const index::IndexWriter& writer) {
    report_.totals = totals;
    report_.device = fmt::format("{}, {} thread{}", backend_->describe(), threads_, threads_ == 1 ? "" : "s");
    if (device_.cpu_devices > 1) report_.device += fmt::format(", acting as {} devices", device_.cpu_devices);
    report_.device_choice = device_;
    report_.threads = threads_;
    report_.memory_cap_bytes = memory_cap_;
    report_.peak_resident_bytes = peak_resident_bytes();
    report_.index_bytes = writer.bytes_written();
    report_.early_counts = session.early_counts();
    report_.cpu_seconds = cpu_seconds();
    report_.overlap = session.overlap();
    report_.stages = session.stages();
    report_.stages.push_back({"write", write_seconds_, writer.bytes_written()});
  }

  const CountOptions& options_;
  JobProgress& progress_;
  unsigned threads_;
  std::uint64_t memory_cap_;
  DeviceChoice device_;
  std::unique_ptr<Backend> backend_;
  std::atomic<std::uint64_t> bases_{0};
  std::atomic<bool> failed_{false};
  std::atomic<double> write_seconds_{0};  ///< of all threads, waiting for earlier shards included
  CountReport report_;
};

}  // namespace

CountReport count(const CountOptions& options, JobProgress& progress) {
  check(options);
  return CountJob(options, progress).run();
}

}  // namespace warpmer::engine
