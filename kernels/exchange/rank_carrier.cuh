#pragma once
/// The carrier between the GPUs of several ranks, which uses NCCL.

#include <memory>

#include "kernels/exchange/carrier.cuh"

namespace warpmer::gpu {

/// Makes the carrier of this rank, whose GPUs are `peers`; all ranks call it together. Other ranks may have
/// more or fewer GPUs. `peers` and `ranks` must outlive it. Throws a ResourceError when NCCL is missing, or
/// two ranks were given the same GPU.
std::unique_ptr<Carrier> make_rank_carrier(Peers& peers, mpi::ProcessGroup& ranks);

}  // namespace warpmer::gpu
