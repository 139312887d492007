// Ranks as threads of one process agree on rounds of an exchange.

#include "mpi/rounds.h"

#include <doctest/doctest.h>

#include <numeric>
#include <random>
#include <thread>

#include "unit/mpi/rank_threads.h"

using namespace warpmer;
using mpi::PartitionTable;
using mpi::Rounds;
using test::on_ranks;

namespace {

/// A segment of a device: words for each device of the job.
using Parts = std::vector<std::uint64_t>;

/// Waits for the round to be complete, and takes it.
PartitionTable take(Rounds& rounds) {
  while (!rounds.is_complete()) {
    rounds.listen();
    std::this_thread::yield();
  }
  return rounds.take();
}

PartitionTable rows_of(const Rounds& rounds, const std::vector<Parts>& own) {
  PartitionTable table(rounds.devices());
  for (std::uint32_t i = 0; i < own.size(); ++i) {
    for (std::uint32_t j = 0; j < own[i].size(); ++j) table.size(rounds.first_own() + i, j) = own[i][j];
  }
  return table;
}

}  // namespace

TEST_CASE("one rank is always complete") {
  Rounds rounds(mpi::single_process(), {3});
  CHECK(rounds.devices() == 3);
  CHECK(!rounds.is_complete());
  rounds.offer(rows_of(rounds, {{1, 2, 3}, {}, {7, 8, 9}}), false);
  CHECK(!rounds.may_offer());
  REQUIRE(rounds.is_complete());
  const PartitionTable table = rounds.take();
  CHECK(table.sent(0) == 6);
  CHECK(table.sent(1) == 0);
  CHECK(table.received(2) == 12);
  CHECK(!rounds.have_ended());
  rounds.offer(PartitionTable(3), true);
  CHECK(rounds.take().received(0) == 0);
  CHECK(rounds.have_ended());
  CHECK(!rounds.may_offer());
}

TEST_CASE("all ranks take the same tables, whoever has more segments, and nothing is lost") {
  constexpr unsigned kRanks = 4;
  for (const std::vector<std::uint32_t>& devices_of_ranks :
       {std::vector{1u, 1u, 1u, 1u}, std::vector{3u, 3u, 3u, 3u}, std::vector{2u, 1u, 4u, 3u}}) {
    const std::uint32_t devices = std::accumulate(devices_of_ranks.begin(), devices_of_ranks.end(), 0u);
    std::vector<std::vector<PartitionTable>> seen(kRanks);
    std::vector<Parts> given(devices, Parts(devices));
    const auto errors = on_ranks(kRanks, [&](mpi::ProcessGroup& ranks) {
      Rounds rounds(ranks, devices_of_ranks);
      const std::uint32_t own_devices = devices_of_ranks[ranks.rank()];
      CHECK(rounds.devices() == devices);
      CHECK(rounds.end_own() - rounds.first_own() == own_devices);
      std::mt19937_64 random(ranks.rank());
      // Ranks have 0, 5, 10 and 15 segments; what waits is offered as it comes.
      for (unsigned left = 5 * ranks.rank(); !rounds.have_ended();) {
        rounds.listen();
        if (rounds.may_offer() && random() % 4 == 0) {
          std::vector<Parts> own(own_devices, Parts(devices));
          for (std::uint32_t i = 0; left > 0 && i < own_devices; ++i) {
            for (std::uint32_t j = 0; j < devices; ++j)
              given[rounds.first_own() + i][j] += own[i][j] = random() % 1000;
          }
          left -= left > 0 ? 1 : 0;
          rounds.offer(rows_of(rounds, own), left == 0);
        }
        if (rounds.is_complete()) seen[ranks.rank()].push_back(rounds.take());
      }
      CHECK(rounds.rounds() == 15);
    });
    REQUIRE(errors == std::vector<std::string>(kRanks));
    std::vector<Parts> taken(devices, Parts(devices));
    for (std::size_t round = 0; round < 15; ++round) {
      for (std::uint32_t i = 0; i < devices; ++i) {
        for (std::uint32_t j = 0; j < devices; ++j) {
          taken[i][j] += seen[0].at(round).size(i, j);
          for (unsigned rank = 1; rank < kRanks; ++rank)
            CHECK(seen[rank].at(round).size(i, j) == seen[0][round].size(i, j));
        }
      }
    }
    CHECK(taken == given);
  }
}

TEST_CASE("who cannot wait is heard by those who have nothing to give, in that round and no other") {
  const auto errors = on_ranks(3, [](mpi::ProcessGroup& ranks) {
    Rounds rounds(ranks, {1, 1, 1});
    for (unsigned round = 0; round < 6; ++round) {
      const bool is_urgent = round % 2 == 1;
      if (is_urgent && ranks.rank() == 2) rounds.urge();
      if (is_urgent) {
        while (!rounds.is_urged()) {
          rounds.listen();
          std::this_thread::yield();
        }
      } else {
        rounds.listen();
        // Others may be a round ahead, but not two: they need this one's offer.
        CHECK(!rounds.is_urged());
      }
      rounds.offer(PartitionTable(3), round == 5);
      CHECK(take(rounds).sent(2) == 0);
    }
    CHECK(rounds.have_ended());
  });
  CHECK(errors == std::vector<std::string>(3));
}

TEST_CASE("a rank that fails ends the waiting of all") {
  const auto errors = on_ranks(3, [](mpi::ProcessGroup& ranks) {
    Rounds rounds(ranks, {1, 1, 1});
    if (ranks.rank() == 1) throw ResourceError("this one has no memory");
    rounds.offer(PartitionTable(3), false);
    take(rounds);
  });
  CHECK(errors == std::vector<std::string>(3, "this one has no memory"));
}
