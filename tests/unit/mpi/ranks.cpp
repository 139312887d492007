// Ranks as threads of one process: the whole way of a count among several. (tests/cli/ranks.py has processes
// and MPI.)

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>
#include <stdexcept>
#include <system_error>

#include "host/node_share.h"
#include "jobs/count_job.h"
#include "mpi/process_group.h"
#include "random_text.h"
#include "unit/index/index_file_common.h"
#include "unit/mpi/rank_threads.h"

using namespace warpmer;
using index::test::read_bytes;
using index::test::says;
using index::test::ScratchFolder;
using index::test::write_bytes;
using test::on_ranks;

namespace {

std::string random_reads(std::size_t number, unsigned seed) {
  std::mt19937_64 random(seed);
  const std::string genome = tests::random_text(random, 20000);
  std::string text;
  for (std::size_t i = 0; i < number; ++i) {
    text += fmt::format("@r{}\n{}\n+\n", i, genome.substr(random() % (genome.size() - 100), 100));
    text += tests::random_text(random, 100, "@+>FI") + '\n';
  }
  return text;
}

jobs::CountOptions options_for(const std::string& output, std::uint32_t k,
                               const std::vector<std::string>& inputs) {
  jobs::CountOptions options;
  options.kmers.k = k;
  options.resources.threads = 2;
  options.resources.memory_bytes = std::uint64_t{1} << 30;
  options.inputs = inputs;
  options.output = output;
  return options;
}

std::string count_alone(const ScratchFolder& folder, std::uint32_t k,
                        const std::vector<std::string>& inputs) {
  backend::JobProgress progress;
  jobs::count(options_for(folder / "one.wmi", k, inputs), progress);
  return read_bytes(folder / "one.wmi");
}

}  // namespace

TEST_CASE("steps that all ranks take together") {
  const auto errors = on_ranks(5, [](mpi::ProcessGroup& ranks) {
    for (std::uint64_t round = 0; round < 20; ++round) {
      const auto all = ranks.all_gather(100 * round + ranks.rank());
      CHECK(all == std::vector<std::uint64_t>{100 * round, 100 * round + 1, 100 * round + 2, 100 * round + 3,
                                              100 * round + 4});
      CHECK(ranks.sum(round) == 5 * round);
      CHECK(ranks.first_other(round) == std::nullopt);
      CHECK(ranks.first_other(ranks.rank() < 3 ? round : 0) ==
            (round == 0 ? std::nullopt : std::optional(3u)));
    }
  });
  CHECK(errors == std::vector<std::string>(5));
}

TEST_CASE("ranks write what one process writes") {
  const ScratchFolder folder;
  const std::string large = folder / "large.fq", small = folder / "small.fq";
  write_bytes(large, random_reads(8000, 1));
  write_bytes(small, random_reads(3, 2));
  for (const std::uint32_t k : {5u, 31u, 55u}) {
    for (const unsigned size : {2u, 5u}) {
      const std::string wanted = count_alone(folder, k, {large, small});
      const auto errors = on_ranks(size, [&](mpi::ProcessGroup& ranks) {
        auto options = options_for(folder / "many.wmi", k, {large, small});
        options.ranks = &ranks;
        backend::JobProgress progress;
        jobs::count(options, progress);
      });
      CHECK(errors == std::vector<std::string>(size));
      CHECK((read_bytes(folder / "many.wmi") == wanted));
    }
  }
}

TEST_CASE("a rank that fails ends all, with one error and without a file") {
  const ScratchFolder folder;
  const std::string good = folder / "good.fq", bad = folder / "bad.fa";
  write_bytes(good, random_reads(2000, 3));
  write_bytes(bad, ">bad\nACGT!\n");
  const std::size_t before = folder.files();
  const auto errors = on_ranks(3, [&](mpi::ProcessGroup& ranks) {
    auto options = options_for(folder / "out.wmi", 31, {good, bad});
    options.ranks = &ranks;
    backend::JobProgress progress;
    jobs::count(options, progress);
  });
  for (const std::string& error : errors) CHECK(says(error, "bad.fa"));
  CHECK(folder.files() == before);
}

TEST_CASE("ranks count all on CPUs or all on GPUs, and not on more than can count together") {
  const ScratchFolder folder;
  const std::size_t before = folder.files();
  const auto errors_with = [&](const std::function<std::vector<int>(unsigned rank)>& gpus) {
    return on_ranks(3, [&](mpi::ProcessGroup& ranks) {
      auto options = options_for(folder / "out.wmi", 31, {folder / "none.fq"});
      options.ranks = &ranks;
      options.device.gpus = gpus(ranks.rank());
      backend::JobProgress progress;
      jobs::count(options, progress);
    });
  };
  for (const std::string& error : errors_with([](unsigned rank) { return std::vector<int>(rank % 2); }))
    CHECK(says(error, "2 of 3 ranks were told to count on CPUs"));
  for (const std::string& error : errors_with([](unsigned rank) { return std::vector<int>(21 + rank); }))
    CHECK(says(error, "3 ranks were told to count on 66 GPUs"));
  CHECK(folder.files() == before);
}

TEST_CASE("all ranks know which one has failed, and on which machine") {
  std::vector<std::string> places(3);
  on_ranks(3, [&](mpi::ProcessGroup& ranks) {
    try {
      if (ranks.rank() == 1) throw ResourceError("full");
      ranks.all_gather(1);
    } catch (const Error&) {
      places[ranks.rank()] = ranks.settle(mpi::job_failure_of(std::current_exception())).place;
    }
  });
  CHECK(places == std::vector<std::string>(3, "rank 1 on " + host::machine_name()));
}

TEST_CASE("what becomes of an exception does not depend on which rank throws it") {
  const auto thrown = [](const auto& error) { return std::make_exception_ptr(error); };
  const std::vector<std::pair<std::exception_ptr, ErrorKind>> cases = {
      {thrown(UsageError("u")), ErrorKind::usage},
      {thrown(InputError("i")), ErrorKind::input},
      {thrown(ResourceError("r")), ErrorKind::resource},
      {thrown(std::bad_alloc()), ErrorKind::resource},
      {thrown(std::system_error(EAGAIN, std::generic_category())), ErrorKind::resource},
      {thrown(InternalError("b")), ErrorKind::internal},
      {thrown(std::logic_error("l")), ErrorKind::internal},
      {thrown(7), ErrorKind::internal},
  };
  for (const auto& [error, kind] : cases) {
    const mpi::JobFailure wanted = mpi::job_failure_of(error);
    CHECK(wanted.kind == kind);
    for (const unsigned failing : {0u, 1u}) {
      const auto errors = on_ranks(2, [&, failure = error](mpi::ProcessGroup& ranks) {
        if (ranks.rank() == failing) std::rethrow_exception(failure);
        ranks.all_gather(1);
      });
      CHECK(errors == std::vector<std::string>(2, wanted.message));
    }
  }
}
