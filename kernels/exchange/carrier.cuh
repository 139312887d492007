#pragma once
/// A carrier moves parts of segments between the GPUs of a job (kernels/exchange/exchange.cuh): by copies
/// between those of one process, or by NCCL between those of several ranks.

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
  void* to = nullptr;          ///< null if the receiver is another process's
  std::size_t bytes = 0;
};

/// One thread at a time may use it, except for `abandon`. The GPUs of a job are numbered through; this
/// process has `gpus()` of them, the first of which has the number `first()`.
class Carrier {
 public:
  explicit Carrier(Peers& peers) : peers_(peers) {}
  virtual ~Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  /// Returns the object that agrees with other ranks on rounds, and on all else that is said about them.
  virtual mpi::Rounds& rounds() = 0;

  [[nodiscard]] Peers& gpus() const { return peers_; }
  [[nodiscard]] std::uint32_t first() { return rounds().first_own(); }
  [[nodiscard]] std::uint32_t size() { return rounds().devices(); }

  /// Is called before the first `carry`, on all ranks together.
  virtual void connect() {}
  /// Enqueues moves in streams of this process's GPUs, one stream for each. Moves between two GPUs are in the
  /// same order on both sides.
  virtual void carry(const std::vector<Move>& moves, const std::vector<cudaStream_t>& streams) = 0;
  /// Waits until an event behind what was carried has passed. Throws when it never will.
  virtual void wait(const Event& event) = 0;
  /// Makes calls that wait for other ranks throw, now and from now on. Any thread may call it.
  virtual void abandon() noexcept {}
  /// Ends the moves that are under way, because they may wait for a rank for ever. Nothing is carried any
  /// more.
  virtual void give_up() noexcept {}

 private:
  Peers& peers_;
};

/// The carrier for GPUs that all belong to this process.
class PeerCarrier final : public Carrier {
 public:
  explicit PeerCarrier(Peers& peers) : Carrier(peers), rounds_(mpi::single_process(), {peers.size()}) {}

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
