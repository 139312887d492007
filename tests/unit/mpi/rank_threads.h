#pragma once
/// Runs ranks as threads of one process, over a link made of queues, so that sanitizers see them.

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mpi/process_group.h"

namespace warpmer::test {

/// The common state of the links of a test: the messages for each rank and channel.
struct Hub {
  explicit Hub(unsigned size) : inboxes(size) {}
  struct Sent {
    unsigned from;
    mpi::Message message;
  };
  std::mutex mutex;
  std::vector<std::array<std::deque<Sent>, mpi::kChannels>> inboxes;
  unsigned ended = 0;
};

class HubLink final : public mpi::RankLink {
 public:
  HubLink(Hub& hub, unsigned rank) : hub_(hub), rank_(rank) {}
  void open() override {}
  [[nodiscard]] unsigned rank() const override { return rank_; }
  [[nodiscard]] unsigned size() const override { return static_cast<unsigned>(hub_.inboxes.size()); }
  void start_send(std::uint64_t ticket, unsigned to, mpi::Channel channel,
                  const mpi::Message& message) override {
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
  bool receive(mpi::Channel channel, unsigned& from, mpi::Message& message) override {
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

/// Runs `work` on so many ranks, and returns the error of each, as all ranks have agreed on it.
inline std::vector<std::string> on_ranks(unsigned size, const std::function<void(mpi::ProcessGroup&)>& work) {
  Hub hub(size);
  std::vector<std::string> errors(size);
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      mpi::ProcessGroup ranks(std::make_unique<HubLink>(hub, rank), size);
      try {
        work(ranks);
      } catch (...) {
        errors[rank] = ranks.settle(mpi::job_failure_of(std::current_exception())).message;
      }
      ranks.leave(0);
    });
  }
  for (auto& thread : threads) thread.join();
  return errors;
}

}  // namespace warpmer::test
