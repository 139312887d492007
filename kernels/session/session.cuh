#pragma once
/// Counting sessions on one GPU or several.

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "kernels/exchange/peers.cuh"
#include "kernels/session/device_counter.cuh"

namespace warpmer::gpu {

/// A session for k > 12.
class ShardedCounting : public backend::CountingSession {
 public:
  /// Returns the counter of a GPU, by number, when the input is complete: for a caller that takes its shards
  /// instead of calling `finish`.
  [[nodiscard]] virtual DeviceCounter& device_counter(std::uint32_t number) = 0;
};

/// A session for k <= 12.
class DenseCounting : public backend::CountingSession {
 public:
  /// Returns the occurrences of every k-mer as read, when the input is complete.
  [[nodiscard]] virtual std::vector<std::uint64_t> sums() const = 0;
};

/// Makes a session. `peers` must outlive it. Throws a ResourceError when a GPU or its memory does not
/// suffice.
std::unique_ptr<ShardedCounting> make_sharded_session(Peers& peers, const backend::CountPlan& plan);
std::unique_ptr<DenseCounting> make_dense_session(Peers& peers, const backend::CountPlan& plan);
std::unique_ptr<backend::CountingSession> make_session(Peers& peers, const backend::CountPlan& plan);

}  // namespace warpmer::gpu
