#pragma once
/// A cut text (kernels/lookup/shard_runs.cuh) on its way to the GPUs that have its shards, and answers on
/// their way back.
///
/// Each of these GPUs gets a part, in elements of 8 bytes: the packed bases of the text, and behind them the
/// runs of k-mers that belong to it. At k = 31 and with two GPUs that is 1.3 bytes for each k-mer; k-mers by
/// themselves would take 8 or more. The GPU answers its k-mers one behind the other, in the order that runs
/// name, so that answers travel without gaps.

#include <cstdint>

#include "kernels/lookup/device_index.cuh"
#include "kernels/lookup/shard_runs.cuh"
#include "kernels/warps/warp_share.cuh"

namespace warpmer::gpu {

/// A run, and the place of its answers, as fields of a word.
struct RoutedRun {
  static constexpr std::uint32_t kStartBits = 20;  ///< also of `place`
  static constexpr std::uint32_t kKmersBits = 6;

  groups::TextRun run;
  std::uint32_t place;  ///< place of its first answer among those of the part

  __device__ static std::uint64_t packed(const ShardRun& run, std::uint32_t place) {
    return std::uint64_t{run.start} | std::uint64_t{place} << kStartBits |
           std::uint64_t{run.kmers - 1u} << (2 * kStartBits) |
           std::uint64_t{run.minimizer} << (2 * kStartBits + kKmersBits);
  }
  __device__ static RoutedRun unpacked(std::uint64_t word) {
    constexpr std::uint64_t kStarts = (1u << kStartBits) - 1, kKmers = (1u << kKmersBits) - 1;
    return {{static_cast<std::uint32_t>(word & kStarts),
             static_cast<std::uint32_t>((word >> (2 * kStartBits)) & kKmers) + 1,
             static_cast<std::uint32_t>(word >> (2 * kStartBits + kKmersBits))},
            static_cast<std::uint32_t>((word >> kStartBits) & kStarts)};
  }
};

/// Shares the k-mers of a warp's runs, 32 of a part, out among its lanes, which call it together: lanes of no
/// run come last. Calls `work(start, place, is_there)` on all of them together, neighbours with neighbouring
/// k-mers and answers.
template <class Work>
__device__ void for_each_routed(const RoutedRun& routed, Work&& work) {
  const WarpShare share(routed.run.kmers);
  const std::uint32_t base = routed.run.start - share.before();
  // All have the same order of places as of lanes: the first one's says where those of all are.
  const std::uint32_t place = __shfl_sync(~0u, routed.place, 0);
  share.for_each([&](std::uint32_t lane_of_run, std::uint32_t number, bool is_there) {
    work(__shfl_sync(~0u, base, lane_of_run) + number, place + number, is_there);
  });
}

/// The largest number of starts in a text that is routed.
inline constexpr std::uint32_t kMostRoutedStarts = 1u << RoutedRun::kStartBits;

/// Returns the number of elements that the bases of a text take in each of its parts.
std::uint32_t routed_base_elements(std::uint32_t starts);
/// Return the largest number of elements of one part of a text with so many starts, and of all parts
/// together.
std::uint64_t most_part_elements(std::uint32_t starts, const RunRoom& room);
std::uint64_t most_elements(std::uint32_t starts, std::uint32_t owners, const RunRoom& room);

/// The part of a text that is sent to one owner, in the owner's memory.
struct RoutedPart {
  const std::uint64_t* elements;
  std::uint32_t base_elements, runs;
};

/// Enqueues the making of the parts of a text that has been cut for owners instead of partitions; they lie
/// one behind the other in `parts`. `kmers` gets the number of k-mers of each.
void make_parts(const CutText& text, std::uint32_t starts, std::uint32_t owners, std::uint64_t* parts,
                std::uint32_t* kmers, cudaStream_t stream);

/// Enqueues the answers to a part, on the device that has its shards.
void answer_part(const RoutedPart& part, const index::IndexParams& params, const ShardsThere& shards,
                 std::uint32_t* answers, cudaStream_t stream);

/// Enqueues the end of the way back: `returned`, the answers of one part behind those of the other, go to the
/// text's answers. `parts` and `kmers` are as `make_parts` has left them; no part has more than `most_runs`.
void restore_answers(const CutText& text, std::uint32_t starts, std::uint32_t owners, std::uint32_t most_runs,
                     const std::uint64_t* parts, const std::uint32_t* kmers, const std::uint32_t* returned,
                     cudaStream_t stream);

}  // namespace warpmer::gpu
