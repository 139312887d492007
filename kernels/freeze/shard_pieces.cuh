#pragma once
/// Shards of many entries are frozen in pieces, by as many blocks: a piece is some of a shard's ranges of
/// hashes. Where its payload begins follows from the ranges of the lists, but for the exceptions among its
/// counts, which have to be counted beforehand.

#include <cstdint>

#include "kernels/freeze/freeze.cuh"

namespace warpmer::gpu {

inline constexpr std::uint32_t kMostPieces = 64;

/// Pieces of each shard, of so many entries each on average.
std::uint32_t pieces_for(double entries_per_shard);
/// The same where there are too few shards for so many blocks: as many as keep these busy, as far as pieces
/// are worth their cost.
std::uint32_t pieces_for(double entries_per_shard, std::uint32_t shards, std::uint32_t blocks);

/// The first range of a piece. Of the one behind the last: their number.
__host__ __device__ constexpr std::uint32_t piece_begin(std::uint32_t piece, std::uint32_t pieces,
                                                        std::uint32_t ranges) {
  return piece * ranges / pieces;
}

/// Exceptions of pieces, in the task's scratch: those of a shard one after another.
template <class Key>
__host__ __device__ std::uint32_t* piece_exceptions(const FreezeTask<Key>& task, std::uint32_t shard,
                                                    std::uint32_t pieces) {
  return task.scratch + 1 + std::size_t{shard} * pieces;
}

/// The count of entry `at` of the arrays, which belongs to a list of the shard that begins with `first_list`.
template <class Key>
__device__ std::uint64_t entry_count(const FreezeTask<Key>& task, std::uint32_t first_list, Key hash,
                                     std::uint32_t count) {
  if (count != kBigCount) return count;
  return task.counted.big.find(hash, first_list, ~(task.lists_per_shard - 1));
}

/// Enqueues what has to be done before several blocks can write a shard's payload: counts the exceptions of
/// pieces, which are 0 before, and clears the words that are not written at once.
template <class Key>
void launch_survey(const FreezeTask<Key>& task, std::uint32_t pieces, cudaStream_t stream);

}  // namespace warpmer::gpu
