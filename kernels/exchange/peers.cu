#include <algorithm>

#include "kernels/exchange/peers.cuh"
#include "kernels/exchange/transposition.cuh"
#include "kernels/memory/held_memory.cuh"

namespace warpmer::gpu {

Peers::Relay::Relay(int sender, int receiver) {
  {
    const CurrentDevice current(sender);
    memory = PinnedArray<char>(2 * kPieceBytes);
    left.emplace();
  }
  const CurrentDevice current(receiver);
  arrivals.emplace();
  for (std::optional<Event>& event : arrived) event.emplace();
}

void Peers::Relay::copy(char* to, const char* from, std::size_t bytes, cudaStream_t stream) {
  for (std::size_t at = 0; at < bytes; at += kPieceBytes, turn ^= 1) {
    const std::size_t n = std::min(kPieceBytes, bytes - at);
    char* const piece = memory.data() + turn * kPieceBytes;
    arrived[turn]->let_follow(stream);  // the place is free
    copy_to_host(piece, from + at, n, stream);
    left->record(stream);
    left->let_follow(*arrivals);
    copy_to_device(to + at, piece, n, *arrivals);
    arrived[turn]->record(*arrivals);
  }
  // What follows in the stream may rely on the last piece's being there, and so on all.
  arrived[turn ^ 1]->let_follow(stream);
}

Peers::Peers(std::vector<int> gpus, bool through_host)
    : gpus_(std::move(gpus)), relays_(gpus_.size() * gpus_.size()) {
  for (std::uint32_t from = 0; from < size(); ++from) {
    for (std::uint32_t to = 0; to < size(); ++to) {
      if (from == to) continue;
      const bool same = gpu(from) == gpu(to);
      if (through_host || !(same || reach_memory_of(gpu(to), gpu(from))))
        relays_[from * size() + to] = std::make_unique<Relay>(gpu(from), gpu(to));
    }
  }
}

Peers::~Peers() {
  for (const int gpu : gpus_) give_back_unused(gpu);
}

void Peers::copy(void* to, std::uint32_t receiver, const void* from, std::uint32_t sender, std::size_t bytes,
                 cudaStream_t stream) {
  if (bytes == 0) return;
  if (reaches(sender, receiver)) {
    check(cudaMemcpyPeerAsync(to, gpu(receiver), from, gpu(sender), bytes, DriverLock::Shared(stream)),
          "copying between GPUs");
  } else {
    relays_[sender * size() + receiver]->copy(static_cast<char*>(to), static_cast<const char*>(from), bytes,
                                              stream);
  }
}

}  // namespace warpmer::gpu
