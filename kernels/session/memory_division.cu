#include <algorithm>
#include <string>

#include "base/memory_text.h"
#include "kernels/memory/held_memory.cuh"
#include "kernels/session/memory_division.cuh"
#include "mpi/process_group.h"

namespace warpmer::gpu {

namespace {

/// Host memory that the CUDA runtime holds in the process for the first GPU and for each further one, and
/// NCCL, in ranks, for each, about.
constexpr std::uint64_t kRuntimeBytes = std::uint64_t{300} << 20;
constexpr std::uint64_t kFurtherGpuBytes = std::uint64_t{150} << 20;
constexpr std::uint64_t kNcclBytes = std::uint64_t{200} << 20;
/// The memory that NCCL holds of each GPU beside the pool (measured with two ranks: 1.2 GB, with all channels
/// 1.6).
constexpr std::uint64_t kNcclDeviceBytes = std::uint64_t{1700} << 20;
/// Feeds may take one part in this many of a GPU's memory.
constexpr std::uint64_t kFeedsShare = 4;

/// Returns the number of peers for which a GPU stands.
std::uint64_t sharers_of(const Peers& peers, int gpu) {
  return static_cast<std::uint64_t>(std::count(peers.gpus().begin(), peers.gpus().end(), gpu));
}

}  // namespace

std::uint64_t runtime_host_bytes(const Peers& peers) {
  return kRuntimeBytes + (peers.size() - 1) * kFurtherGpuBytes;
}

std::uint64_t host_bytes_beside_feeds(const Peers& peers, const backend::CountPlan& plan,
                                      std::uint64_t more_host_bytes) {
  const std::uint64_t host = plan.threads * kFeedBytes + runtime_host_bytes(peers) +
                             (plan.ranks->are_several() ? peers.size() * kNcclBytes : 0) + more_host_bytes;
  if (plan.memory_bytes < host) {
    throw ResourceError("-m leaves " + megabytes(plan.memory_bytes) + " of host memory for " + plan.purpose +
                        ", and feeding the GPU with " + number_of_threads(plan.threads) +
                        " and what comes back take " + megabytes(host) + "; " +
                        std::string(memory_advice(plan.threads)));
  }
  return plan.memory_bytes - host;
}

std::uint64_t device_cap_of(const backend::CountPlan& plan) {
  const std::uint64_t cap = device_cap(plan.devices.memory_bytes);
  if (plan.devices.memory_bytes > 0 || !plan.ranks->are_several()) return cap;
  const std::uint64_t available = available_bytes();
  return std::min(cap, available - std::min(available, kNcclDeviceBytes));
}

std::uint32_t feeds_per_gpu(const Peers& peers, const backend::CountPlan& plan) {
  std::uint64_t most = (plan.threads + peers.size() - 1) / peers.size();
  for (const int gpu : peers.gpus()) {
    const CurrentDevice current(gpu);
    most = std::min(most, device_cap_of(plan) / sharers_of(peers, gpu) / kFeedsShare / kFeedBytes);
  }
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(most, 1));
}

std::uint64_t device_bytes_beside_feeds(const Peers& peers, const backend::CountPlan& plan) {
  const std::uint64_t feeds = feeds_per_gpu(peers, plan) * kFeedBytes;
  std::uint64_t least = UINT64_MAX;
  for (const int gpu : peers.gpus()) {
    const CurrentDevice current(gpu);
    least = std::min(least, planned_with(device_cap_of(plan)) / sharers_of(peers, gpu));
  }
  return least - std::min(feeds, least);
}

}  // namespace warpmer::gpu
