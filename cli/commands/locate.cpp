/// `warpmer locate`: where given k-mers, or the k-mers of reads, occur in indexed sequences.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/empty_input.h"
#include "backend/lookup/positions.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "base/warning.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/kmer_list.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/looked_up_input.h"
#include "cli/framework/messages.h"
#include "cli/framework/ordered_team.h"
#include "cli/framework/text_output.h"
#include "cli/output/asked_reads.h"
#include "cli/output/progress.h"
#include "file/output/ordered_text.h"
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
constexpr std::size_t kMostWaitingBytes = std::size_t{32} << 20;

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
    if (found) found_any.store(true, std::memory_order_relaxed);
  }
};

/// The lines of hits of a batch or a chunk.
class HitText {
 public:
  HitText(Locate& locate, file::OrderedText& output, std::uint64_t ordinal)
      : locate_(locate), output_(output), ordinal_(ordinal), text_(output.take()) {}

  /// Appends the lines of a k-mer.
  void add(std::string_view query, std::uint64_t query_position, const backend::HitRange& hits) {
    if (is_stopped_ || locate_.wanted(hits) == 0) return;
    locate_.note_found(true);
    begin_.assign(query) += '\t';
    append_number(begin_, query_position);
    begin_ += '\t';
    locate_.locator.for_each_hit(hits, [this](const index::Hit& hit) {
      if (text_->size() > kMostWaitingBytes) is_stopped_ = !output_.put_part(ordinal_, *text_);
      if (is_stopped_) return;
      const fmt::format_int position(hit.position);
      text_->append(begin_);
      text_->append(locate_.index.sequence_name(hit.sequence));
      text_->append("\t");
      text_->append({position.data(), position.size()});
      text_->append(hit.is_reverse ? "\t-\n" : "\t+\n");
    });
  }

  /// To be called once, when there are no more hits. `input_bytes` is what the text answers.
  void finish(std::uint64_t input_bytes) {
    text_->add_done(input_bytes);
    output_.put(ordinal_, std::move(text_));
  }

 private:
  Locate& locate_;
  file::OrderedText& output_;
  const std::uint64_t ordinal_;
  file::OrderedText::Buffer text_;
  std::string begin_;        ///< begin of all lines of a k-mer
  bool is_stopped_ = false;  ///< nothing is written any more
};

/// Returns what writes lines, and shows how much of the input they answer.
file::OrderedText::Write hit_writer(Locate& locate) {
  return [&locate, before = std::uint64_t{0}](std::string_view text, const Progress& so_far) mutable {
    // Of a text that goes on, only its end tells how much of the input it answers.
    locate.output.write(text, so_far.done == before ? Progress{0, so_far.total} : so_far);
    before = so_far.done;
    note_share(locate.progress, backend::JobProgress::Stage::answering, so_far);
  };
}

/// Runs `work(text)` on all threads, which take parts of `input` and put the lines of each. `input_bytes` is
/// what there is to answer, 0 when that is unknown.
template <class Input, class Work>
void answer_in_order(Locate& locate, Input& input, std::uint64_t input_bytes, Work&& work) {
  file::OrderedText text(locate.threads, input_bytes, hit_writer(locate));
  run_team(
      locate.threads, [&](unsigned /*thread*/) { work(text); },
      [&] {
        input.cancel();
        text.stop();
      });
}

void locate_arguments(Locate& locate) {
  file::OrderedText text(1, 0, hit_writer(locate));
  HitText out(locate, text, 0);
  for (const std::string& kmer : locate.options.kmers) out.add(kmer, 0, locate.locator.find(kmer));
  out.finish(0);
}

/// Appends the hits of the lines of a chunk.
void answer_chunk(Locate& locate, const KmerList& list, const KmerChunk& chunk, HitText& out) {
  std::uint64_t line = chunk.first_line, kmers = 0;
  for (std::string_view left = chunk.text; !left.empty(); ++line) {
    const std::string_view entry = io::take_line(left);
    try {
      const std::string_view kmer = kmer_of_line(entry);
      if (kmer.empty()) continue;
      ++kmers;
      out.add(kmer, 0, locate.locator.find(kmer));
    } catch (const UsageError& error) {
      throw InputError(fmt::format("{}:{}: {}", list.name(), line, error.what()));
    }
  }
  locate.list_kmers.fetch_add(kmers, std::memory_order_relaxed);
}

void locate_file(Locate& locate) {
  KmerList list(locate.options.kmer_file);
  answer_in_order(locate, list, list.bytes(), [&](file::OrderedText& text) {
    KmerChunk chunk;
    while (list.next(chunk)) {
      HitText out(locate, text, chunk.ordinal);
      answer_chunk(locate, list, chunk, out);
      out.finish(chunk.disk_bytes);
    }
  });
}

void look_up(Locate& locate, const io::Batch& batch, backend::LocatedBatch& located) {
  locate.locator.locate(batch, located);
  const std::vector<std::uint64_t>& asked = located.asked;
  locate.reads.add(batch, std::any_of(asked.begin(), asked.end(), [](auto kmers) { return kmers > 0; }));
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

LocatedPieces summarise_batch(Locate& locate, const io::Batch& batch, backend::LocatedBatch& located) {
  look_up(locate, batch, located);
  LocatedPieces summary{{}, batch.input_bytes};
  std::vector<LocatedPiece>& parts = summary.parts;
  parts.reserve(batch.pieces.size());
  for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
    const io::Piece& piece = batch.pieces[i];
    LocatedPiece part{std::string(batch.name(piece)), {}, piece.last};
    part.numbers.kmers = located.asked[i];
    for (const backend::LocatedKmer& kmer : located.of_piece(i)) {
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
  answer_in_order(locate, inputs, inputs.alike_bytes(), [&](file::OrderedText& text) {
    io::Batch batch;
    backend::LocatedBatch located;
    while (inputs.next(batch)) {
      look_up(locate, batch, located);
      HitText out(locate, text, batch.ordinal);
      for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
        const std::string_view name = batch.name(batch.pieces[i]);
        for (const backend::LocatedKmer& kmer : located.of_piece(i)) out.add(name, kmer.position, kmer.hits);
      }
      out.finish(batch.input_bytes);
    }
  });
}

void summarise_reads(Locate& locate) {
  io::InputSet inputs(locate.options.reads, input_options(locate));
  ReadNumbers numbers;  // of a read that goes on in the next batch
  Progress so_far{0, inputs.alike_bytes()};
  const auto summarise = [&, located = backend::LocatedBatch()](const io::Batch& batch) mutable {
    return summarise_batch(locate, batch, located);
  };
  const auto write = [&](const LocatedPieces& summary) {
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
  };
  work_in_order<io::Batch>(inputs, OrderedTeam(locate.threads, kBatchesPerThread), summarise, write);
}

void check(const LocateOptions& options) {
  options.check(options.reading);
  if (options.summary && options.reads.empty()) throw UsageError("--summary needs --reads");
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
  if (!options.no_header) output.write(options.summary ? kReadHeader : kHitHeader);
  bool found_any = false;
  const auto [asked, seconds] =
      run_with_meter(progress_style(options.progress), [&](backend::JobProgress& progress) {
        Locate locate{options, index, *locator, output, threads, progress};
        std::string what = answer(locate);
        found_any = locate.found_any;
        return what;
      });
  io::warn_of_phred64(options.reading.qualities);
  output.finish();
  if (!asked.empty()) {
    print_last_line(fmt::format("looked up {} in {}, {:.1f} s, {} {}", asked, options.index, seconds,
                                shown_output(options.output), format_bytes(output.bytes_written())));
  }
  return options.exit_status && !found_any ? kNothingFound : kDone;
}

void declare_flags(CLI::App& command, LocateOptions& options) {
  add_question_flags(
      command, options,
      "Look up the k-mers of reads: any input that 'warpmer count' takes, @LIST and - included.");
  add_whole_number(
      command, "--max-hits", 1, UINT64_MAX, options.max_hits,
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
