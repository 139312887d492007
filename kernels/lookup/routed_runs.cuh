#pragma once
/// A text that is cut for the GPUs that own its shards, on its way to them, and answers on their way back.
///
/// Each of these GPUs gets a part, in elements of 8 bytes: the packed bases of the text, and behind them the
/// runs of k-mers (kernels/lookup/run_tile.cuh) that belong to it. At k = 31 and with two GPUs that is 1.3
/// bytes for each k-mer; k-mers by themselves would take 8 or more. The GPU answers its k-mers one behind the
/// other, in the order that runs name, so that answers travel without gaps.

#include <cstdint>

#include "groups/text_run.h"
#include "index/index_file.h"
#include "kernels/lookup/device_index.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/text/cut.cuh"
#include "kernels/warps/warp_share.cuh"

namespace warpmer::gpu {

/// A run, and the place of its answers, as fields of a word.
struct RoutedRun {
  static constexpr std::uint32_t kStartBits = 24;  ///< also of `place`
  static constexpr std::uint32_t kKmersBits = 6;

  groups::TextRun run;
  std::uint32_t place;  ///< place of its first answer among those of the part

  __device__ static std::uint64_t packed(const groups::TextRun& run, std::uint32_t place) {
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

/// Shares the k-mers of the runs of a warp out among its lanes, which call it together: lanes of no run come
/// last. Calls `work(start, place, is_there)` on all of them together, neighbours with neighbouring k-mers.
template <class Work>
__device__ void for_each_routed(const RoutedRun& routed, Work&& work) {
  const WarpShare share(routed.run.kmers);
  const std::uint32_t start = routed.run.start - share.before(), place = routed.place - share.before();
  share.for_each([&](std::uint32_t lane_of_run, std::uint32_t number, bool is_there) {
    const std::uint32_t its_start = __shfl_sync(~0u, start, lane_of_run);
    work(its_start + number, __shfl_sync(~0u, place, lane_of_run) + number, is_there);
  });
}

/// The largest number of starts in a text that is routed.
inline constexpr std::uint32_t kMostRoutedStarts = 1u << RoutedRun::kStartBits;
/// The largest number of GPUs that it is routed to.
inline constexpr std::uint32_t kMostOwners = 64;

/// Returns the number of elements that the bases of a text take in each of its parts.
std::uint32_t routed_base_elements(std::uint32_t starts);

/// The number of runs and of k-mers of a part.
struct PartSize {
  std::uint32_t kmers;
  std::uint32_t runs;  ///< beyond their room if more was asked for
};

/// The parts of a text where it was cut, as kernels see them.
struct TextParts {
  std::uint64_t* elements;  ///< the parts of all owners, each with as much room
  PartSize* sizes;          ///< by owner
  std::uint32_t owners, room_elements, base_elements;
  std::uint32_t* breaks;     ///< 32 characters a word
  std::uint32_t* left;       ///< tiles with runs that have found no room
  std::uint32_t* left_size;  ///< their number
  std::uint32_t* answers;    ///< by start, whole tiles

  [[nodiscard]] WARPMER_HD std::uint64_t* part(std::uint32_t owner) const {
    return elements + std::size_t{owner} * room_elements;
  }
  [[nodiscard]] WARPMER_HD std::uint64_t* runs(std::uint32_t owner) const {
    return part(owner) + base_elements;
  }
  [[nodiscard]] WARPMER_HD std::uint32_t most_runs() const { return room_elements - base_elements; }
};

/// The device memory for the parts of one text at a time, on the GPU that cuts it.
class RoutedText {
 public:
  /// Takes texts of up to `starts` starts, and `most_runs` runs for each of so many owners.
  RoutedText(std::uint32_t starts, std::uint32_t owners, std::uint32_t most_runs);

  /// Return the bytes that it takes, and the elements of a part.
  static std::uint64_t bytes(std::uint32_t starts, std::uint32_t owners, std::uint32_t most_runs);
  static std::uint32_t part_elements(std::uint32_t starts, std::uint32_t most_runs);

  /// Enqueues the cut of a text (DeviceIndex::look_up). Its characters are not needed afterwards: it may lie
  /// in the memory of `answers`. `owner_of` is by shard, on the device. All answers become kNoKmerAnswer, or,
  /// for k-mers of tiles with runs that have found no room, kLargeCountAnswer: the caller has to ask
  /// elsewhere. `answers` belongs to the text until they have been restored.
  void cut(const char* text, std::uint32_t bytes, std::uint32_t starts, const index::IndexParams& params,
           const std::uint16_t* owner_of, std::uint32_t* answers, CutStatus* status, cudaStream_t stream);

  /// Enqueues the end of the way back: `returned`, the answers of one part behind those of the other, go to
  /// the text's answers. No part has more than `most_runs`.
  void restore_answers(std::uint32_t most_runs, const std::uint32_t* returned, cudaStream_t stream) const;

  [[nodiscard]] const TextParts& parts() const { return parts_; }

 private:
  DeviceArray<std::uint64_t> elements_, sizes_;
  DeviceArray<std::uint32_t> words_;
  TextParts parts_{};
};

/// The part of a text that is sent to one owner, in the owner's memory.
struct RoutedPart {
  const std::uint64_t* elements;
  std::uint32_t base_elements, runs;
};

/// Enqueues the answers to a part, on the device that has its shards.
void answer_part(const RoutedPart& part, const index::IndexParams& params, const ShardsThere& shards,
                 std::uint32_t* answers, cudaStream_t stream);

}  // namespace warpmer::gpu
