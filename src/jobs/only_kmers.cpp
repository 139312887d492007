#include "jobs/only_kmers.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/lookup/lookup.h"
#include "backend/lookup/sieve.h"
#include "base/error.h"
#include "file/input_error.h"
#include "formats/stream/kmer_stream.h"
#include "host/tmp_directory.h"
#include "index/index_start.h"
#include "io/fastx/sequence_data.h"
#include "io/text/line_reader.h"
#include "jobs/import_job.h"

namespace warpmer::jobs {
namespace {

constexpr io::LineLimit kLongestListLine = {.bytes = std::size_t{1} << 20,
                                            .refusal = "this line is too long for a list of k-mers"};

/// A list of k-mers: the first word of every line.
class ListedKmers final : public formats::KmerSource {
 public:
  ListedKmers(const std::string& path, const CountOptions& job)
      : lines_(path, job.resources.threads, kLongestListLine) {
    facts_.k = job.kmers.k;
    facts_.canonical = job.kmers.canonical;
    facts_.may_repeat = true;
  }

  std::size_t read(std::span<formats::CountedKmer> out) override {
    std::size_t n = 0;
    for (std::string_view entry; n < out.size() && lines_.next_entry(entry); ++n)
      out[n] = {parse(io::first_word(entry)), 1};
    return n;
  }

 private:
  [[nodiscard]] Key128 parse(std::string_view text) const {
    if (text.starts_with('>') || text.starts_with('@')) {
      lines_.fail(fmt::format("{} is no k-mer; sequences are taken from a file, and not from a pipe",
                              file::quoted(text)));
    }
    if (text.size() != facts_.k) {
      lines_.fail(fmt::format("{} has {} characters, and k-mers of {} are counted", file::quoted(text),
                              text.size(), facts_.k));
    }
    return text.size() <= kMaxNarrowK ? parse_as(text, Key64{}) : parse_as(text, Key128{});
  }
  template <class Key>
  [[nodiscard]] Key128 parse_as(std::string_view text, Key kmer) const {
    if (!kmer_from_text(text, kmer))
      lines_.fail(fmt::format("{} has characters other than A C G T U", file::quoted(text)));
    return kmer;
  }

  io::LineReader lines_;
};

void count_sequences(const CountOptions& job, const std::string& output) {
  CountOptions own;
  own.kmers = job.kmers;
  own.table = job.table;
  own.reading.lenient = job.reading.lenient;
  own.reading.reference = job.reading.reference;
  own.resources = job.resources;
  own.tmp_directory = job.tmp_directory;
  own.inputs = {job.only};
  own.output = output;
  own.provenance.tool_version = job.provenance.tool_version;
  backend::JobProgress unseen;
  count(own, unseen);
}

void import_list(const CountOptions& job, const std::string& output) {
  ListedKmers list(job.only, job);
  ImportOptions own;
  own.input = job.only;
  own.canonical = job.kmers.canonical;
  own.sum_duplicates = true;
  own.resources = job.resources;
  own.output = output;
  own.provenance.tool_version = job.provenance.tool_version;
  backend::JobProgress unseen;
  run_import(list, own, unseen);
}

/// The text that a thread passes on, and what it has found out about the batch before.
struct KeptText {
  io::Batch batch;
  std::unique_ptr<backend::KmerSieve> sieve;  ///< null: there is none, or it keeps nearly all
  io::Batch sifted;
  std::uint64_t looked_at = 0, passed = 0;  ///< k-mers that the sieve was given, and let pass
  backend::Profile profile;
};

/// Gives a session, of batches of text, what are k-mers of an index, which must live as long, and nothing
/// else.
template <class Session>
class WantedText {
 public:
  WantedText(std::unique_ptr<Session> session, const index::IndexFile& only, bool is_lenient,
             unsigned threads, std::size_t batch_bytes)
      : session_(std::move(session)),
        k_(only.params().k),
        batch_bytes_(batch_bytes),
        lookup_(backend::make_cpu_lookup(only, {.lenient = is_lenient, .threads = threads})),
        kept_(threads) {
    const backend::MakeSieve make_sieve = backend::cpu_sieves(only, is_lenient);
    for (KeptText& kept : kept_) kept.sieve = make_sieve();
  }

  [[nodiscard]] Session& session() const noexcept { return *session_; }

  /// Keeps what of a batch is wanted. The session gets it when there is much of it; returns the sum of what
  /// it has returned for that.
  std::uint64_t add(const io::Batch& batch, unsigned thread) {
    KeptText& kept = kept_[thread];
    const io::Batch& wanted = kept.sieve ? sifted(batch, kept) : batch;
    lookup_->profile(wanted, kept.profile);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < wanted.pieces.size(); ++i)
      sum += add_stretches(wanted, wanted.pieces[i], kept.profile.narrow(i), thread);
    return sum;
  }

  /// The session gets what is kept; returns what it has returned.
  std::uint64_t pass_on(unsigned thread) {
    io::Batch& kept = kept_[thread].batch;
    if (kept.pieces.empty()) return 0;
    const std::uint64_t taken = session_->add(kept, thread);
    kept.clear();
    return taken;
  }

 private:
  /// Returns what of a batch may be wanted. A sieve that keeps most of it costs more than it saves.
  const io::Batch& sifted(const io::Batch& batch, KeptText& kept) const {
    constexpr std::uint64_t kEnough = std::uint64_t{1} << 20;
    kept.looked_at += kept.sieve->sift(batch, kept.sifted);
    for (const io::Piece& piece : kept.sifted.pieces) kept.passed += piece.length - k_ + 1;
    if (kept.looked_at > kEnough && kept.passed > kept.looked_at / 2) kept.sieve.reset();
    return kept.sifted;
  }

  /// Keeps the stretches of a piece in which every k-mer is one of those: `counts` says which are.
  std::uint64_t add_stretches(const io::Batch& batch, const io::Piece& piece,
                              std::span<const std::uint32_t> counts, unsigned thread) {
    const auto is_one = [](std::uint32_t count) {
      return count != 0 && count != backend::Profile::kNarrowNoKmer;
    };
    std::uint64_t sum = 0;
    for (auto at = counts.begin(); at != counts.end();) {
      const auto begin = std::find_if(at, counts.end(), is_one);
      at = std::find_if_not(begin, begin + std::min<std::ptrdiff_t>(counts.end() - begin, most_kmers()),
                            is_one);
      if (begin == at) continue;
      const auto kmers = static_cast<std::uint32_t>(at - begin);
      const std::uint32_t length = kmers + k_ - 1;
      if (!has_room(kept_[thread].batch, length)) sum += pass_on(thread);
      add_stretch(batch, piece, static_cast<std::uint32_t>(begin - counts.begin()), length, thread);
    }
    return sum;
  }

  [[nodiscard]] bool has_room(const io::Batch& kept, std::uint32_t length) const {
    return kept.text.size() + length <= batch_bytes_ && kept.pieces.size() < io::batch_pieces(batch_bytes_);
  }

  /// Keeps `length` bases of a piece, from the one at `first`.
  void add_stretch(const io::Batch& batch, const io::Piece& piece, std::uint32_t first, std::uint32_t length,
                   unsigned thread) {
    io::Batch& kept = kept_[thread].batch;
    if (kept.pieces.empty()) {
      kept.text.reserve(batch_bytes_);
      kept.file = batch.file;
    }
    io::Piece taken;
    taken.record = piece.record;
    taken.first_base = piece.first_base + first;
    taken.offset = static_cast<std::uint32_t>(kept.text.size());
    taken.length = length;
    kept.text.append(batch.bases(piece).substr(first, length));
    kept.pieces.push_back(taken);
  }

  /// Most k-mers of a stretch: several stretches are to fit a batch.
  [[nodiscard]] std::ptrdiff_t most_kmers() const {
    return static_cast<std::ptrdiff_t>(std::max<std::size_t>(batch_bytes_ / 8, 4 * kMaxK) - k_);
  }

  std::unique_ptr<Session> session_;
  const std::uint32_t k_;
  const std::size_t batch_bytes_;
  std::unique_ptr<backend::Lookup> lookup_;
  std::vector<KeptText> kept_;  ///< by thread
};

class OnlySession final : public backend::CountingSession {
 public:
  explicit OnlySession(WantedText<backend::CountingSession> wanted) : wanted_(std::move(wanted)) {}

  std::uint64_t add(io::Batch& batch, unsigned thread) override { return wanted_.add(batch, thread); }
  std::uint64_t end_of_input(unsigned thread) override {
    const std::uint64_t kmers = wanted_.pass_on(thread);
    return kmers + wanted_.session().end_of_input(thread);
  }

  void finish(unsigned thread, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    wanted_.session().finish(thread, sink, shard_done);
  }
  [[nodiscard]] backend::FoundInText found_in_text() const override {
    return wanted_.session().found_in_text();
  }
  [[nodiscard]] backend::Tally tally() const override { return wanted_.session().tally(); }
  [[nodiscard]] backend::SpillReport spilled() const override { return wanted_.session().spilled(); }
  [[nodiscard]] backend::SessionReport report() const override { return wanted_.session().report(); }

 private:
  WantedText<backend::CountingSession> wanted_;
};

class OnlySample final : public backend::SampleSession {
 public:
  explicit OnlySample(WantedText<backend::SampleSession> wanted) : wanted_(std::move(wanted)) {}

  std::uint64_t add(io::Batch& batch, unsigned thread) override {
    const std::uint64_t kmers = wanted_.add(batch, thread);
    return kmers + wanted_.pass_on(thread);  // now: the caller wants to know those of this batch
  }
  void finish(unsigned thread) override { wanted_.session().finish(thread); }
  [[nodiscard]] backend::KmerSample sample() const override { return wanted_.session().sample(); }

 private:
  WantedText<backend::SampleSession> wanted_;
};

}  // namespace

OnlyKmers::OnlyKmers(const CountOptions& job) {
  if (index::is_index_file(job.only)) {
    index_.emplace(job.only);
    const index::IndexParams& params = index_->params();
    if (params.k != job.kmers.k || params.canonical != job.kmers.canonical) {
      const auto of = [](std::uint32_t k, bool canonical) {
        return fmt::format("k = {} {} --forward", k, canonical ? "without" : "and");
      };
      throw UsageError(fmt::format("the index {} of --only was made with {}, and this job counts with {}",
                                   job.only, of(params.k, params.canonical),
                                   of(job.kmers.k, job.kmers.canonical)));
    }
    return;
  }
  temporary_ = std::make_unique<TemporaryIndex>(host::tmp_directory(job.tmp_directory, job.output),
                                                TemporaryIndex::IfMissing::make);
  if (io::sequence_data_in(job.only).empty()) {
    import_list(job, temporary_->path());
  } else {
    count_sequences(job, temporary_->path());
  }
  index_.emplace(temporary_->path());
}

std::unique_ptr<backend::CountingSession> make_only_session(std::unique_ptr<backend::CountingSession> session,
                                                            const index::IndexFile& only, bool is_lenient,
                                                            unsigned threads, std::size_t batch_bytes) {
  return std::make_unique<OnlySession>(
      WantedText<backend::CountingSession>(std::move(session), only, is_lenient, threads, batch_bytes));
}

std::unique_ptr<backend::SampleSession> make_only_sample(std::unique_ptr<backend::SampleSession> session,
                                                         const index::IndexFile& only, bool is_lenient,
                                                         unsigned threads, std::size_t batch_bytes) {
  return std::make_unique<OnlySample>(
      WantedText<backend::SampleSession>(std::move(session), only, is_lenient, threads, batch_bytes));
}

std::uint64_t only_session_bytes(std::uint64_t only_bytes, unsigned threads, std::size_t batch_bytes) {
  const std::uint64_t pieces = io::batch_pieces(batch_bytes) * sizeof(io::Piece);
  return only_bytes + threads * (batch_bytes * (2 + sizeof(std::uint32_t)) + 2 * pieces);
}

}  // namespace warpmer::jobs
