#include <unistd.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>

#include "nccl.cuh"
#include "rank_carrier.cuh"

namespace warpmer::gpu {

namespace {

using engine::Message;
using engine::Ranks;

/// Between looks whether something is done: what waits takes milliseconds.
constexpr std::chrono::microseconds kNap{50};

/// A GPU by a number that no other one has, and where it is, for people.
Message identity_of(int gpu) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, gpu), "asking for the GPU");
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::array<char, 32> address{};
  check(cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), gpu), "asking for the GPU");
  Message message;
  engine::put_text(message, {properties.uuid.bytes, sizeof properties.uuid.bytes});
  engine::put_text(message, std::string(address.data()) + " on " + host.data());
  return message;
}

/// On all ranks together. NCCL refuses a GPU that is there twice, but does not say so.
void check_that_gpus_differ(Ranks& ranks, int gpu) {
  Message all;
  for (const Message& each : ranks.gather(identity_of(gpu))) all.insert(all.end(), each.begin(), each.end());
  all = ranks.broadcast(std::move(all));
  engine::MessageReader in(all);
  std::map<std::string_view, unsigned> seen;
  for (unsigned rank = 0; rank < ranks.size(); ++rank) {
    const std::string_view number = in.text(), place = in.text();
    const auto [other, is_new] = seen.emplace(number, rank);
    if (is_new) continue;
    throw ResourceError("ranks " + std::to_string(other->second) + " and " + std::to_string(rank) +
                        " were given the same GPU (" + std::string(place) +
                        "); start no more ranks on a node than it has GPUs, or use --device cpu");
  }
}

/// Communicators do not block, so that whatever a rank waits for, it sees that another one has failed.
class RankCarrier final : public Carrier {
 public:
  RankCarrier(Peers& peers, Ranks& ranks, const NcclLibrary& nccl, const NcclId& id)
      : Carrier(peers), ranks_(ranks), nccl_(nccl), id_(id), rounds_(ranks, 1) {}
  ~RankCarrier() override { disconnect(); }

  comm::Rounds& rounds() override { return rounds_; }

  void connect() override {
    const CurrentDevice current(gpus().gpu(0));
    NcclLibrary::Config config;
    nccl_.check(nccl_.init(&communicator_, static_cast<int>(ranks_.size()), id_,
                           static_cast<int>(ranks_.rank()), &config),
                "connecting the GPUs of all ranks");
    settle("connecting the GPUs of all ranks");
  }

  void carry(const std::vector<Move>& moves, const std::vector<cudaStream_t>& streams) override {
    const CurrentDevice current(gpus().gpu(0));
    const cudaStream_t stream = streams.front();
    nccl_.check(nccl_.group_start(), kSending);
    for (const Move& move : moves) {
      if (move.bytes == 0 || move.sender == move.receiver) continue;
      const auto result = move.from != nullptr
                              ? nccl_.send(move.from, move.bytes, NcclLibrary::kBytes,
                                           static_cast<int>(move.receiver), communicator_, stream)
                              : nccl_.receive(move.to, move.bytes, NcclLibrary::kBytes,
                                              static_cast<int>(move.sender), communicator_, stream);
      nccl_.check(result, kSending);
    }
    nccl_.check(nccl_.group_end(), kSending);
    settle(kSending);
    for (const Move& move : moves) {
      if (move.sender == move.receiver) gpus().copy(move.to, 0, move.from, 0, move.bytes, stream);
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

 private:
  static constexpr const char* kSending = "sending super-k-mers to other ranks";

  /// Whether the communicator has done what it was asked for. Throws when it cannot, when a rank has failed,
  /// or when nobody wants it any more; then it is gone, and with it what it had under way on the GPU.
  bool is_settled(const char* doing) {
    if (is_abandoned_ || ranks_.have_failed()) {
      cut_off();
      throw InternalError("stopped because a rank has failed");
    }
    NcclLibrary::Result state = NcclLibrary::success;
    try {
      nccl_.check(nccl_.async_error(communicator_, &state), doing);
      nccl_.check(state, doing);
    } catch (...) {
      ranks_.report(std::current_exception());  // first: aborting may wait for others, who have to know
      cut_off();
      throw;
    }
    return state == NcclLibrary::success;
  }
  void settle(const char* doing) {
    while (!is_settled(doing)) std::this_thread::sleep_for(kNap);
  }

  void cut_off() noexcept {
    if (communicator_ != nullptr) nccl_.abort_communicator(std::exchange(communicator_, nullptr));
  }

  /// In good order, with all others; else at once.
  void disconnect() noexcept {
    if (communicator_ == nullptr) return;
    try {
      const CurrentDevice current(gpus().gpu(0));
      nccl_.check(nccl_.finalize(communicator_), "disconnecting GPUs");
      settle("disconnecting GPUs");
      nccl_.destroy(std::exchange(communicator_, nullptr));
    } catch (...) {
      cut_off();
    }
  }

  Ranks& ranks_;
  const NcclLibrary& nccl_;
  const NcclId id_;
  comm::Rounds rounds_;
  NcclLibrary::Communicator communicator_ = nullptr;
  std::atomic<bool> is_abandoned_{false};
};

}  // namespace

std::unique_ptr<Carrier> make_rank_carrier(Peers& peers, Ranks& ranks) {
  const NcclLibrary& nccl = NcclLibrary::open();
  check_that_gpus_differ(ranks, peers.gpu(0));
  NcclId id{};
  if (ranks.is_first()) nccl.check(nccl.get_unique_id(&id), "asking for an address of this rank");
  const Message shared = ranks.broadcast(Message(id.bytes.begin(), id.bytes.end()));
  std::copy(shared.begin(), shared.end(), id.bytes.begin());
  return std::make_unique<RankCarrier>(peers, ranks, nccl, id);
}

}  // namespace warpmer::gpu
