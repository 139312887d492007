/// `warpmer locate`: where given k-mers, or the k-mers of reads, occur in indexed sequences.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/empty_input.h"
#include "backend/lookup/positions.h"
#include "base/error.h"
#include "base/ordered_stage.h"
#include "base/thread_team.h"
#include "base/warning.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/kmer_list.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/messages.h"
#include "cli/framework/text_output.h"
#include "cli/output/asked_reads.h"
#include "cli/output/progress.h"
#include "io/input_set.h"

namespace warpmer::cli {
namespace {

struct LocateOptions : Questions {
  std::uint64_t max_hits = UINT64_MAX;
  bool summary = false;
  bool no_header = false;
  bool exit_status = false;
  bool progress = false;
  io::ReadingOptions reading;
  unsigned threads = 0;
};

constexpr std::string_view kHitHeader = "query\tquery_pos\tsequence\tposition\tstrand\n";
constexpr std::string_view kReadHeader = "read\tkmers\tfound\thits\n";

/// Results a thread may be ahead of the one that is written, per thread.
constexpr std::uint64_t kBatchesPerThread = 2;
/// Reads are looked up so much text at a time: every base of it may become a line.
constexpr std::size_t kBatchBytes = std::size_t{512} << 10;
/// Lines that may wait for their turn, of one batch. What has more is written when its turn has come.
constexpr std::size_t kMostWaitingBytes = std::size_t{64} << 20;
/// A line has at least so many bytes.
constexpr std::size_t kShortestLine = 9;

/// The data that all kinds of question share.
struct Locate {
  const LocateOptions& options;
  const index::PositionFile& index;
  const backend::Locator& locator;
  TextOutput& output;
  unsigned threads;
  backend::JobProgress& progress;
  AskedReads reads{};
  std::atomic<std::uint64_t> list_kmers{0};
  std::atomic<bool> found_any{false};

  /// Hits to report: none of a k-mer that has too many.
  [[nodiscard]] std::uint64_t wanted(const backend::HitRange& hits) const {
    return hits.size() > options.max_hits ? 0 : hits.size();
  }
  void note_found(bool found) {
    if (found) {
      found_any.store(true, std::memory_order_relaxed);
    }
  }
};

/// The answer to a batch or a chunk: text and, if that was too much to keep, a function that writes the rest
/// to the output.
struct Answer {
  std::string text;
  std::function<void()> rest;
  std::uint64_t input_bytes = 0;  ///< that it answers
};

/// Lines of hits, either kept up to a limit or written as they come.
class HitText {
 public:
  HitText(Locate& locate, bool is_kept) : locate_(locate), is_kept_(is_kept) {}
  ~HitText() { locate_.list_kmers.fetch_add(queries_, std::memory_order_relaxed); }
  HitText(const HitText&) = delete;
  HitText& operator=(const HitText&) = delete;

  /// Appends the lines of a k-mer. False when they would be too many to keep; then nothing was appended.
  bool add(std::string_view query, std::uint64_t query_position, const backend::HitRange& hits) {
    const std::uint64_t lines = locate_.wanted(hits);
    if (lines == 0) {
      ++queries_;
      return true;
    }
    locate_.note_found(true);
    if (is_kept_ && lines > (kMostWaitingBytes - std::min(kMostWaitingBytes, text_.size())) / kShortestLine) {
      return false;
    }
    ++queries_;
    begin_.assign(query) += '\t';
    append_number(begin_, query_position);
    begin_ += '\t';
    locate_.locator.for_each_hit(hits, [this](const index::Hit& hit) {
      text_.append(begin_).append(locate_.index.sequence_name(hit.sequence)) += '\t';
      append_number(text_, hit.position);
      text_ += hit.is_reverse ? "\t-\n" : "\t+\n";
      if (!is_kept_ && text_.size() > kFlushBytes) {
        flush();
      }
    });
    return true;
  }

  /// Writes what there is.
  void flush() {
    locate_.output.write(text_);
    text_.clear();
  }

  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }
  /// Takes back what was appended since there were `size` bytes.
  void cut(std::size_t size) { text_.resize(size); }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  static constexpr std::size_t kFlushBytes = std::size_t{256} << 10;

  Locate& locate_;
  bool is_kept_;
  std::string text_;
  std::string begin_;  ///< begin of all lines of a k-mer
  std::uint64_t queries_ = 0;
};

/// Runs `work(ordered)` on all threads, stopping them with `stop` when one fails. `input_bytes` is what there
/// is to answer, 0 when that is unknown.
template <typename Work, typename Stop>
void answer_in_order(Locate& locate, std::uint64_t input_bytes, Work&& work, Stop&& stop) {
  Progress so_far{0, input_bytes};
  OrderedStage<Answer> ordered(kBatchesPerThread * locate.threads, [&](Answer&& answer) {
    so_far.done += answer.input_bytes;
    // How much the rest is, only writing it tells.
    locate.output.write(answer.text, answer.rest ? Progress{0, input_bytes} : so_far);
    if (answer.rest) {
      answer.rest();
    }
    note_share(locate.progress, backend::JobProgress::Stage::answering, so_far);
  });
  run_team(
      locate.threads, [&](unsigned /*thread*/) { work(ordered); },
      [&] {
        stop();
        ordered.stop();
      });
}

void locate_arguments(Locate& locate) {
  HitText text(locate, false);
  for (const std::string& kmer : locate.options.kmers) {
    text.add(kmer, 0, locate.locator.find(kmer));
  }
  text.flush();
}

/// Appends the hits of the lines of a chunk from byte `begin` of it on, which is in line `line`. Returns
/// false when they are too many to keep, with `begin` and `line` at those not appended.
bool add_chunk(Locate& locate, const KmerList& list, std::string_view text, std::size_t& begin,
               std::uint64_t& line, HitText& out) {
  for (std::string_view left = text.substr(begin); !left.empty(); ++line) {
    const std::string_view entry = io::take_line(left);
    std::string_view kmer;
    backend::HitRange hits;
    try {
      kmer = kmer_of_line(entry);
      if (!kmer.empty()) hits = locate.locator.find(kmer);
    } catch (const UsageError& error) {
      throw InputError(fmt::format("{}:{}: {}", list.name(), line, error.what()));
    }
    if (!kmer.empty() && !out.add(kmer, 0, hits)) {
      return false;
    }
    begin = text.size() - left.size();
  }
  return true;
}

Answer answer_chunk(Locate& locate, const KmerList& list, KmerChunk& chunk) {
  HitText out(locate, true);
  std::size_t begin = 0;
  std::uint64_t line = chunk.first_line;
  const bool is_complete = add_chunk(locate, list, chunk.text, begin, line, out);
  Answer answer{out.take(), {}, chunk.disk_bytes};
  if (!is_complete) {
    answer.rest = [&locate, &list, text = std::move(chunk.text), begin, line]() mutable {
      HitText streamed(locate, false);
      add_chunk(locate, list, text, begin, line, streamed);
      streamed.flush();
    };
  }
  return answer;
}

void locate_file(Locate& locate) {
  KmerList list(locate.options.kmer_file);
  std::atomic<bool> stopped{false};
  answer_in_order(
      locate, list.bytes(),
      [&](OrderedStage<Answer>& ordered) {
        KmerChunk chunk;
        while (!stopped.load(std::memory_order_relaxed) && list.next(chunk)) {
          ordered.put(chunk.ordinal, answer_chunk(locate, list, chunk));
        }
      },
      [&] { stopped = true; });
}

/// A batch with what was found of it.
struct LocatedReads {
  io::Batch batch;
  backend::LocatedBatch located;
};

/// Appends the hits of a piece; false when they are too many to keep.
bool add_piece(const LocatedReads& reads, std::size_t piece, HitText& out) {
  const std::string_view name = reads.batch.name(reads.batch.pieces[piece]);
  const auto kmers = reads.located.of_piece(piece);
  return std::all_of(kmers.begin(), kmers.end(), [&](const backend::LocatedKmer& kmer) {
    return out.add(name, kmer.position, kmer.hits);
  });
}

void look_up(Locate& locate, LocatedReads& reads) {
  locate.locator.locate(reads.batch, reads.located);
  const std::vector<std::uint64_t>& asked = reads.located.asked;
  locate.reads.add(reads.batch,
                   std::any_of(asked.begin(), asked.end(), [](auto kmers) { return kmers > 0; }));
}

Answer answer_batch(Locate& locate, std::shared_ptr<LocatedReads>& reads) {
  look_up(locate, *reads);
  HitText out(locate, true);
  const std::size_t pieces = reads->batch.pieces.size();
  std::size_t next = 0;
  for (; next < pieces; ++next) {
    const std::size_t before = out.size();
    if (!add_piece(*reads, next, out)) {
      out.cut(before);
      break;
    }
  }
  Answer answer{out.take(), {}, reads->batch.input_bytes};
  if (next < pieces) {
    answer.rest = [&locate, kept = std::exchange(reads, std::make_shared<LocatedReads>()), next, pieces] {
      HitText streamed(locate, false);
      for (std::size_t i = next; i < pieces; ++i) {
        add_piece(*kept, i, streamed);
      }
      streamed.flush();
    };
  }
  return answer;
}

/// The numbers of a read, or of a part of one.
struct ReadNumbers {
  std::uint64_t kmers = 0;
  std::uint64_t found = 0;
  std::uint64_t hits = 0;
};

struct LocatedPiece {
  std::string name;
  ReadNumbers numbers;
  bool last = false;
};

struct LocatedPieces {
  std::vector<LocatedPiece> parts;
  std::uint64_t input_bytes = 0;
};

LocatedPieces summarise_batch(Locate& locate, LocatedReads& reads) {
  look_up(locate, reads);
  LocatedPieces summary{{}, reads.batch.input_bytes};
  std::vector<LocatedPiece>& parts = summary.parts;
  parts.reserve(reads.batch.pieces.size());
  for (std::size_t i = 0; i < reads.batch.pieces.size(); ++i) {
    const io::Piece& piece = reads.batch.pieces[i];
    LocatedPiece part{std::string(reads.batch.name(piece)), {}, piece.last};
    part.numbers.kmers = reads.located.asked[i];
    for (const backend::LocatedKmer& kmer : reads.located.of_piece(i)) {
      const std::uint64_t hits = locate.wanted(kmer.hits);
      part.numbers.found += hits > 0 ? 1 : 0;
      part.numbers.hits += hits;
    }
    locate.note_found(part.numbers.found > 0);
    parts.push_back(std::move(part));
  }
  return summary;
}

io::InputOptions input_options(const Locate& locate) {
  io::InputOptions options = input_in_order(locate.options.reading, locate.index.params().k, locate.threads);
  options.batch_bytes = kBatchBytes;
  return options;
}

void locate_reads(Locate& locate) {
  io::InputSet inputs(locate.options.reads, input_options(locate));
  answer_in_order(
      locate, inputs.alike_bytes(),
      [&](OrderedStage<Answer>& ordered) {
        auto reads = std::make_shared<LocatedReads>();
        while (inputs.next(reads->batch)) {
          const std::uint64_t ordinal = reads->batch.ordinal;
          ordered.put(ordinal, answer_batch(locate, reads));
        }
      },
      [&] { inputs.cancel(); });
}

void summarise_reads(Locate& locate) {
  io::InputSet inputs(locate.options.reads, input_options(locate));
  ReadNumbers numbers;  // of a read that goes on in the next batch
  Progress so_far{0, inputs.alike_bytes()};
  OrderedStage<LocatedPieces> ordered(kBatchesPerThread * locate.threads, [&](LocatedPieces&& summary) {
    std::string text;
    for (const LocatedPiece& part : summary.parts) {
      numbers.kmers += part.numbers.kmers;
      numbers.found += part.numbers.found;
      numbers.hits += part.numbers.hits;
      if (part.last) {
        fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\n", part.name, numbers.kmers, numbers.found,
                       numbers.hits);
        numbers = {};
      }
    }
    so_far.done += summary.input_bytes;
    locate.output.write(text, so_far);
    note_share(locate.progress, backend::JobProgress::Stage::answering, so_far);
  });
  const auto work = [&](unsigned /*thread*/) {
    LocatedReads reads;
    while (inputs.next(reads.batch)) {
      ordered.put(reads.batch.ordinal, summarise_batch(locate, reads));
    }
  };
  run_team(locate.threads, work, [&] {
    inputs.cancel();
    ordered.stop();
  });
}

void check(const LocateOptions& options) {
  options.check();
  if (options.summary && options.reads.empty()) {
    throw UsageError("--summary needs --reads");
  }
}

/// Answers all that is asked; returns what that was, for the line at the end: nothing of single k-mers, whose
/// answers are before one's eyes.
std::string answer(Locate& locate) {
  const LocateOptions& options = locate.options;
  if (!options.reads.empty()) {
    options.summary ? summarise_reads(locate) : locate_reads(locate);
    const backend::ReadTotals read = locate.reads.totals();
    backend::warn_if_empty(read, locate.index.params().k, "the reads");
    return counted(read.records, "read");
  }
  if (options.kmer_file.empty()) {
    locate_arguments(locate);
    return "";
  }
  locate_file(locate);
  if (locate.list_kmers == 0) warn(fmt::format("there is no k-mer in {}", shown_input(options.kmer_file)));
  return counted(locate.list_kmers, "k-mer");
}

int run_locate(LocateOptions options) {
  check(options);
  options.expand_lists();
  formats::check_ending(options.output, {formats::Content::tsv});
  const index::PositionFile index(options.index);
  const auto locator = backend::make_cpu_locator(index, options.reading.lenient);
  const unsigned threads = threads_or_default(options.threads);
  TextOutput output(options.output, threads);
  if (!options.no_header) {
    output.write(options.summary ? kReadHeader : kHitHeader);
  }
  bool found_any = false;
  const auto [asked, seconds] =
      run_with_meter(progress_style(options.progress), [&](backend::JobProgress& progress) {
        Locate locate{options, index, *locator, output, threads, progress};
        const std::string what = answer(locate);
        found_any = locate.found_any;
        return what;
      });
  io::warn_of_phred64(options.reading.qualities);
  output.finish();
  if (!asked.empty()) {
    print_last_line(fmt::format("looked up {} in {}, {:.1f} s, {} {}", asked, options.index, seconds,
                                shown_output(options.output),
                                format_bytes(static_cast<double>(output.bytes_written()))));
  }
  return options.exit_status && !found_any ? kNothingFound : kDone;
}

void declare_flags(CLI::App& command, LocateOptions& options) {
  add_question_flags(
      command, options,
      "Look up the k-mers of reads: any input that 'warpmer count' takes, @LIST and - included.");
  add_whole_number(
      command, "--max-hits", 1, UINT64_MAX, [&options](std::uint64_t value) { options.max_hits = value; },
      "Leave out k-mers that occur more than N times, as if they were absent. Default: no limit.");
  command.add_flag("--summary", options.summary, "With --reads: a line per read instead of one per hit.");
  command.add_flag("--no-header", options.no_header, "No line of column names.");
  command.add_flag("--exit-status", options.exit_status,
                   "Exit with status 1 when none of the k-mers was found.");
  add_progress_flag(command, options.progress);
  add_reading_flags(command, options.reading);
  add_threads_flag(command, options.threads);
  add_text_output_flag(command, options.output);
  command.add_option("INDEX", options.index, "Index written by 'warpmer positions'; - for standard input.")
      ->required()
      ->type_name("FILE");
  command.add_option("KMER", options.kmers,
                     "A k-mer to look up, on both strands unless --forward was given.");
}

}  // namespace

void add_locate_command(Application& application) {
  auto options = std::make_shared<LocateOptions>();
  CLI::App& command = application.add_command(
      "locate",
      "Find where k-mers occur in indexed sequences.\n"
      "The k-mers are given as arguments, by --kmers, or are all those of reads; the index is one that "
      "'warpmer positions' wrote. Hits come in the order of the k-mers and, for one k-mer, in the order of "
      "the indexed sequences.",
      R"(Columns:
  A line of tab-separated columns per hit, under a line of names; positions
  count from 0, and are those of a k-mer's first base:
    query      the read's name, or the k-mer as it was typed
    query_pos  position of the k-mer in the read; 0 for a k-mer
    sequence   name of the indexed sequence
    position   position in it, on its forward strand
    strand     + where the k-mer stands there as it is, - where its reverse
               complement does; + for a k-mer that is both
  With --summary, a line per read:
    read       the read's name
    kmers      how many k-mers it has; those with an N or another break are none
    found      how many of them occur
    hits       how often, all together

Examples:
  warpmer locate ref.wmp ACGTTGCAACGTTGCAACGTTGCAACGTTGC
  warpmer locate ref.wmp --reads reads.fq.gz --max-hits 100 > seeds.tsv
  warpmer locate ref.wmp --reads contigs.fa --summary
  warpmer locate ref.wmp --kmers markers.txt -o markers.tsv
)");
  declare_flags(command, *options);
  application.on_run(command, [options] { return run_locate(*options); });
}

}  // namespace warpmer::cli
