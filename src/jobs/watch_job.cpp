#include "jobs/watch_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "backend/index_params.h"
#include "backend/live/live_table.h"
#include "backend/lookup/lookup.h"
#include "base/byte_room.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory_text.h"
#include "base/number_text.h"
#include "base/thread_team.h"
#include "host/limits.h"
#include "io/fastx/input_shares.h"
#include "io/input_set.h"
#include "io/text/input_too_large.h"
#include "io/text/quality_watch.h"
#include "jobs/live_job.h"
#include "jobs/watched_folder.h"
#include "stats/spectrum_model.h"

namespace warpmer::jobs {

namespace {

constexpr std::size_t kWatchedBatchBytes = std::size_t{4} << 20;

/// Returns the memory that is set aside for reading, before it is known which files come: enough for a file
/// a thread as programs write them, and of a large cap more, for large windows of compressed ones.
std::uint64_t bytes_for_reading(const host::Resources& resources) {
  constexpr std::uint64_t kOfThread = std::uint64_t{32} << 20, kShare = 8;
  return std::max(resources.threads * kOfThread, resources.memory_bytes / kShare);
}

/// The state of a watch, as the provenance of its index tells it.
struct WatchState {
  std::string folder;                         ///< ends in '/'
  std::map<std::string, std::uint64_t> read;  ///< bytes of each file
  std::optional<int> min_base_quality;
};

constexpr std::string_view kMinBaseQuality = "--min-base-quality=";

/// The inputs that a provenance has for a state: the folder; an option, in which there is no ':'; and
/// NAME:BYTES for each file.
std::vector<std::string> inputs_of(const WatchState& state) {
  std::vector<std::string> inputs = {state.folder};
  if (state.min_base_quality) inputs.push_back(fmt::format("{}{}", kMinBaseQuality, *state.min_base_quality));
  for (const auto& [name, bytes] : state.read) inputs.push_back(fmt::format("{}:{}", name, bytes));
  return inputs;
}

/// Returns the state; nothing where the index was not written by a watch.
std::optional<WatchState> state_of(const index::Provenance& provenance) {
  const std::vector<std::string>& inputs = provenance.inputs;
  if (inputs.empty() || !inputs.front().ends_with('/')) return std::nullopt;
  WatchState state{inputs.front(), {}, {}};
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const std::size_t colon = inputs[i].rfind(':');
    if (i == 1 && colon == std::string::npos && inputs[i].starts_with(kMinBaseQuality)) {
      state.min_base_quality = whole_number<int>(std::string_view(inputs[i]).substr(kMinBaseQuality.size()));
      if (state.min_base_quality) continue;
    }
    const auto bytes = colon == std::string::npos
                           ? std::nullopt
                           : whole_number(std::string_view(inputs[i]).substr(colon + 1));
    if (!bytes) return std::nullopt;
    state.read.emplace(inputs[i].substr(0, colon), *bytes);
  }
  return state;
}

/// Opens what an earlier watch wrote; null where there is no such file.
std::unique_ptr<index::IndexFile> earlier_index(const WatchOptions& options) {
  if (!std::filesystem::exists(options.output)) return nullptr;
  auto index = std::make_unique<index::IndexFile>(options.output);
  const std::optional<WatchState> state = state_of(index->provenance());
  if (!state) {
    throw UsageError(
        fmt::format("{} is there, and no index that 'watch' has written, which could be gone on with; name "
                    "another output, or "
                    "remove it",
                    options.output));
  }
  if (index->params().k != options.kmers.k || index->params().canonical != options.kmers.canonical) {
    throw UsageError(
        fmt::format("{} has {}{}-mers, and {}{}-mers are to be counted; give the same -k and --forward, or "
                    "name another output",
                    options.output, index->params().canonical ? "" : "forward ", index->params().k,
                    options.kmers.canonical ? "" : "forward ", options.kmers.k));
  }
  if (state->min_base_quality != options.reading.min_base_quality) {
    throw UsageError(fmt::format("{} was counted {}; give the same, or name another output", options.output,
                                 state->min_base_quality
                                     ? fmt::format("with --min-base-quality {}", *state->min_base_quality)
                                     : "without --min-base-quality"));
  }
  backend::check_params(*index);
  return index;
}

/// True when two paths mean one folder, as far as can be known: the earlier one need not be there any more.
bool are_same_folder(const std::string& now, const std::string& earlier) {
  const std::filesystem::path path = now, before = earlier;
  std::error_code ignored;
  return path.lexically_normal() == before.lexically_normal() ||
         std::filesystem::equivalent(path, before, ignored);
}

/// Returns how often each base of the genome was read. K-mers with errors are left out, as they are not the
/// genome's, though their bases were read there: k-mers of nanopore reads may be half of that.
double base_coverage(const stats::GenomeEstimate& estimate, const index::Totals& totals) {
  const double right = static_cast<double>(totals.counted_kmers) - estimate.error_kmers.value_or(0);
  return estimate.kmer_coverage * static_cast<double>(totals.bases) / right;
}

/// Makes later pieces of a sequence begin so many bases behind: what pieces of longer k-mers have in common
/// is too much for shorter ones.
void shorten_overlap(std::vector<io::Piece>& pieces, std::uint32_t bases) {
  for (io::Piece& piece : pieces) {
    if (piece.first_base == 0) continue;
    piece.first_base += bases;
    piece.offset += bases;
    piece.length -= bases;
  }
}

class WatchJob {
 public:
  WatchJob(const WatchOptions& options, WatchListener& listener)
      : options_(options),
        listener_(listener),
        resources_(host::settled(options.resources)),
        base_(earlier_index(options)),
        folder_(options.folder,
                base_ ? state_of(base_->provenance())->read : std::map<std::string, std::uint64_t>(),
                std::chrono::duration<double>(options.settle_seconds)),
        table_(backend::make_cpu_live_table(table_plan())) {
    if (!options.against.empty()) {
      against_index_ = std::make_unique<index::IndexFile>(options.against);
      against_ = backend::make_cpu_lookup(*against_index_, {.lenient = options.reading.lenient});
    }
    if (base_) {
      const std::string now = state().folder;
      const std::string& earlier = base_->provenance().inputs.front();
      if (!are_same_folder(now, earlier)) {
        listener.problem(
            fmt::format("{} is of {}: files of {} that have names and sizes of files there are not counted",
                        options.output, earlier, now));
      }
    }
    const index::Totals before = table_->tally().totals();
    last_kmers_ = before.counted_kmers;
    last_distinct_ = before.counted_distinct;
  }

  WatchReport run() {
    try {
      while (report_.why.empty()) step();
      if (!is_told_) tell_line();
      io::warn_of_phred64(options_.reading.qualities);
    } catch (const ResourceError& error) {
      if (half_counted_ > 0) {
        throw ResourceError(fmt::format(
            "{}; files are counted in part, which cannot be taken back, so that nothing is saved; "
            "begin again from what was saved last",
            error.what()));
      }
      save();
      throw;
    }
    save();
    report_.files = folder_.read().size();
    report_.damaged = folder_.damaged() + (is_away_ ? 1 : 0);
    return report_;
  }

 private:
  [[nodiscard]] WatchState state() const {
    const std::string& folder = options_.folder;
    return {folder.ends_with('/') ? folder : folder + "/", folder_.read(), options_.reading.min_base_quality};
  }

  [[nodiscard]] backend::LiveTablePlan table_plan() const {
    const std::uint64_t reading = room_.bytes();
    host::check_memory(resources_.memory_bytes, host::resident_bytes() + reading, resources_.threads);
    const std::uint64_t left = host::memory_left(resources_.memory_bytes);
    return {.kmers = options_.kmers,
            .threads = resources_.threads,
            .memory_bytes = left - std::min(left, reading),
            .base = base_.get()};
  }

  void step() {
    const std::vector<FilePart> parts = look();
    if (wants_what_is_there()) is_all_read_ = is_all_read(parts);
    if (!parts.empty()) {
      is_told_ = false;
      read(parts);
    }
    if (is_line_due() || is_late()) tell_line();
    if (!report_.why.empty()) return;
    if (listener_.must_end()) {
      report_.why = "it was told to";
      return;
    }
    switch (listener_.wait(parts.empty() ? seconds_to_wait() : 0)) {
      case WatchListener::Wish::save:
        save_meanwhile();
        break;
      case WatchListener::Wish::end:
        report_.why = "it was told to";
        break;
      case WatchListener::Wish::go_on:
        break;
    }
  }

  /// Looks at the folder. One that was there, and cannot be listed, may come back.
  std::vector<FilePart> look() {
    std::vector<FilePart> parts;
    last_look_ = WatchedFolder::Clock::now();
    if (!has_looked_) first_look_ = last_look_;
    try {
      parts = folder_.look(last_look_, [&](const std::string& what) { listener_.problem(what); });
    } catch (const InputError& error) {
      if (!has_looked_) throw;
      if (!std::exchange(is_away_, true))
        listener_.problem(fmt::format("{}; it is looked for again and again", error.what()));
      return {};
    }
    has_looked_ = true;
    is_away_ = false;
    return parts;
  }

  /// A limit of no time is for who wants what is there when it begins.
  [[nodiscard]] bool wants_what_is_there() const { return options_.until.seconds == 0.0; }
  /// Looks, with such a limit, whether that is read. Files that have changed just now are waited for once,
  /// for as long as one takes to settle; who has not done so by then is told.
  bool is_all_read(const std::vector<FilePart>& parts) {
    const std::vector<std::string> unread = folder_.unread();
    if (std::ranges::any_of(
            parts, [&](const FilePart& part) { return std::ranges::binary_search(unread, part.name); }))
      return false;
    const std::chrono::duration<double> waited = last_look_ - first_look_;
    if (!unread.empty() && waited.count() < options_.settle_seconds) return false;
    for (const std::string& name : unread) {
      listener_.problem(fmt::format("{} is still being written to: what is not finished of it is not counted",
                                    folder_.path_of(name)));
    }
    return true;
  }

  [[nodiscard]] bool is_late() const {
    if (!options_.until.seconds) return false;
    return wants_what_is_there() ? is_all_read_ : seconds_since(start_) >= *options_.until.seconds;
  }
  [[nodiscard]] bool is_line_due() const { return seconds_since(last_line_) >= options_.line_seconds; }
  [[nodiscard]] double seconds_to_wait() const {
    double seconds = std::min(options_.look_seconds, options_.line_seconds - seconds_since(last_line_));
    if (wants_what_is_there()) {
      seconds = std::min(seconds, options_.settle_seconds - seconds_since(first_look_));
    } else if (options_.until.seconds) {
      seconds = std::min(seconds, *options_.until.seconds - seconds_since(start_));
    }
    return std::max(seconds, 0.0);
  }

  /// Reads parts, each by one thread, until all are read, the job is to end, or there is something else to
  /// do. What is left then is found again at the next look.
  void read(const std::vector<FilePart>& parts) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> has_failed{false};
    const auto decompressing =
        static_cast<unsigned>(std::max<std::size_t>(1, resources_.threads / parts.size()));
    run_team(
        static_cast<unsigned>(std::min<std::size_t>(resources_.threads, parts.size())),
        [&](unsigned /*thread*/) {
          for (std::size_t i; !has_failed && !listener_.must_end() && (i = next++) < parts.size();) {
            read_part(parts[i], decompressing);
            if (is_line_due() || is_late() || listener_.must_save()) return;
          }
        },
        [&] { has_failed = true; });
    for (const std::string& what : std::exchange(problems_, {})) listener_.problem(what);
  }

  struct MatchedReads {
    std::uint64_t reads = 0, matching = 0;
    backend::Profile profile{};
    std::vector<std::uint64_t> counts{};
    ReadKmers unfinished{};  ///< of a sequence that comes in pieces, so far
  };

  void read_part(const FilePart& part, unsigned threads) {
    std::size_t added = 0;
    MatchedReads matched;
    try {
      for_each_batch(part, threads, [&](io::Batch& batch) {
        if (against_) match(batch, matched);
        shorten_overlap(batch.pieces, longest_k() - options_.kmers.k);
        table_->add(batch, options_.reading.lenient);
        ++added;
        return true;
      });
    } catch (const InputError& error) {
      if (added > 0 && folder_.has_lost(part)) {
        keep(part, error, matched);
        return;
      }
      leave_out(part, threads, added, error);
      return;
    } catch (const io::InputTooLarge& error) {
      leave_out(part, threads, added, error);
      return;
    } catch (const ResourceError&) {
      take_back(part, threads, added);
      throw;
    } catch (...) {
      half_counted_ += added > 0 ? 1 : 0;
      throw;
    }
    const std::lock_guard lock(mutex_);
    note_read(part, matched);
  }

  /// Under the lock.
  void note_read(const FilePart& part, const MatchedReads& matched) {
    folder_.note_read(part);
    looked_up_ += matched.reads;
    matched_ += matched.matching;
  }

  /// Calls `visit` with batches, which are the same each time as long as the file is, until it says false.
  /// InputError, too, for a file that takes more memory than there is for reading.
  template <class Visit>
  void for_each_batch(const FilePart& part, unsigned threads, const Visit& visit) {
    io::InputOptions reading{.reading = options_.reading,
                             .overlap_bases = longest_k() - 1,
                             .threads = threads,
                             .batch_bytes = kWatchedBatchBytes,
                             .in_order = true,
                             .one_caller = true};
    reading.longest_record_bytes = host::longest_record_bytes(resources_.memory_bytes, resources_.threads);
    const io::InputShares file = io::all_for_one({folder_.input(part)});
    std::uint64_t needed = io::InputSet(file, 0, reading).memory_bytes(1);
    if (needed > room_.bytes() / resources_.threads && threads > 1) {
      reading.threads = 1;
      needed = io::InputSet(file, 0, reading).memory_bytes(1);
    }
    if (needed > room_.bytes()) {
      throw InputError(fmt::format("{}: to read it takes {}, and -m {} leaves {} for reading; raise -m",
                                   folder_.input(part).shown, mebibytes_needed(needed),
                                   mebibytes(resources_.memory_bytes), mebibytes(room_.bytes())));
    }
    const ByteRoom::Held held(room_, needed);
    io::InputSet input(file, 0, reading);
    io::Batch batch;
    while (input.next(batch) && visit(batch)) continue;
  }

  /// The k-mers of a part stay counted, because it cannot be read again, and its file counts as read.
  void keep(const FilePart& part, const InputError& error, const MatchedReads& matched) {
    const std::lock_guard lock(mutex_);
    note_read(part, matched);
    problems_.push_back(
        fmt::format("{}; what was counted of it stays, and the rest is left out", error.what()));
  }

  /// A part that cannot be read is not counted, nor are its first batches, which have been added.
  void leave_out(const FilePart& part, unsigned threads, std::size_t added, const Error& error) {
    take_back(part, threads, added);
    const std::lock_guard lock(mutex_);
    folder_.note_damaged(part);
    const std::string of_what =
        part.begin == 0 ? "nothing of it"
                        : fmt::format("this is what it has from byte {} on, of which nothing", part.begin);
    problems_.push_back(fmt::format("{}; {} is counted unless it changes", error.what(), of_what));
  }

  /// Removes the first batches of a part. While that is not done, the table must not be saved.
  void take_back(const FilePart& part, unsigned threads, std::size_t batches) {
    if (batches == 0) return;
    ++half_counted_;
    std::size_t removed = 0;
    backend::Shortfall shortfall;
    try {
      for_each_batch(part, threads, [&](io::Batch& batch) {
        shorten_overlap(batch.pieces, longest_k() - options_.kmers.k);
        shortfall.merge(table_->remove(batch, options_.reading.lenient).shortfall);
        return ++removed < batches;
      });
    } catch (const InputError&) {
      shortfall.note(0, 1);
    } catch (const io::InputTooLarge&) {
      shortfall.note(0, 1);
    }
    if (removed < batches || !shortfall.is_none()) {
      throw InputError(
          fmt::format("{} changed while it was read, and what was counted of it cannot be taken back; begin "
                      "again from what was saved last",
                      folder_.input(part).shown));
    }
    --half_counted_;
  }

  [[nodiscard]] std::uint32_t against_k() const {
    return against_ ? against_index_->params().k : options_.kmers.k;
  }
  /// Returns the k that pieces of a sequence have enough in common for.
  [[nodiscard]] std::uint32_t longest_k() const { return std::max(options_.kmers.k, against_k()); }

  /// Judges the reads of a batch; one that comes in pieces with its last.
  void match(io::Batch& batch, MatchedReads& matched) const {
    const std::vector<io::Piece> pieces = batch.pieces;
    shorten_overlap(batch.pieces, longest_k() - against_k());
    against_->profile(batch, matched.profile);
    for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
      const ReadKmers kmers = count_found(matched.profile.exact(i, matched.counts), options_.matches);
      ReadKmers& read = matched.unfinished;
      read.kmers += kmers.kmers;
      read.found += kmers.found;
      if (!batch.pieces[i].last) continue;
      ++matched.reads;
      matched.matching += read.found > 0 && options_.matches.passes(read) ? 1 : 0;
      read = {};
    }
    batch.pieces = pieces;
  }

  /// Tells what is there, and looks whether it is enough.
  void tell_line() {
    const backend::LiveTally tally = table_->tally();
    const index::Totals totals = backend::totals_of(tally, tally.reads);
    WatchLine line;
    line.seconds = seconds_since(start_);
    line.files = folder_.read().size();
    line.records = totals.records;
    line.bases = totals.bases;
    line.kmers = totals.counted_kmers;
    line.distinct = totals.counted_distinct;
    const stats::SpectrumModel model = stats::model_spectrum(
        backend::params_for(options_.kmers.k, options_.kmers.canonical), totals, tally.histogram(),
        1);  // the other threads go on counting
    if (model.estimate) {
      line.coverage = base_coverage(*model.estimate, totals);
      line.genome_size = model.estimate->genome_size;
    }
    if (line.kmers > last_kmers_) {
      line.fresh = static_cast<double>(line.distinct - std::min(line.distinct, last_distinct_)) /
                   static_cast<double>(line.kmers - last_kmers_);
    }
    if (looked_up_ > 0) line.matched = static_cast<double>(matched_) / static_cast<double>(looked_up_);
    last_kmers_ = line.kmers;
    last_distinct_ = line.distinct;
    last_line_ = Clock::now();
    is_told_ = true;
    listener_.line(line);
    check_limits(line);
  }

  void check_limits(const WatchLine& line) {
    if (!report_.why.empty()) return;
    const WatchLimits& until = options_.until;
    if (until.coverage && line.coverage && *line.coverage >= *until.coverage) {
      report_.why = fmt::format("the coverage is {:.4g}", *line.coverage);
    } else if (until.fresh && line.fresh && *line.fresh < *until.fresh) {
      report_.why = fmt::format("of the last k-mers {:.3g} % are new", 100 * *line.fresh);
    } else if (is_late()) {
      report_.why = "its time is over";
    }
  }

  /// Writes the index, which can be tried again later: a disk that is full may have room then.
  void save_meanwhile() {
    try {
      save();
    } catch (const Error& error) {
      listener_.problem(fmt::format("{}; nothing is saved now, and counting goes on", error.what()));
    }
  }

  /// Writes the index as it is now.
  void save() {
    index::Provenance provenance = options_.provenance;
    provenance.inputs = inputs_of(state());
    backend::JobProgress progress;
    static_cast<IndexReport&>(report_) =
        write_live(*table_, {options_.output, options_.kmers, resources_, provenance}, progress);
    listener_.saved(report_);
  }

  const WatchOptions& options_;
  WatchListener& listener_;
  const host::Resources resources_;
  const std::unique_ptr<index::IndexFile> base_;
  std::unique_ptr<index::IndexFile> against_index_;
  std::unique_ptr<backend::Lookup> against_;
  ByteRoom room_{bytes_for_reading(resources_)};  ///< for reading; the table is planned with it
  std::mutex mutex_;  ///< guards the folder, problems and matches while threads read
  WatchedFolder folder_;
  std::vector<std::string> problems_;
  std::uint64_t looked_up_ = 0, matched_ = 0;
  const std::unique_ptr<backend::LiveTable> table_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_line_ = start_;
  std::uint64_t last_kmers_ = 0, last_distinct_ = 0;
  bool is_told_ = false;     ///< the last line says what is there
  bool has_looked_ = false;  ///< the folder has been there
  WatchedFolder::Clock::time_point first_look_, last_look_;
  bool is_all_read_ = false;                ///< that was there at the first look
  bool is_away_ = false;                    ///< it cannot be listed now
  std::atomic<unsigned> half_counted_ = 0;  ///< parts that are being taken back, or could not be
  WatchReport report_;
};

}  // namespace

WatchReport watch(const WatchOptions& options, WatchListener& listener) {
  return WatchJob(options, listener).run();
}

}  // namespace warpmer::jobs
