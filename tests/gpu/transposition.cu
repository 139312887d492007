// Transpositions between devices: one GPU that acts as several, all GPUs there are, directly and through the
// host, in both orders; many one after another, without waiting.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "gpu/device.h"
#include "kernels/exchange/transposition.cuh"
#include "kernels/memory/current_device.cuh"
#include "mpi/transposition.h"

namespace {

using namespace warpmer;
using namespace warpmer::gpu;
using mpi::PartitionTable;
using tests::all_gpus;

/// The arrays that a device sends and gets.
struct Holding {
  explicit Holding(std::size_t room) : from(room), to(room) {}
  Stream stream;
  DeviceArray<std::uint64_t> from, to;
};

std::uint64_t element(std::uint64_t round, std::uint64_t sender, std::uint64_t receiver, std::uint64_t i) {
  return round << 56 | sender << 48 | receiver << 40 | i;
}

std::vector<PartitionTable> random_tables(std::uint32_t devices, std::size_t rounds, std::uint64_t most) {
  std::mt19937_64 random(devices);
  std::vector<PartitionTable> tables(rounds, PartitionTable(devices));
  for (PartitionTable& table : tables) {
    for (std::uint32_t sender = 0; sender < devices; ++sender) {
      for (std::uint32_t receiver = 0; receiver < devices; ++receiver)
        table.size(sender, receiver) = random() % 4 == 0 ? 0 : random() % most;
    }
  }
  return tables;
}

std::vector<std::uint64_t> sent_by(const PartitionTable& table, std::uint32_t sender, std::uint64_t round) {
  std::vector<std::uint64_t> all;
  for (std::uint32_t receiver = 0; receiver < table.devices(); ++receiver) {
    for (std::uint64_t i = 0; i < table.size(sender, receiver); ++i)
      all.push_back(element(round, sender, receiver, i));
  }
  return all;
}

std::vector<std::uint64_t> received_by(const PartitionTable& table, std::uint32_t receiver,
                                       std::uint64_t round) {
  std::vector<std::uint64_t> all;
  for (std::uint32_t sender = 0; sender < table.devices(); ++sender) {
    for (std::uint64_t i = 0; i < table.size(sender, receiver); ++i)
      all.push_back(element(round, sender, receiver, i));
  }
  return all;
}

void check_transpositions(const std::vector<int>& ordinals, Route route, SendOrder order) {
  constexpr std::size_t kRounds = 4, kMost = 40'000;
  const auto devices = static_cast<std::uint32_t>(ordinals.size());
  CAPTURE(devices);
  CAPTURE(static_cast<int>(route));
  Transposition transposition(ordinals, route, order);
  CHECK((route == Route::direct || devices == 1 || transposition.goes_through_host()));
  const std::vector<PartitionTable> tables = random_tables(devices, kRounds, kMost);
  std::vector<OnOneDevice<Holding>> holdings;
  holdings.reserve(devices);
  for (const int ordinal : ordinals) holdings.emplace_back(ordinal, kMost * devices);
  // Pinned, so that the host waits for nothing.
  std::vector<PinnedArray<std::uint64_t>> sent, received, returned;
  for (std::size_t round = 0; round < kRounds; ++round) {
    const PartitionTable& table = tables[round];
    std::vector<Transposition::Share> there, back;
    for (std::uint32_t device = 0; device < devices; ++device) {
      const Holding& holding = *holdings[device];
      const CurrentDevice current(ordinals[device]);
      const auto all = sent_by(table, device, round);
      sent.emplace_back(all.size() + 1);
      std::copy(all.begin(), all.end(), sent.back().data());
      copy_to_device(holding.from.data(), sent.back().data(), all.size(), holding.stream);
      there.push_back({holding.from.data(), holding.to.data(), holding.stream});
      back.push_back({holding.to.data(), holding.from.data(), holding.stream});
    }
    transposition.run(table, sizeof(std::uint64_t), there);
    for (std::uint32_t device = 0; device < devices; ++device) {
      const Holding& holding = *holdings[device];
      const CurrentDevice current(ordinals[device]);
      received.emplace_back(table.received(device) + 1);
      copy_to_host(received.back().data(), holding.to.data(), table.received(device), holding.stream);
      fill_bytes(holding.from.data(), 0xFF, holding.from.size(), holding.stream);
    }
    transposition.run(table.transposed(), sizeof(std::uint64_t), back);
    for (std::uint32_t device = 0; device < devices; ++device) {
      const Holding& holding = *holdings[device];
      const CurrentDevice current(ordinals[device]);
      returned.emplace_back(table.sent(device) + 1);
      copy_to_host(returned.back().data(), holding.from.data(), table.sent(device), holding.stream);
    }
  }
  for (const auto& holding : holdings) holding->stream.wait();
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::uint32_t device = 0; device < devices; ++device) {
      const std::size_t at = round * devices + device;
      const auto all_received = received_by(tables[round], device, round);
      CHECK(std::equal(all_received.begin(), all_received.end(), received[at].data()));
      const auto all_sent = sent_by(tables[round], device, round);
      CHECK(std::equal(all_sent.begin(), all_sent.end(), returned[at].data()));
    }
  }
}

}  // namespace

TEST_CASE("transposition: one GPU as 1 to 5 devices, and all GPUs, there and back") {
  for (const Route route : {Route::direct, Route::host}) {
    for (const SendOrder order : {SendOrder::ring, SendOrder::same}) {
      for (std::size_t devices = 1; devices <= 5; ++devices)
        check_transpositions(std::vector<int>(devices, tests::gpu_under_test().ordinal), route, order);
      check_transpositions(all_gpus(), route, order);
    }
  }
  // Some devices are one GPU, others are not.
  std::vector<int> mixed = all_gpus();
  mixed.push_back(mixed.front());
  check_transpositions(mixed, Route::direct, SendOrder::ring);
}
