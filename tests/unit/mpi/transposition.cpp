// The partition table of a transposition: every part arrives once, nothing lies on anything else, and the way
// back is the inverse.

#include "mpi/transposition.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <set>
#include <vector>

using namespace warpmer;
using mpi::PartitionTable;

namespace {

/// An element that says where it was and where it goes.
struct Element {
  std::uint32_t sender, receiver;
  std::uint64_t number;
  bool operator==(const Element&) const = default;
};
using Holdings = std::vector<std::vector<Element>>;  ///< by device

PartitionTable random_table(std::uint32_t devices, std::uint64_t most, std::mt19937_64& random) {
  PartitionTable table(devices);
  for (std::uint32_t sender = 0; sender < devices; ++sender) {
    for (std::uint32_t receiver = 0; receiver < devices; ++receiver)
      table.size(sender, receiver) = random() % 3 == 0 ? 0 : random() % (most + 1);
  }
  return table;
}

/// Returns the elements of devices when each has put its own in order of their receivers.
Holdings split(const PartitionTable& table) {
  Holdings holdings(table.devices());
  for (std::uint32_t sender = 0; sender < table.devices(); ++sender) {
    for (std::uint32_t receiver = 0; receiver < table.devices(); ++receiver) {
      for (std::uint64_t i = 0; i < table.size(sender, receiver); ++i)
        holdings[sender].push_back({sender, receiver, i});
    }
  }
  return holdings;
}

/// Moves parts as the table has them, in ring order. Every element arrives at a place of its own.
Holdings transpose(const PartitionTable& table, const Holdings& from) {
  const std::uint32_t devices = table.devices();
  Holdings to(devices);
  std::vector<std::vector<bool>> is_there(devices);
  for (std::uint32_t device = 0; device < devices; ++device) {
    REQUIRE(from[device].size() == table.sent(device));
    to[device].resize(table.received(device));
    is_there[device].resize(table.received(device));
  }
  for (std::uint32_t step = 0; step < devices; ++step) {
    for (std::uint32_t sender = 0; sender < devices; ++sender) {
      const std::uint32_t receiver = mpi::ring_target(sender, step, devices);
      for (std::uint64_t i = 0; i < table.size(sender, receiver); ++i) {
        const std::uint64_t place = table.receive_offset(sender, receiver) + i;
        REQUIRE(place < to[receiver].size());
        REQUIRE(!is_there[receiver][place]);
        is_there[receiver][place] = true;
        to[receiver][place] = from[sender].at(table.send_offset(sender, receiver) + i);
      }
    }
  }
  return to;
}

}  // namespace

TEST_CASE("ring order: nobody is sent to twice in a step, everybody once in all, itself last") {
  for (std::uint32_t devices = 1; devices <= 9; ++devices) {
    for (std::uint32_t device = 0; device < devices; ++device) {
      std::set<std::uint32_t> targets;
      for (std::uint32_t step = 0; step < devices; ++step) {
        const std::uint32_t target = mpi::ring_target(device, step, devices);
        targets.insert(target);
        CHECK(mpi::ring_source(target, step, devices) == device);
      }
      CHECK(targets.size() == devices);
      CHECK(mpi::ring_target(device, devices - 1, devices) == device);
    }
    for (std::uint32_t step = 0; step < devices; ++step) {
      std::set<std::uint32_t> targets;
      for (std::uint32_t device = 0; device < devices; ++device)
        targets.insert(mpi::ring_target(device, step, devices));
      CHECK(targets.size() == devices);
    }
  }
}

TEST_CASE("a transposition delivers every part once, by sender, and its way back undoes it") {
  std::mt19937_64 random(3);
  for (std::uint32_t devices = 1; devices <= 8; ++devices) {
    for (const std::uint64_t most : {0, 1, 50}) {
      const PartitionTable table = random_table(devices, most, random);
      const Holdings before = split(table);
      const Holdings after = transpose(table, before);
      for (std::uint32_t receiver = 0; receiver < devices; ++receiver) {
        std::size_t next = 0;
        for (std::uint32_t sender = 0; sender < devices; ++sender) {
          for (std::uint64_t i = 0; i < table.size(sender, receiver); ++i)
            CHECK(after[receiver].at(next++) == Element{sender, receiver, i});
        }
        CHECK(next == after[receiver].size());
      }
      CHECK(transpose(table.transposed(), after) == before);
    }
  }
}
