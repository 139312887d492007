/// `warpmer query`: counts of given k-mers, or of the k-mers of reads.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "backend/empty_input.h"
#include "backend/lookup/kmer_text.h"
#include "base/error.h"
#include "base/warning.h"
#include "cli/arguments/asked_table.h"
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
#include "cli/output/batch_text.h"
#include "cli/output/progress.h"
#include "cli/output/read_profile.h"
#include "cli/output/sequence_track.h"
#include "cli/output/table_schemas.h"
#include "file/output/temp_file_registry.h"
#include "formats/table/table_format.h"
#include "io/input_set.h"
#include "io/text/quality.h"
#include "jobs/device_choice.h"
#include "jobs/session_run.h"
#include "mpi/group_qualities.h"
#include "mpi/group_reads.h"

namespace warpmer::cli {
namespace {

using Stage = backend::JobProgress::Stage;

struct QueryOptions : Questions {
  bool profile = false;
  std::string format;  ///< empty: as the output's name has it
  backend::CountBounds found;
  bool no_header = false;
  bool exit_status = false;
  bool progress = false;
  io::ReadingOptions reading;
  DeviceFlags device;
  unsigned threads = 0;
  mpi::ProcessGroup* ranks = nullptr;

  [[nodiscard]] bool is_track() const { return format == "bedgraph" || format == "bed"; }
};

/// The data that all three kinds of query share.
struct Query {
  const QueryOptions& options;
  const backend::Lookup& lookup;
  TextOutput& output;
  unsigned threads;
  TrackRule track;  ///< for bedGraph and BED
  backend::JobProgress& progress;
  AskedReads reads{};
  std::uint64_t list_kmers = 0;
  std::atomic<bool> found_any{false};

  [[nodiscard]] bool is_track() const { return options.is_track(); }
  /// A line of numbers is asked for each read.
  [[nodiscard]] bool is_summary() const { return !is_track() && !options.profile; }
  void note_found(bool found) {
    if (found) found_any.store(true, std::memory_order_relaxed);
  }
};

void append_kmer_line(std::string& out, std::string_view kmer, std::uint64_t count) {
  out.append(kmer) += '\t';
  append_number(out, count);
  out += '\n';
}

void query_arguments(Query& query) {
  std::string text;
  for (const std::string& kmer : query.options.kmers) {
    const std::uint64_t count = query.lookup.find(kmer);
    query.note_found(count > 0);
    append_kmer_line(text, kmer, count);
  }
  query.output.write(text);
}

/// Returns the k-mers of a chunk of lines. InputError for a line that has none.
std::vector<std::string_view> kmers_in(const KmerList& list, const KmerChunk& chunk, std::uint32_t k) {
  std::vector<std::string_view> kmers;
  std::uint64_t line_number = chunk.first_line;
  for (std::string_view text = chunk.text; !text.empty(); ++line_number) {
    const std::string_view line = io::take_line(text);
    try {
      const std::string_view kmer = kmer_of_line(line);
      if (kmer.empty()) continue;
      backend::require_kmer(kmer, k);
      kmers.push_back(kmer);
    } catch (const UsageError& error) {
      throw InputError(fmt::format("{}:{}: {}", list.name(), line_number, error.what()));
    }
  }
  return kmers;
}

struct ChunkAnswer {
  std::string text;
  std::uint64_t kmers = 0;       ///< that it answers
  std::uint64_t list_bytes = 0;  ///< bytes of the list
};

ChunkAnswer answer_chunk(Query& query, const KmerList& list, const KmerChunk& chunk) {
  const std::vector<std::string_view> kmers = kmers_in(list, chunk, query.lookup.kmers().k);
  std::vector<std::uint64_t> counts(kmers.size());
  query.lookup.find_valid(kmers, counts.data());
  std::string out;
  out.reserve(chunk.text.size() + chunk.text.size() / 4);
  for (std::size_t i = 0; i < kmers.size(); ++i) {
    query.note_found(counts[i] > 0);
    append_kmer_line(out, kmers[i], counts[i]);
  }
  return {std::move(out), kmers.size(), chunk.disk_bytes};
}

void query_file(Query& query) {
  KmerList list(query.options.kmer_file);
  const unsigned threads = list.useful_threads(query.threads);
  Progress so_far{0, list.bytes()};
  const auto look_up = [&](const KmerChunk& chunk) { return answer_chunk(query, list, chunk); };
  work_in_order<KmerChunk>(list, OrderedTeam(threads), look_up, [&](const ChunkAnswer& answer) {
    so_far.done += answer.list_bytes;
    query.list_kmers += answer.kmers;
    query.output.write(answer.text, so_far);
    note_share(query.progress, Stage::answering, so_far);
  });
}

/// Appends to the text that is under way, or begins one.
std::string& text_of(BatchText& result) {
  if (result.empty() || !std::holds_alternative<std::string>(result.back()))
    result.emplace_back(std::string());
  return std::get<std::string>(result.back());
}

bool any_found(std::span<const std::uint32_t> counts) {
  return std::any_of(counts.begin(), counts.end(), [](std::uint32_t count) {
    return count != 0 && count != backend::Profile::kNarrowNoKmer;
  });
}

/// Appends a piece's intervals, or what is known of them. False where there are none.
bool answer_track(const Query& query, std::string_view name, const io::Piece& piece,
                  std::span<const std::uint64_t> counts, std::size_t& likely_bytes, BatchText& result) {
  const bool is_whole = piece.first_base == 0 && piece.last;
  TrackPart part =
      make_track_part(query.track, name, counts, piece.first_base, piece.last, is_whole ? 0 : likely_bytes);
  const bool has_intervals = part.first.has_value();
  if (is_whole) {
    std::string& text = text_of(result);
    TrackJoiner(query.track.format).add(part, [&](std::string_view lines) { text += lines; });
  } else {
    likely_bytes = part.between.size() / 8 * 9;
    result.emplace_back(std::move(part));
  }
  return has_intervals;
}

struct BatchAnswer {
  BatchText text;
  bool found = false;             ///< any k-mer, or any line of BED; only if --exit-status asks
  std::uint64_t input_bytes = 0;  ///< input bytes of the batch
};

/// Memory to answer batches in, one after another.
struct AnswerMemory {
  backend::Profile profile;
  backend::BatchSummary summary;
  backend::RawAnswer raw;
  std::size_t track_bytes = 0;  ///< bytes that the lines of a piece's track take, about
};

/// True for a batch of whole reads of which lines of numbers are asked.
bool is_summed_up(const Query& query, const io::Batch& batch) {
  return query.is_summary() &&
         std::all_of(batch.pieces.begin(), batch.pieces.end(),
                     [](const io::Piece& piece) { return piece.first_base == 0 && piece.last; });
}

void sum_up(Query& query, const io::Batch& batch, backend::BatchSummary& summary, BatchAnswer& answer) {
  query.lookup.summarise(batch, summary);
  bool has_kmers = false;
  std::string& text = text_of(answer.text);
  for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
    const backend::ReadSummary& read = summary.pieces[i];
    has_kmers = has_kmers || read.kmers > 0;
    answer.found = answer.found || read.found > 0;
    append_summary_line(text, batch.name(batch.pieces[i]), read);
  }
  query.reads.add(batch, has_kmers);
}

void tell_counts(Query& query, const io::Batch& batch, AnswerMemory& memory, BatchAnswer& answer) {
  backend::Profile& profile = memory.profile;
  query.lookup.profile(batch, profile);
  query.reads.add(batch, profile);
  BatchText& result = answer.text;
  std::vector<std::uint64_t> counts;
  for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
    const io::Piece& piece = batch.pieces[i];
    const bool is_bed = query.is_track() && query.track.format == TrackRule::TrackFormat::bed;
    if (query.options.exit_status && !is_bed) answer.found = answer.found || any_found(profile.narrow(i));
    if (query.is_track()) {
      const bool has_intervals =
          answer_track(query, batch.name(piece), piece, profile.exact(i, counts), memory.track_bytes, result);
      answer.found = answer.found || (is_bed && has_intervals);
    } else if (query.options.profile) {
      append_profile(text_of(result), batch.name(piece), profile.exact(i, counts), piece.first_base == 0,
                     piece.last);
    } else {
      ReadPart part{std::string(batch.name(piece)), {}, piece.last};
      add_to_tally(profile.exact(i, counts), part.tally);
      result.emplace_back(std::move(part));
    }
  }
}

/// The device finds the reads, and writes the lines.
void answer_raw(Query& query, const io::Batch& batch, backend::RawAnswer& raw, BatchAnswer& answer) {
  query.lookup.answer_raw(batch, io::lowest_unmasked(query.options.reading.min_base_quality), raw);
  answer.found = raw.found;
  text_of(answer.text).swap(raw.lines);
  query.reads.add(raw.read);
}

BatchAnswer answer_batch(Query& query, const io::Batch& batch, AnswerMemory& memory) {
  BatchAnswer answer;
  answer.input_bytes = batch.input_bytes;
  if (batch.is_raw_text()) {
    answer_raw(query, batch, memory.raw, answer);
  } else if (is_summed_up(query, batch)) {
    sum_up(query, batch, memory.summary, answer);
  } else {
    tell_counts(query, batch, memory, answer);
  }
  return answer;
}

io::InputOptions input_options_of(const Query& query) {
  io::InputOptions options = input_in_order(query.options.reading, query.lookup.kmers().k, query.threads);
  // Each base may become a line of twenty bytes, and lines of many batches wait for their turn.
  constexpr std::size_t kBedgraphBatchBytes = std::size_t{256} << 10;
  if (query.options.format == "bedgraph") options.batch_bytes = kBedgraphBatchBytes;
  return options;
}

/// With `may_take_text`, the text of files goes to a device that can do with it.
void read_once(Query& query, BatchJoiner& joiner, bool may_take_text) {
  io::InputSet inputs(query.options.reads, input_options_of(query));
  const io::TextMemory* const text_memory = query.lookup.text_memory();
  const bool takes_text = may_take_text && query.is_summary() && text_memory != nullptr;
  const std::size_t texts = takes_text ? inputs.enable_raw_fastq(*text_memory) : 0;
  Progress so_far{0, inputs.alike_bytes()};
  const auto answer = [&, memory = AnswerMemory()](const io::Batch& batch) mutable {
    BatchAnswer result = answer_batch(query, batch, memory);
    query.note_found(result.found);
    return result;
  };
  // Who has given a text to the device waits for its lines; others read meanwhile. Other files are work for
  // as many threads as read them.
  const bool are_all_texts = texts > 0 && texts == inputs.files().size();
  const OrderedTeam team(query.lookup, are_all_texts ? 2 * query.threads : query.threads);
  work_in_order<io::Batch>(inputs, team, answer, [&](BatchAnswer&& result) {
    so_far.done += result.input_bytes;
    joiner.write(std::move(result.text), so_far);
    note_share(query.progress, Stage::answering, so_far);
  });
}

/// A text before which all were regular begins where a record does, so that what has been written is true
/// also when a later one is refused.
void read_alone(Query& query, BatchJoiner& joiner) {
  jobs::retry_parsed(query.progress, [&](bool may_take_text) {
    query.reads.clear();
    joiner.begin_again();
    read_once(query, joiner, may_take_text);
    return true;
  });
}

void read_together(Query& query, BatchJoiner& joiner) {
  mpi::ProcessGroup& ranks = *query.options.ranks;
  std::vector<AnswerMemory> memory(query.threads);
  const auto answer = [&](const io::Batch& batch, unsigned thread, mpi::Message& message) {
    const BatchAnswer result = answer_batch(query, batch, memory[thread]);
    mpi::put_plain(message, result.found);
    put_batch_text(message, result.text);
  };
  const auto write = [&](mpi::MessageReader& message) {
    while (!message.is_at_end()) {
      query.note_found(message.plain<bool>());
      joiner.write(take_batch_text(message));
    }
  };
  mpi::GroupReads reads(ranks, query.options.reads, input_options_of(query), query.threads);
  reads.run(answer, write, [&] { query.lookup.cancel(); });
  query.note_found(ranks.sum(query.found_any ? 1 : 0) > 0);
}

void query_reads(Query& query) {
  const bool has_header = !query.options.no_header && !formats::table_named(query.options.format);
  if (query.is_summary() && has_header && query.options.ranks->is_first()) query.output.write(kSummaryHeader);
  BatchJoiner joiner(query.track.format, query.output);
  if (query.options.ranks->are_several()) {
    read_together(query, joiner);
  } else {
    read_alone(query, joiner);
  }
}

/// On all ranks together; returns how many reads all have answered.
std::uint64_t warn_if_no_kmers(const Query& query) {
  mpi::ProcessGroup& ranks = *query.options.ranks;
  backend::ReadTotals read = query.reads.totals();
  if (ranks.are_several()) read = {ranks.sum(read.records), ranks.sum(read.bases), ranks.sum(read.kmers)};
  if (ranks.is_first()) backend::warn_if_empty(read, query.lookup.kmers().k, "the reads");
  return read.records;
}

void check_format(const QueryOptions& options) {
  const bool is_bed = options.format == "bed", is_track = options.is_track();
  const bool is_table = formats::table_named(options.format).has_value();
  if (!is_track && !is_table && options.format != "tsv") {
    throw UsageError("--format must be tsv, bedgraph, bed, npz, arrow or parquet, not '" + options.format +
                     "'");
  }
  if (is_track && options.reads.empty()) throw UsageError("--format " + options.format + " needs --reads");
  if (is_track && options.profile)
    throw UsageError("--profile and --format " + options.format + " exclude each other");
  if (is_table && options.profile) {
    throw UsageError("--profile has a number for each position, and reads are not of one length; " +
                     options.format + " is for a line per read: leave out --profile, or write text");
  }
  if (is_table && options.no_header)
    throw UsageError("--no-header is for text; the columns of " + options.format + " have names");
  if (!is_bed && (options.found.min != 1 || options.found.max != UINT64_MAX))
    throw UsageError("--min-count and --max-count need --format bed");
  check_count_range(options.found);
}

void check_output_ending(const QueryOptions& options) {
  using formats::Content;
  if (options.format == "bed") {
    formats::check_ending(options.output, {Content::bed, Content::tsv});
  } else if (options.format == "bedgraph") {
    formats::check_ending(options.output, {Content::bedgraph, Content::tsv});
  } else if (const auto table = formats::table_named(options.format)) {
    formats::check_table(options.output, *table);
  } else {
    const Content named = formats::content_of_path(options.output).content;
    const bool is_track = named == Content::bed || named == Content::bedgraph;
    formats::check_ending(options.output, {Content::tsv},
                          is_track ? "add --reads FILE --format bed or bedgraph" : "");
  }
}

void check(const QueryOptions& options) {
  options.check(options.reading);
  check_server_device(options.server, options.device.device);
  check_format(options);
  if (options.profile && options.reads.empty()) throw UsageError("--profile needs --reads");
  if (options.ranks->are_several() && options.reads.empty())
    throw UsageError("only --reads are looked up by several ranks; start it without mpirun or srun");
}

/// For a server's answer to a few k-mers one thread will do: to find out how many there may be takes as long.
unsigned threads_for(const QueryOptions& options) {
  const bool is_short = options.reads.empty() && !options.server.empty() &&
                        (options.kmer_file.empty() || KmerList::is_short(options.kmer_file));
  return is_short ? 1 : threads_or_default(options.threads);
}

/// Single k-mers are looked up on the CPU, whatever profiles reads.
jobs::DeviceChoice device_for(const QueryOptions& options, const AskedTable& table, unsigned threads) {
  DeviceFlags flags = options.device;
  if (flags.device == "auto" && (options.reads.empty() || !options.server.empty())) flags.device = "cpu";
  return table.choose_device(flags, options.reads, threads);
}

TrackRule track_of(const QueryOptions& options, std::uint32_t k) {
  const auto format =
      options.format == "bed" ? TrackRule::TrackFormat::bed : TrackRule::TrackFormat::bedgraph;
  return {format, k, options.found};
}

/// The output of rank 0, which all ranks remove should one of them be killed.
class GroupOutput {
 public:
  GroupOutput(mpi::ProcessGroup& ranks, const std::string& path, unsigned threads)
      : ranks_(ranks), text_(ranks.is_first() ? path : "-", threads) {
    if (!ranks.are_several()) return;
    const std::string& name = text_.temporary();
    const mpi::Message shared = ranks.broadcast(mpi::Message(name.begin(), name.end()));
    if (!ranks.is_first() && !shared.empty()) unfinished_.emplace(std::string(shared.begin(), shared.end()));
    ranks.all_gather(0);  // from here on whichever is killed
  }

  /// For rank 0 to write to.
  [[nodiscard]] TextOutput& text() { return text_; }

  /// On all ranks together: the file gets its name.
  void finish() {
    if (ranks_.is_first()) text_.finish();
    if (ranks_.are_several()) {
      ranks_.all_gather(0);  // none takes it for finished before
    }
  }

 private:
  mpi::ProcessGroup& ranks_;
  TextOutput text_;
  std::optional<file::UnfinishedOutput> unfinished_;
};

/// Answers all that is asked; returns what that was, for the line at the end: nothing of single k-mers, whose
/// answers are before one's eyes.
std::string answer(Query& query) {
  const QueryOptions& options = query.options;
  if (!options.reads.empty()) {
    query_reads(query);
    const std::uint64_t reads = warn_if_no_kmers(query);
    return counted(reads, "read");
  }
  if (options.kmer_file.empty()) {
    query_arguments(query);
    return "";
  }
  query_file(query);
  if (query.list_kmers == 0) warn(fmt::format("there is no k-mer in {}", shown_input(options.kmer_file)));
  return counted(query.list_kmers, "k-mer");
}

/// InputError unless all ranks have opened the same index: on some node, the copy may be an old one.
void check_same_index(mpi::ProcessGroup& ranks, const AskedTable& table) {
  if (!ranks.are_several()) return;
  const std::optional<unsigned> other = ranks.first_other(table.content_checksum());
  if (!other) return;
  throw InputError(fmt::format(
      "{}: rank {} of MPI has opened another index of this name than rank 0; give all of them the same",
      table.name(), *other));
}

int run_query(QueryOptions options) {
  options.take_server();
  options.format = formats::settled_format(options.format, options.output, "tsv");
  check(options);
  // The others' reads do not count, and lists may be the first one's alone.
  if (options.ranks->is_first()) options.expand_lists();
  check_output_ending(options);
  AskedTable table(options.index, options.server);
  check_same_index(*options.ranks, table);
  const unsigned threads = threads_for(options);
  jobs::DeviceChoice device = device_for(options, table, threads);
  if (options.ranks->is_first()) warn_of(device);
  const backend::Lookup& lookup =
      table.lookup({.lenient = options.reading.lenient, .threads = threads}, device);
  GroupOutput output(*options.ranks, options.output, threads);
  const bool speaks = options.ranks->is_first();
  if (const auto content = formats::table_named(options.format); content && speaks) {
    const std::uint32_t k = table.kmers().k;
    output.text().begin_table(*content,
                              options.reads.empty() ? asked_kmers_table(k) : read_summaries_table(k));
  }
  bool found_any = false;
  const auto [asked, seconds] = run_with_meter(
      speaks ? progress_style(options.progress) : ProgressStyle::none, [&](backend::JobProgress& progress) {
        Query query{options, lookup, output.text(), threads, track_of(options, table.kmers().k), progress};
        std::string what = answer(query);
        found_any = query.found_any;
        return what;
      });
  mpi::warn_of_phred64(*options.ranks, options.reading.qualities);
  output.finish();
  if (speaks && !asked.empty()) {
    print_last_line(fmt::format("looked up {} in {}, {:.1f} s, {} {}", asked, table.name(), seconds,
                                shown_output(options.output), format_bytes(output.text().bytes_written())));
  }
  return options.exit_status && !found_any ? kNothingFound : kDone;
}

void declare_flags(CLI::App& command, QueryOptions& options) {
  add_question_flags(
      command, options,
      "Look up the k-mers of reads: any input that 'warpmer count' takes, @LIST and - included. One line per "
      "read, in input order.");
  command.add_flag("--profile", options.profile,
                   "With --reads: print the count at every position of a read.");
  command
      .add_option(
          "--format", options.format,
          "tsv: lines of text; npz: NumPy arrays of the same, see NumPy; arrow, parquet: tables of the "
          "same columns. With --reads also bedgraph: the counts along sequences; and bed: what found "
          "k-mers cover of them. Default: tsv, or what the output's name ends in: .npz, .arrow, "
          ".parquet.")
      ->type_name("tsv|bedgraph|bed|npz|arrow|parquet");
  add_count_range_flags(
      command, options.found,
      {.what = "With --format bed: found are k-mers", .where = " in the index", .least = 0});
  command.add_flag("--no-header", options.no_header, "With --reads: no line of column names.");
  command.add_flag(
      "--exit-status", options.exit_status,
      "Exit with status 1 when none of the k-mers was found; with --format bed, when there is no "
      "line.");
  add_progress_flag(command, options.progress);
  add_reading_flags(command, options.reading);
  add_threads_flag(command, options.threads);
  add_device_flags(
      command, options.device,
      "With --reads: auto, cpu, cuda for all GPUs that can be used, or cuda:N, or cuda:N,M, for those that "
      "'warpmer devices' lists under these numbers. Default: auto, which is all GPUs that were granted to "
      "this process, or the one with the most free memory, where the reads are not few; else the CPU. "
      "Several GPUs divide an index that is larger than the memory of each. Parts of one that is larger than "
      "that of all take turns there, if the GPU was asked for: that is for very many reads.");
  add_text_output_flag(command, options.output);
  add_server_flag(command, options.server, add_index_argument(command, options.index));
  command.add_option("KMER", options.kmers, "A k-mer to look up, on either strand of a canonical index.");
}

}  // namespace

void add_query_command(Application& application) {
  auto options = std::make_shared<QueryOptions>();
  CLI::App& command = application.add_command("query",
                                              "Look k-mers up in an index.\n"
                                              "K-mers given as arguments or by --kmers are printed as they "
                                              "were typed, with a tab and their count, 0 when absent.",
                                              R"(Reads:
  With --reads, a line of tab-separated columns per read, under a line of names:
    read    the read's name
    kmers   how many k-mers it has; those with an N or another break are none
    found   how many of them are in the index
    min, median, max
            of the counts of all its k-mers, absent ones counting as 0; the
            median of an even number is the lower of the two in the middle;
            NA for a read without k-mers
  With --profile, the name, a tab, and the counts of all positions from the
  first, separated by spaces; a dot where the k-mer contains a break.

Tracks, for reference sequences; positions count from 0, ends are exclusive:
  With --format bedgraph, a line per run of k-mers of the same count: name,
  begin, end, count. A position is that of a k-mer's first base, so that the
  k-mers that begin at begin, ..., end - 1 have this count, 0 included. A
  position whose k-mer contains a break is in no line.
  With --format bed, a line per stretch of bases that found k-mers cover: name,
  begin, end. It reaches from the first base of its first k-mer to the last base
  of its last. Found is a count of 1 or more, or within --min-count and
  --max-count: both 0 give what k-mers that are not in the index cover.

NumPy, with --format npz or -o FILE.npz:
  kmers   as they were asked for, bytes (type S)
  counts  of each, uint64
  k       a number
  With --reads, an array for each column instead: read (bytes), kmers, found,
  min, median, max (uint64; 0 instead of NA, where kmers is 0).

Arrow and Parquet:
  Columns kmer (text) and count (uint64); with --reads those of the text, with
  nulls for NA.

Examples:
  warpmer query sample.wmi ACGTTGCAACGTTGCAACGTTGCAACGTTGC
  warpmer query sample.wmi --kmers markers.txt > counts.tsv
  warpmer query --server sample.sock ACGTTGCAACGTTGCAACGTTGCAACGTTGC
  warpmer query sample.wmi --reads other_1.fq.gz other_2.fq.gz > summary.tsv
  warpmer query sample.wmi --kmers markers.txt -o counts.npz
  warpmer query sample.wmi --reads contigs.fa --profile -o profiles.txt
  warpmer query sample.wmi --reads genome.fa --format bedgraph > counts.bedgraph
  warpmer query reads.wmi --reads assembly.fa --format bed \
    --min-count 0 --max-count 0 > errors.bed
  mpirun -n 4 warpmer query sample.wmi --reads other.fq.gz -o summary.tsv
)");
  declare_flags(command, *options);
  options->ranks = &application.ranks();
  application.allow_ranks(command);
  application.on_run(command, [options] { return run_query(*options); });
}

}  // namespace warpmer::cli
