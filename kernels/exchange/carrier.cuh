#pragma once
/// What moves parts of segments between the GPUs of a job (kernels/exchange/exchange.cuh): copies between
/// those of one process, or NCCL between those of several ranks.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/exchange/peers.cuh"
#include "kernels/memory/device_memory.cuh"
#include "mpi/rounds.h"

namespace warpmer::gpu {

/// An array's way from one GPU of the job to another.
struct Move {
  std::uint32_t sender = 0, receiver = 0;
  const void* from = nullptr;  ///< null if the sender is another process's
  void* to = nullptr;          ///< null if the receiver is
  std::size_t bytes = 0;
};

/// Used by one thread at a time, but for `abandon`. The GPUs of a job are numbered through; those of this
/// process are `gpus()`, the first of which has the number `first()`.
class Carrier {
 public:
  explicit Carrier(Peers& peers) : peers_(peers) {}
  virtual ~Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  /// When rounds take place, and all that is said about them.
  virtual mpi::Rounds& rounds() = 0;

  [[nodiscard]] Peers& gpus() const { return peers_; }
  [[nodiscard]] std::uint32_t first() { return rounds().first_own(); }
  [[nodiscard]] std::uint32_t size() { return rounds().devices(); }

  /// Before the first `carry`; on all ranks together.
  virtual void connect() {}
  /// Enqueues moves in streams of this process's GPUs, one stream for each. What two GPUs move between each
  /// other is in the same order on both sides.
  virtual void carry(const std::vector<Move>& moves, const std::vector<cudaStream_t>& streams) = 0;
  /// Waits until an event behind what was carried has passed. Throws when it never will.
  virtual void wait(const Event& event) = 0;
  /// Makes calls that wait for other ranks throw, now and from now on. Any thread.
  virtual void abandon() noexcept {}
  /// Ends what is under way, because it may wait for a rank for ever. Nothing is carried any more.
  virtual void give_up() noexcept {}

 private:
  Peers& peers_;
};

/// All GPUs are of this process.
class PeerCarrier final : public Carrier {
 public:
  explicit PeerCarrier(Peers& peers) : Carrier(peers), rounds_(mpi::alone(), {peers.size()}) {}

  mpi::Rounds& rounds() override { return rounds_; }
  void carry(const std::vector<Move>& moves, const std::vector<cudaStream_t>& streams) override {
    for (const Move& move : moves) {
      const CurrentDevice current(gpus().gpu(move.sender));
      gpus().copy(move.to, move.receiver, move.from, move.sender, move.bytes, streams[move.sender]);
    }
  }
  void wait(const Event& event) override { event.wait(); }

 private:
  mpi::Rounds rounds_;
};

}  // namespace warpmer::gpu
