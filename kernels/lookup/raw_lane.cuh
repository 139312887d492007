#pragma once
/// The way of raw FASTQ through a GPU: the text goes there as it is in the file, and the lines that `query`
/// says of its reads come back.

#include <cstdint>
#include <string_view>

#include "backend/lookup/lookup.h"
#include "io/text/batch.h"
#include "kernels/lookup/device_index.cuh"
#include "kernels/lookup/read_lines.cuh"
#include "kernels/lookup/read_sums.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/host_fence.cuh"
#include "kernels/memory/pinned_blocks.cuh"
#include "kernels/text/cut.cuh"
#include "kernels/text/plain_fastq.cuh"

namespace warpmer::gpu {

/// Used by one caller at a time, with the device current on which it was made. The caller waits for each
/// text; what keeps a GPU busy is that there are several callers.
class RawLane {
 public:
  RawLane(const DeviceIndex& index, std::uint32_t k, bool lenient);
  RawLane(const RawLane&) = delete;
  RawLane& operator=(const RawLane&) = delete;
  ~RawLane() { cudaStreamSynchronize(stream_); }

  /// Does the same as Lookup::answer_raw. Leaves nothing under way, whatever goes wrong.
  void answer(const io::Batch& raw, char lowest_quality, backend::RawAnswer& out);

  /// A longer text is refused.
  static constexpr std::uint32_t kMostBytes = PinnedBlocks::kBytes;
  /// Returns the bytes that a lane holds on the device, the allocator's rounding included.
  static constexpr std::uint64_t device_bytes() {
    return text_room(kMostBytes) + text_room(kMostJoined) + answers_of(kMostJoined) * sizeof(std::uint32_t) +
           PlainFastq::device_bytes(kMostBytes) + PlainFastq::most_records(kMostBytes) * sizeof(ReadSums) +
           ReadLines::device_bytes(kMostBytes) + kArrays * kArrayRounding;
  }

 private:
  static constexpr std::uint32_t kMostJoined = PlainFastq::joined_bytes(kMostBytes);
  static constexpr std::uint64_t kArrays = 14;
  static constexpr std::size_t answers_of(std::uint32_t joined) {
    return std::size_t{tiles_of(joined)} * kTileStarts;
  }

  void send(std::string_view text, char lowest_quality);
  void take_lines(std::uint32_t text_bytes, backend::RawAnswer& out);

  const DeviceIndex& index_;
  const std::uint32_t k_;
  const bool lenient_;
  // All have room for the longest text from the beginning: texts are of about one size, and to make room
  // again for one that is a little longer would take longer than it.
  DeviceArray<char> text_{text_room(kMostBytes)}, joined_{text_room(kMostJoined)};
  PlainFastq records_;
  DeviceArray<std::uint32_t> answers_{answers_of(kMostJoined)};
  DeviceArray<CutStatus> status_{1};
  DeviceArray<ReadSums> sums_{PlainFastq::most_records(kMostBytes)};
  ReadLines lines_;
  PinnedArray<LinesReport> report_{1};
  PinnedArray<char> result_{kMostBytes / 4};  ///< grows for lines that are longer than they mostly are
  Stream stream_;
  HostFence done_;
};

}  // namespace warpmer::gpu
