#include <unistd.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "kernels/exchange/nccl.cuh"
#include "kernels/exchange/rank_carrier.cuh"
#include "kernels/memory/driver_lock.cuh"

namespace warpmer::gpu {

namespace {

using mpi::Message;
using mpi::ProcessGroup;

/// The pause between looks whether something is done: the waits take milliseconds. The thread has to look,
/// because NCCL reports its errors only when asked, and a wait for an event would not end when another rank
/// has failed.
constexpr std::chrono::microseconds kNap{50};

/// Each GPU by a number that no other one has, and where it is, for people.
Message identities_of(const Peers& peers) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  Message message;
  for (const int gpu : peers.gpus()) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, gpu), "asking for the GPU");
    std::array<char, 32> address{};
    check(cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), gpu), "asking for the GPU");
    mpi::put_text(message, {properties.uuid.bytes, sizeof properties.uuid.bytes});
    mpi::put_text(message, std::string(address.data()) + " on " + host.data());
  }
  return message;
}

/// On all ranks together: how many GPUs each has.
std::vector<std::uint32_t> gpus_of_ranks(ProcessGroup& ranks, const Peers& peers) {
  const std::vector<std::uint64_t> numbers = ranks.all_gather(peers.size());
  return {numbers.begin(), numbers.end()};
}

/// On all ranks together. NCCL refuses a GPU that is there twice, but does not say so.
void check_that_gpus_differ(ProcessGroup& ranks, const Peers& peers,
                            const std::vector<std::uint32_t>& of_ranks) {
  Message all;
  for (const Message& each : ranks.gather(identities_of(peers)))
    all.insert(all.end(), each.begin(), each.end());
  all = ranks.broadcast(std::move(all));
  mpi::MessageReader in(all);
  std::map<std::string_view, unsigned> seen;
  for (unsigned rank = 0; rank < ranks.size(); ++rank) {
    for (std::uint32_t i = 0; i < of_ranks[rank]; ++i) {
      const std::string_view id = in.text(), place = in.text();
      const auto [other, is_new] = seen.emplace(id, rank);
      if (is_new) continue;
      throw ResourceError("ranks " + std::to_string(other->second) + " and " + std::to_string(rank) +
                          " were given the same GPU (" + std::string(place) +
                          "); start no more ranks on a node than it has GPUs, or use --device cpu");
    }
  }
}

/// Each GPU of each rank has a communicator. They do not block, so that whatever a rank waits for, it sees
/// that another one has failed.
class RankCarrier final : public Carrier {
 public:
  RankCarrier(Peers& peers, ProcessGroup& ranks, const std::vector<std::uint32_t>& gpus_of_ranks,
              const NcclLibrary& nccl, const NcclId& id)
      : Carrier(peers), ranks_(ranks), nccl_(nccl), id_(id), rounds_(ranks, gpus_of_ranks) {}
  ~RankCarrier() override { disconnect(); }

  mpi::Rounds& rounds() override { return rounds_; }

  void connect() override {
    NcclLibrary::Config config;
    communicators_.resize(gpus().size());
    in_group(kConnecting, [&] {
      for (std::uint32_t i = 0; i < gpus().size(); ++i) {
        const CurrentDevice current(gpus().gpu(i));
        nccl_.check(nccl_.init(&communicators_[i], static_cast<int>(size()), id_,
                               static_cast<int>(first() + i), &config),
                    kConnecting);
      }
    });
    settle(kConnecting);
  }

  void carry(const std::vector<Move>& moves, const std::vector<cudaStream_t>& streams) override {
    send(moves, streams);
    for (const Move& move : moves) {
      if (move.sender != move.receiver) continue;
      const std::uint32_t own = move.sender - first();
      const CurrentDevice current(gpus().gpu(own));
      gpus().copy(move.to, own, move.from, own, move.bytes, streams[own]);
    }
  }

  void wait(const Event& event) override {
    while (true) {
      const cudaError_t status = cudaEventQuery(event);
      if (status == cudaSuccess) return;
      if (status != cudaErrorNotReady) check(status, kSending);
      (void)is_settled(kSending);
      std::this_thread::sleep_for(kNap);
    }
  }

  void abandon() noexcept override { is_abandoned_ = true; }
  void give_up() noexcept override { cut_off(); }

 private:
  static constexpr const char* kConnecting = "connecting the GPUs of all ranks";
  static constexpr const char* kSending = "sending super-k-mers to other ranks";

  /// Sends the moves between ranks. NCCL starts its kernels, and this waits until it has: the kernels wait
  /// for each other.
  void send(const std::vector<Move>& moves, const std::vector<cudaStream_t>& streams) {
    std::optional<DriverLock::Exclusive> alone;
    if (gpus().size() > 1) alone.emplace();
    in_group(kSending, [&] {
      for (const Move& move : moves) {
        if (move.bytes == 0 || move.sender == move.receiver) continue;
        if (move.from != nullptr) {
          const std::uint32_t own = move.sender - first();
          nccl_.check(nccl_.send(move.from, move.bytes, NcclLibrary::kBytes, static_cast<int>(move.receiver),
                                 communicators_[own], streams[own]),
                      kSending);
        }
        if (move.to != nullptr) {
          const std::uint32_t own = move.receiver - first();
          nccl_.check(nccl_.receive(move.to, move.bytes, NcclLibrary::kBytes, static_cast<int>(move.sender),
                                    communicators_[own], streams[own]),
                      kSending);
        }
      }
    });
    settle(kSending);
  }

  /// Runs `enqueue` in a group, whose calls begin together; a group that was begun is ended, whatever
  /// happens.
  template <class Enqueue>
  void in_group(const char* doing, Enqueue&& enqueue) {
    nccl_.check(nccl_.group_start(), doing);
    try {
      enqueue();
    } catch (...) {
      nccl_.group_end();
      throw;
    }
    nccl_.check(nccl_.group_end(), doing);
  }

  /// True when all communicators have done their work. Throws when one cannot, when a rank has failed, or
  /// when they are abandoned; then they are gone, and with them the work that they had under way on the GPUs.
  bool is_settled(const char* doing) {
    if (is_abandoned_ || ranks_.have_failed()) {
      cut_off();
      throw InternalError("stopped because a rank has failed");
    }
    bool all = true;
    try {
      for (const auto communicator : communicators_) {
        NcclLibrary::Result state = NcclLibrary::success;
        nccl_.check(nccl_.async_error(communicator, &state), doing);
        nccl_.check(state, doing);
        all &= state == NcclLibrary::success;
      }
    } catch (...) {
      ranks_.report(std::current_exception());  // first: aborting may wait for others, which have to know
      cut_off();
      throw;
    }
    return all;
  }
  void settle(const char* doing) {
    while (!is_settled(doing)) std::this_thread::sleep_for(kNap);
  }

  /// Each is told to end before NCCL takes the first one down, which may wait for the GPUs of all: it does so
  /// when a process gives up the last of its own.
  void cut_off() noexcept {
    for (auto& communicator : communicators_) {
      if (communicator != nullptr) nccl_.abort_communicator(communicator);
    }
    communicators_.clear();
  }

  /// In good order, with all others; else at once.
  void disconnect() noexcept {
    if (communicators_.empty()) return;
    try {
      in_group(kDisconnecting, [&] {
        for (const auto communicator : communicators_)
          nccl_.check(nccl_.finalize(communicator), kDisconnecting);
      });
      settle(kDisconnecting);
      for (const auto communicator : std::exchange(communicators_, {})) nccl_.destroy(communicator);
    } catch (...) {
      cut_off();
    }
  }
  static constexpr const char* kDisconnecting = "disconnecting GPUs";

  ProcessGroup& ranks_;
  const NcclLibrary& nccl_;
  const NcclId id_;
  mpi::Rounds rounds_;
  std::vector<NcclLibrary::Communicator> communicators_;  ///< by GPU of this process
  std::atomic<bool> is_abandoned_{false};
};

}  // namespace

std::unique_ptr<Carrier> make_rank_carrier(Peers& peers, ProcessGroup& ranks) {
  const NcclLibrary& nccl = NcclLibrary::open();
  const std::vector<std::uint32_t> of_ranks = gpus_of_ranks(ranks, peers);
  check_that_gpus_differ(ranks, peers, of_ranks);
  NcclId id{};
  if (ranks.is_first()) nccl.check(nccl.get_unique_id(&id), "asking for an address of this rank");
  const Message shared = ranks.broadcast(Message(id.bytes.begin(), id.bytes.end()));
  std::copy(shared.begin(), shared.end(), id.bytes.begin());
  return std::make_unique<RankCarrier>(peers, ranks, of_ranks, nccl, id);
}

}  // namespace warpmer::gpu
