#pragma once
/// Sums up the answers of reads on the device, so that five numbers go to the host instead of one a k-mer.

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/lookup/device_index.cuh"

namespace warpmer::gpu {

/// A backend::ReadSummary in 32 bits. If `largest` is kLargeCountAnswer, some of its numbers are not known.
struct ReadSums {
  std::uint32_t kmers, found, smallest, median, largest;
};

/// Enqueues the summing up of `reads` reads. `begins`, on the device, has the first character of each in the
/// joined text (kernels/text/joined_text.cuh), and behind the last one the text's end; `answers` those of the
/// whole text.
void sum_up(const std::uint32_t* answers, const std::uint32_t* begins, std::uint32_t reads, std::uint32_t k,
            ReadSums* sums, cudaStream_t stream);

}  // namespace warpmer::gpu
