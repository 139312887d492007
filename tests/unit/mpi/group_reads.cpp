// Reads that several ranks share, as threads of one process: the same text in the same order as from one,
// however they are divided, and no more of it in memory than is allowed. (tests/cli/ranks_query.py has
// processes and MPI.)

#include "mpi/group_reads.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "random_text.h"
#include "refusal.h"
#include "unit/index/index_file_common.h"
#include "unit/mpi/rank_threads.h"

using namespace warpmer;
using index::test::says;
using index::test::ScratchFolder;
using index::test::write_bytes;
using test::on_ranks;
using tests::random_text;

namespace {

constexpr std::uint32_t kOverlap = 20;

io::InputOptions small_batches() {
  io::InputOptions options;
  options.overlap_bases = kOverlap;
  options.in_order = true;
  options.batch_bytes = 20000;
  return options;
}

/// Sequences as FASTA, put together of pieces that overlap.
void append_text(const io::Batch& batch, mpi::Message& text) {
  for (const io::Piece& piece : batch.pieces) {
    std::string_view bases = batch.bases(piece);
    if (bases.find('!') != std::string_view::npos) io::throw_bad_base(batch, piece, bases.find('!'));
    if (piece.first_base == 0) {
      text.push_back('>');
      const std::string_view name = batch.name(piece);
      text.insert(text.end(), name.begin(), name.end());
      text.push_back('\n');
    } else {
      bases.remove_prefix(std::min<std::size_t>(kOverlap, bases.size()));
    }
    text.insert(text.end(), bases.begin(), bases.end());
    if (piece.last) text.push_back('\n');
  }
}

std::string read_alone(const std::vector<std::string>& paths) {
  io::InputSet input(paths, small_batches());
  mpi::Message text;
  for (io::Batch batch; input.next(batch);) append_text(batch, text);
  return {text.begin(), text.end()};
}

struct Outcome {
  std::vector<std::string> errors;
  std::string text;
  std::atomic<unsigned> from_parts{0}, from_whole{0};  ///< batches
  std::atomic<unsigned> handed_on{0};                  ///< by the rank that has read them
};

void read_together(unsigned ranks, const std::vector<std::string>& paths, Outcome& outcome) {
  outcome.errors = on_ranks(ranks, [&](mpi::ProcessGroup& here) {
    mpi::GroupReads reads(here, paths, small_batches(), 1 + here.rank() % 2);
    reads.run(
        [&](const io::Batch& batch, unsigned, mpi::Message& text) {
          ++(batch.is_of_part ? outcome.from_parts : outcome.from_whole);
          if (batch.input_bytes == 0) ++outcome.handed_on;
          append_text(batch, text);
        },
        [&](mpi::MessageReader& text) { outcome.text += text.rest(); }, [] {});
  });
}

std::string fastq(std::mt19937_64& random, std::size_t bytes, const std::string& name) {
  std::string text;
  for (std::size_t i = 0; text.size() < bytes; ++i) {
    text += fmt::format("@{}{}\n{}\n+\n", name, i, random_text(random, 100));
    text += random_text(random, 100, "@+>FI") + '\n';
  }
  return text;
}

/// FASTQ of several lines, among which records of FASTQ seem to begin, or, with '>' for `mark`, of FASTA.
std::string awkward_fastq(std::mt19937_64& random, std::size_t records, char mark) {
  std::string text;
  for (std::size_t i = 0; i < records; ++i) {
    text += fmt::format("@awkward{}\n{}\n+\n", i, random_text(random, 15 * 40));
    for (int line = 0; line < 40; ++line) text += fmt::format("@r\nACGT\n+\nIIII\n{}abc\n", mark);
  }
  return text;
}

std::string fasta(std::mt19937_64& random, std::size_t bytes, std::size_t longest) {
  std::string text;
  for (std::size_t i = 0; text.size() < bytes; ++i) {
    text += fmt::format(">s{}\n", i);
    for (std::size_t left = random() % longest; left > 0; left -= std::min<std::size_t>(left, 70))
      text += random_text(random, std::min<std::size_t>(left, 70)) + '\n';
  }
  return text;
}

}  // namespace

TEST_CASE("the text of all inputs, in order") {
  const ScratchFolder folder;
  std::mt19937_64 random(1);
  write_bytes(folder / "reads.fq", fastq(random, 2'500'000, "r"));
  write_bytes(folder / "genes.fa", fasta(random, 1'500'000, 3000));
  write_bytes(folder / "genome.fa", fasta(random, 1'200'000, 400'000));
  write_bytes(folder / "small.fq", fastq(random, 900, "s"));
  write_bytes(folder / "empty.fq", "");
  const std::vector<std::string> paths = {folder / "small.fq",  folder / "reads.fq", folder / "empty.fq",
                                          folder / "genome.fa", folder / "genes.fa", folder / "small.fq"};
  const std::string wanted = read_alone(paths);
  for (const unsigned ranks : {1u, 2u, 3u, 5u}) {
    Outcome outcome;
    read_together(ranks, paths, outcome);
    CHECK(outcome.errors == std::vector<std::string>(ranks));
    CHECK((outcome.text == wanted));
    CHECK(outcome.from_parts > 0);
    CHECK(outcome.from_whole > 0);
  }
}

TEST_CASE("what is not divisible after all is read from its beginning, and nothing comes twice") {
  const ScratchFolder folder;
  std::mt19937_64 random(2);
  write_bytes(folder / "reads.fq",
              fastq(random, 1'200'000, "a") + awkward_fastq(random, 1000, '@') + fastq(random, 300'000, "b"));
  // The part that is wrong begins with a sequence of which pieces are written when that is found out.
  write_bytes(folder / "mixed.fa", fasta(random, 1'000'000, 2000) + ">long\n" + random_text(random, 700'000) +
                                       "\n" + awkward_fastq(random, 1000, '>'));
  write_bytes(folder / "after.fq", fastq(random, 1'100'000, "c"));
  const std::string after = folder / "after.fq";
  for (const std::string& awkward : {folder / "reads.fq", folder / "mixed.fa"}) {
    const std::string wanted = read_alone({after, awkward, after});
    for (const unsigned ranks : {2u, 3u}) {
      Outcome outcome;
      read_together(ranks, {after, awkward, after}, outcome);
      CHECK(outcome.errors == std::vector<std::string>(ranks));
      CHECK((outcome.text == wanted));
      CHECK(outcome.from_whole > 0);
      CHECK(outcome.from_parts > 100);
    }
  }
}

TEST_CASE("pieces of a sequence that is written in part") {
  io::Batch batch;
  const auto piece = [&](std::uint64_t record, std::uint64_t first_base, std::uint32_t length, bool last) {
    io::Piece one;
    one.record = record;
    one.first_base = first_base;
    one.offset = 1000;
    one.length = length;
    one.last = last;
    batch.pieces.push_back(one);
  };
  piece(6, 0, 50, true);
  piece(7, 0, 100, false);
  piece(7, 80, 100, false);
  piece(7, 160, 40, true);
  piece(8, 0, 30, true);
  mpi::leave_out_written({0, 6, 120}, kOverlap, batch);
  REQUIRE(batch.pieces.size() == 3);
  CHECK(batch.pieces[0].first_base == 100);  // so that the k-mers that begin there come once
  CHECK(batch.pieces[0].offset == 1020);
  CHECK(batch.pieces[0].length == 80);
  CHECK(batch.pieces[1].first_base == 160);
  CHECK(batch.pieces[1].length == 40);
  CHECK(batch.pieces[2].record == 8);
}

TEST_CASE("what a descriptor leads to is read by rank 0, however small the file") {
  const ScratchFolder folder;
  std::mt19937_64 random(6);
  const std::string path = folder / "reads.fq";
  write_bytes(path, fastq(random, 2000, "r"));
  const int descriptor = ::open(path.c_str(), O_RDONLY);
  REQUIRE(descriptor >= 0);
  const std::vector<std::string> paths = {path, fmt::format("/dev/fd/{}", descriptor), path};
  for (const io::InputShare& share : io::share_out(io::list_inputs(paths), 3, 1, true).shares) {
    if (share.file == 1) CHECK((share.owner == 0 && share.for_all));
  }
  Outcome outcome;
  read_together(3, paths, outcome);
  ::close(descriptor);
  CHECK(outcome.errors == std::vector<std::string>(3));
  CHECK((outcome.text == read_alone({path, path, path})));
  CHECK(outcome.handed_on == 1);
}

TEST_CASE("the first error in the order of the inputs is told, as one process tells it") {
  const ScratchFolder folder;
  std::mt19937_64 random(3);
  const std::string good = fastq(random, 1'200'000, "g");
  write_bytes(folder / "good.fq", good);
  write_bytes(folder / "bad_base.fq", good + "@bad\nAC!T\n+\nIIII\n" + good);
  write_bytes(folder / "bad_record.fq", good + "@bad\nACGT\n+\nII\n" + good);
  write_bytes(folder / "bad_small.fa", ">x\nACGT!\n");
  for (const std::string bad : {"bad_base.fq", "bad_record.fq", "bad_small.fa"}) {
    const std::vector<std::string> paths = {folder / "good.fq", folder / bad, folder / "bad_small.fa"};
    const std::string wanted = tests::refusal<InputError>([&] { read_alone(paths); });
    CHECK(says(wanted, bad));
    Outcome outcome;
    read_together(3, paths, outcome);
    CHECK(outcome.errors == std::vector<std::string>(3, wanted));
  }
}

TEST_CASE("a rank that fails ends all, wherever they wait") {
  const ScratchFolder folder;
  std::mt19937_64 random(4);
  write_bytes(folder / "reads.fq", fastq(random, 2'000'000, "r"));
  for (const unsigned failing : {0u, 2u}) {
    const auto errors = on_ranks(3, [&](mpi::ProcessGroup& here) {
      mpi::GroupReads reads(here, {folder / "reads.fq"}, small_batches(), 2, {0, 10'000, 10'000});
      std::atomic<int> batches{0};
      reads.run(
          [&](const io::Batch&, unsigned, mpi::Message& text) {
            text.resize(text.size() + 100'000);
            if (here.rank() == failing && ++batches == 10) throw ResourceError("no more");
          },
          [&](mpi::MessageReader&) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }, [] {});
    });
    CHECK(errors == std::vector<std::string>(3, "no more"));
  }
}

TEST_CASE("a rank that fails ends answers that are under way, its own and others'") {
  const ScratchFolder folder;
  std::mt19937_64 random(6);
  write_bytes(folder / "one.fq", fastq(random, 10, "r"));
  const std::vector<std::string> files(40, folder / "one.fq");  // so that every thread has one
  for (const unsigned failing : {0u, 2u}) {
    std::atomic<unsigned> waiting{0};
    const auto errors = on_ranks(3, [&](mpi::ProcessGroup& here) {
      mpi::GroupReads reads(here, files, small_batches(), 2);
      std::atomic<bool> is_cancelled{false};
      reads.run(
          [&](const io::Batch&, unsigned thread, mpi::Message&) {
            if (here.rank() == failing && thread == 1) {
              while (waiting < 5) std::this_thread::yield();
              throw ResourceError("no more");
            }
            ++waiting;
            is_cancelled.wait(false);
            throw InternalError("nobody wants this any more");
          },
          [](mpi::MessageReader&) {},
          [&] {
            is_cancelled = true;
            is_cancelled.notify_all();
          });
    });
    CHECK(waiting == 5);
    CHECK(errors == std::vector<std::string>(3, "no more"));
  }
}

namespace {

struct Waiting {
  std::int64_t most = 0;  ///< bytes of results that were made and not written, while the first was awaited
  std::int64_t all = 0;
};

/// Everything waits for the batch that begins with the record "r0", until no more results are made. Each is
/// of `result_bytes`.
Waiting make_wait(unsigned ranks, unsigned threads, const std::vector<std::string>& paths,
                  const mpi::ResultLimits& limits, std::int64_t result_bytes) {
  std::atomic<std::int64_t> made{0}, written{0}, most{0};
  const auto errors = on_ranks(ranks, [&](mpi::ProcessGroup& here) {
    mpi::GroupReads reads(here, paths, small_batches(), threads, limits);
    reads.run(
        [&](const io::Batch& batch, unsigned, mpi::Message& text) {
          if (batch.name(batch.pieces[0]) == "r0") {
            for (int i = 0; i < 6000 && made == 0; ++i)
              std::this_thread::sleep_for(std::chrono::milliseconds(10));
            std::int64_t seen = -1;
            while (std::exchange(seen, made.load()) != made)
              std::this_thread::sleep_for(std::chrono::milliseconds(200));
            most = made - written;
          }
          text.resize(text.size() + static_cast<std::size_t>(result_bytes));
          made += result_bytes;
        },
        [&](mpi::MessageReader& text) { written += static_cast<std::int64_t>(text.rest().size()); }, [] {});
  });
  CHECK(errors == std::vector<std::string>(ranks));
  CHECK(made == written);
  return {most, made};
}

}  // namespace

TEST_CASE("results that wait for their turn are bounded") {
  const ScratchFolder folder;
  std::mt19937_64 random(5);
  write_bytes(folder / "reads.fq", fastq(random, 4'000'000, "r"));
  constexpr std::int64_t kResult = 100'000;
  const Waiting parts = make_wait(3, 1, {folder / "reads.fq"}, {0, 100'000, 200'000}, kResult);
  CHECK(parts.all > 15'000'000);
  // Of each rank: half a MiB at rank 0, and what is one too many there, waits, and is held.
  CHECK(parts.most < 3 * ((1 << 19) + 7 * kResult));

  // Work of one batch each: no more is begun while results wait.
  write_bytes(folder / "one.fq", fastq(random, 10, "r"));
  write_bytes(folder / "another.fq", fastq(random, 10, "s"));
  std::vector<std::string> files(40, folder / "another.fq");
  files[0] = folder / "one.fq";
  const Waiting small = make_wait(2, 4, files, {0, 30'000, 1'000'000}, 3 * kResult);
  CHECK(small.all == 40 * 3 * kResult);
  CHECK(small.most > 0);
  CHECK(small.most < 13 * 3 * kResult);
}
