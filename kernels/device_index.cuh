#pragma once
/// An index on the device: its frozen shards as they are stored, and a kernel that looks up the k-mers of
/// a text in them.

#include <cstdint>
#include <memory>

#include "cut.cuh"
#include "index/index_file.h"

namespace warpmer::gpu {

/// An answer is a count in 32 bits, or one of these.
inline constexpr std::uint32_t kNoKmerAnswer = UINT32_MAX;          ///< a break lies in the k-mer
inline constexpr std::uint32_t kLargeCountAnswer = UINT32_MAX - 1;  ///< the count is this or more

class DeviceIndex {
 public:
  virtual ~DeviceIndex() = default;

  /// Enqueues the look-up of the k-mers that begin at the first `starts` characters of a text of `bytes`
  /// (see text_room). `answers` has room for whole tiles. `status`, on the device, is set up by
  /// `reset_status`; it learns of characters that are no nucleotide codes. Thread-safe.
  virtual void look_up(const char* text, std::uint32_t bytes, std::uint32_t starts, std::uint32_t* answers,
                       CutStatus* status, cudaStream_t stream) const = 0;
};

/// Device memory that an index takes. Reads no shard.
std::uint64_t device_index_bytes(const index::IndexFile& index);

/// Copies an index to the current device, checking every shard, with all cores there are up to some
/// number. `index` need not outlive it.
std::unique_ptr<DeviceIndex> load_index(const index::IndexFile& index);

}  // namespace warpmer::gpu
