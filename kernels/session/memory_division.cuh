#pragma once
/// Divides the memory of a session: host memory beside feeds, and that of each GPU.

#include <cstdint>

#include "backend/backend.h"
#include "kernels/exchange/peers.cuh"

namespace warpmer::gpu {

/// Pinned and device memory of a feed, about.
inline constexpr std::uint64_t kFeedBytes = std::uint64_t{12} << 20;

/// Returns the host memory that the CUDA runtime holds for these GPUs, however many sessions there are. Each
/// session plans with all of it.
std::uint64_t runtime_host_bytes(const Peers& peers);

/// Returns the part of -m beside feeding the GPUs and `more_host_bytes`. Throws a ResourceError when these
/// are more.
std::uint64_t host_bytes_beside_feeds(const Peers& peers, const backend::CountPlan& plan,
                                      std::uint64_t more_host_bytes);

/// Returns the memory of the current device that a session may hold. Without a limit of the user's, it leaves
/// room for NCCL, which comes later.
std::uint64_t device_cap_of(const backend::CountPlan& plan);

/// Returns the number of feeds of each GPU. Threads share them where there is little memory: eight are nearly
/// as fast as sixteen.
std::uint32_t feeds_per_gpu(const Peers& peers, const backend::CountPlan& plan);

/// Returns the memory of each GPU that a session may take beside its feeds.
std::uint64_t device_bytes_beside_feeds(const Peers& peers, const backend::CountPlan& plan);

}  // namespace warpmer::gpu
