// Ranks as threads of one process, over a link made of queues: the whole way of a count among several, where
// sanitizers see it. (tests/cli/ranks.py has processes and MPI.)

#include "engine/ranks.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <array>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

#include "engine/count_job.h"
#include "index_file_common.h"

using namespace warpmer;
using index::test::read_bytes;
using index::test::says;
using index::test::ScratchFolder;
using index::test::write_bytes;

namespace {

/// What the links of a test share: the messages for each rank and channel.
struct Hub {
  explicit Hub(unsigned size) : inboxes(size) {}
  struct Sent {
    unsigned from;
    engine::Message message;
  };
  std::mutex mutex;
  std::vector<std::array<std::deque<Sent>, engine::kChannels>> inboxes;
  unsigned ended = 0;
};

class HubLink final : public engine::RankLink {
 public:
  HubLink(Hub& hub, unsigned rank) : hub_(hub), rank_(rank) {}
  void open() override {}
  [[nodiscard]] unsigned rank() const override { return rank_; }
  [[nodiscard]] unsigned size() const override { return static_cast<unsigned>(hub_.inboxes.size()); }
  void start_send(std::uint64_t ticket, unsigned to, engine::Channel channel,
                  const engine::Message& message) override {
    const std::lock_guard lock(hub_.mutex);
    hub_.inboxes[to][static_cast<std::size_t>(channel)].push_back({rank_, message});
    tickets_.push_back(ticket);
  }
  std::optional<std::uint64_t> finish_send() override {
    if (tickets_.empty()) return std::nullopt;
    const std::uint64_t ticket = tickets_.back();
    tickets_.pop_back();
    return ticket;
  }
  bool receive(engine::Channel channel, unsigned& from, engine::Message& message) override {
    const std::lock_guard lock(hub_.mutex);
    auto& inbox = hub_.inboxes[rank_][static_cast<std::size_t>(channel)];
    if (inbox.empty()) return false;
    from = inbox.front().from;
    message = std::move(inbox.front().message);
    inbox.pop_front();
    return true;
  }
  bool all_have_ended() override {
    const std::lock_guard lock(hub_.mutex);
    if (!std::exchange(has_ended_, true)) ++hub_.ended;
    return hub_.ended == hub_.inboxes.size();
  }
  void close() override {}
  void tear_down(int /*status*/) override {}

 private:
  Hub& hub_;
  unsigned rank_;
  std::vector<std::uint64_t> tickets_;
  bool has_ended_ = false;
};

/// Runs `work` on so many ranks, and returns what each has thrown, as all have agreed upon.
std::vector<std::string> on_ranks(unsigned size, const std::function<void(engine::Ranks&)>& work) {
  Hub hub(size);
  std::vector<std::string> errors(size);
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      engine::Ranks ranks(std::make_unique<HubLink>(hub, rank), size);
      try {
        work(ranks);
      } catch (const Error& error) {
        errors[rank] = ranks.settle(error.kind(), error.what()).message;
      }
      ranks.leave(0);
    });
  }
  for (auto& thread : threads) thread.join();
  return errors;
}

std::string random_reads(std::size_t number, unsigned seed) {
  std::mt19937_64 random(seed);
  std::string genome, text;
  for (int i = 0; i < 20000; ++i) genome += "ACGT"[random() % 4];
  for (std::size_t i = 0; i < number; ++i) {
    text += fmt::format("@r{}\n{}\n+\n", i, genome.substr(random() % (genome.size() - 100), 100));
    for (int base = 0; base < 100; ++base) text += "@+>FI"[random() % 5];
    text += '\n';
  }
  return text;
}

engine::CountOptions options_for(const std::string& output, std::uint32_t k,
                                 const std::vector<std::string>& inputs) {
  engine::CountOptions options;
  options.k = k;
  options.threads = 2;
  options.memory_bytes = std::uint64_t{1} << 30;
  options.inputs = inputs;
  options.output = output;
  return options;
}

std::string count_alone(const ScratchFolder& folder, std::uint32_t k,
                        const std::vector<std::string>& inputs) {
  engine::JobProgress progress;
  engine::count(options_for(folder / "one.wmi", k, inputs), progress);
  return read_bytes(folder / "one.wmi");
}

}  // namespace

TEST_CASE("steps that all ranks take together") {
  const auto errors = on_ranks(5, [](engine::Ranks& ranks) {
    for (std::uint64_t round = 0; round < 20; ++round) {
      const auto all = ranks.all_gather(100 * round + ranks.rank());
      CHECK(all == std::vector<std::uint64_t>{100 * round, 100 * round + 1, 100 * round + 2, 100 * round + 3,
                                              100 * round + 4});
      CHECK(ranks.sum(round) == 5 * round);
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
      const auto errors = on_ranks(size, [&](engine::Ranks& ranks) {
        auto options = options_for(folder / "many.wmi", k, {large, small});
        options.ranks = &ranks;
        engine::JobProgress progress;
        engine::count(options, progress);
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
  const auto errors = on_ranks(3, [&](engine::Ranks& ranks) {
    auto options = options_for(folder / "out.wmi", 31, {good, bad});
    options.ranks = &ranks;
    engine::JobProgress progress;
    engine::count(options, progress);
  });
  for (const std::string& error : errors) CHECK(says(error, "bad.fa"));
  CHECK(folder.files() == before);
}
