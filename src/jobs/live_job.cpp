#include "jobs/live_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "backend/index_params.h"
#include "backend/live/read_totals.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "index/writer/index_writer.h"
#include "io/input_set.h"

namespace warpmer::jobs {

namespace {

/// It is known batch by batch what is in, or out. A batch of text may be a quarter larger, and a server takes
/// 1 MiB as a whole.
constexpr std::size_t kLiveBatchBytes = std::size_t{3} << 18;

/// Reads of which some pieces are in, or out, and not all. Pieces of a read come in any order.
class PartsOfReads {
 public:
  /// Notes the pieces of a batch.
  void note(const io::Batch& batch, std::uint32_t k) {
    for (const io::Piece& piece : batch.pieces) {
      if (piece.first_base == 0 && piece.last) continue;
      const auto part = parts_.try_emplace({batch.file, piece.record}).first;
      part->second.bases += piece.new_bases(k);
      if (piece.last) part->second.all_bases = piece.first_base + piece.length;
      if (part->second.bases == part->second.all_bases) parts_.erase(part);
    }
  }
  /// Returns how many of them are there with their last piece, by which reads are counted.
  [[nodiscard]] std::uint64_t counted() const {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(parts_, [](const auto& part) { return part.second.all_bases != kUnknown; }));
  }
  [[nodiscard]] std::uint64_t bases() const {
    std::uint64_t sum = 0;
    for (const auto& [read, part] : parts_) sum += part.bases;
    return sum;
  }

 private:
  static constexpr std::uint64_t kUnknown = UINT64_MAX;
  struct PartOfRead {
    std::uint64_t bases = 0;
    std::uint64_t all_bases = kUnknown;  ///< of the read; its last piece tells
  };
  std::map<std::pair<std::string, std::uint64_t>, PartOfRead> parts_;
};

/// Returns how much is in, or out, in words.
std::string progress_text(const LiveReadReport& report, const PartsOfReads& parts, bool is_removal) {
  std::string text = fmt::format("by then {} of the reads were {}", report.read.records - parts.counted(),
                                 is_removal ? "removed" : "added");
  if (parts.bases() > 0) text += fmt::format(", and {} bases of reads that are not whole", parts.bases());
  return text;
}

}  // namespace

LiveReadReport change_live(backend::LiveTable& table, const LiveReadOptions& options,
                           backend::JobProgress& progress) {
  const std::uint32_t k = options.kmers.k;
  io::InputSet inputs(options.inputs, {.reading = options.reading,
                                       .overlap_bases = k - 1,
                                       .threads = options.threads,
                                       .batch_bytes = kLiveBatchBytes});
  progress.stage = backend::JobProgress::Stage::reading;
  std::mutex mutex;
  LiveReadReport report;
  PartsOfReads parts;
  const auto change = [&](const io::Batch& batch) {
    backend::Removal done;
    if (options.is_removal) {
      done = table.remove(batch, options.reading.lenient);
    } else {
      done.kmers = table.add(batch, options.reading.lenient);
    }
    const backend::LiveTotals reads = backend::reads_of(batch, k);
    const std::lock_guard lock(mutex);
    report.read.kmers += done.kmers;
    report.read.records += reads.records;
    report.read.bases += reads.bases;
    report.shortfall.merge(done.shortfall);
    parts.note(batch, k);
    progress.kmers = report.read.kmers;
  };
  const auto work = [&](unsigned /*thread*/) {
    io::Batch batch;
    while (inputs.next(batch)) {
      change(batch);
      const io::InputProgress bytes = inputs.progress();
      progress.bytes_done = bytes.bytes_done;
      progress.bytes_total = bytes.bytes_total;
    }
  };
  try {
    run_team(options.threads, work, [&] { inputs.cancel(); });
  } catch (const Error& error) {
    throw Error(error.kind(),
                fmt::format("{}; {}", error.what(), progress_text(report, parts, options.is_removal)));
  }
  return report;
}

IndexReport write_live(backend::LiveTable& table, const LiveIndexOptions& options,
                       backend::JobProgress& progress) {
  const index::IndexParams params = backend::params_for(options.kmers.k, options.kmers.canonical);
  SessionRun run(options.resources, progress);
  index::IndexWriter writer(options.output, params, options.resources.threads);
  const auto snapshot = table.snapshot();
  run.freeze(params.shards(), shards_of(*snapshot), writer, backend::JobProgress::Stage::writing);
  const backend::Tally tally = snapshot->tally();
  IndexReport report;
  run.finish(writer, backend::totals_of(tally, snapshot->totals()), tally.histogram(), options.provenance,
             report);
  return report;
}

}  // namespace warpmer::jobs
