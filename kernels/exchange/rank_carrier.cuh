#pragma once
/// Between the GPUs of several ranks: NCCL.

#include <atomic>
#include <memory>

#include "kernels/exchange/carrier.cuh"

namespace warpmer::gpu {

/// For this rank, whose GPUs `peers` are; on all ranks together. Others may have more or fewer. `peers` and
/// `ranks` must outlive it. ResourceError when NCCL is not there, or two ranks were given the same GPU.
std::unique_ptr<Carrier> make_rank_carrier(Peers& peers, mpi::Ranks& ranks);

}  // namespace warpmer::gpu
