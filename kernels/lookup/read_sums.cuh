#pragma once
/// Sums up the answers of reads on the device, so that five numbers go to the host instead of one a k-mer.

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/lookup/device_index.cuh"
#include "kernels/text/plain_fastq.cuh"

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
/// Does the same with the records of a text of which only the device knows how many there are: `most` at
/// most.
void sum_up(const std::uint32_t* answers, const PlainRecords& records, std::uint32_t most, std::uint32_t k,
            ReadSums* sums, cudaStream_t stream);

}  // namespace warpmer::gpu
