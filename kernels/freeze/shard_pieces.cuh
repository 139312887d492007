#pragma once
/// Shards of many entries are frozen in pieces, one block for each: a piece is some of a shard's ranges of
/// hashes. The begin of its payload follows from the ranges of the bins, except for the exceptions among its
/// counts, which have to be counted beforehand.

#include <cstdint>

#include "kernels/freeze/freeze.cuh"

namespace warpmer::gpu {

inline constexpr std::uint32_t kMostPieces = 64;

/// Returns the number of pieces of each shard, if shards have so many entries on average.
std::uint32_t pieces_for(double entries_per_shard);
/// Does the same when there are too few shards for so many blocks: returns as many pieces as keep the blocks
/// busy, as far as pieces are worth their cost.
std::uint32_t pieces_for(double entries_per_shard, std::uint32_t shards, std::uint32_t blocks);

/// Returns the first range of a piece. For the piece behind the last it is the number of ranges.
__host__ __device__ constexpr std::uint32_t piece_begin(std::uint32_t piece, std::uint32_t pieces,
                                                        std::uint32_t ranges) {
  return piece * ranges / pieces;
}

/// Returns the exceptions of pieces, in the task's scratch, where those of a shard lie one after another.
template <class Key>
__host__ __device__ std::uint32_t* piece_exceptions(const FreezeTask<Key>& task, std::uint32_t shard,
                                                    std::uint32_t pieces) {
  return task.scratch + 1 + std::size_t{shard} * pieces;
}

/// Returns the count of entry `at` of the arrays, which belongs to a bin of the shard that begins with
/// `first_bin`.
template <class Key>
__device__ std::uint64_t entry_count(const FreezeTask<Key>& task, std::uint32_t first_bin, Key hash,
                                     std::uint32_t count) {
  if (count != kBigCount) return count;
  return task.counted.big.find(hash, first_bin, ~(task.bins_per_shard - 1));
}

/// Enqueues the work that has to be done before several blocks can write a shard's payload: it counts the
/// exceptions of pieces, which are 0 before, and clears the words that are not written at once.
template <class Key>
void launch_survey(const FreezeTask<Key>& task, std::uint32_t pieces, cudaStream_t stream);

}  // namespace warpmer::gpu
