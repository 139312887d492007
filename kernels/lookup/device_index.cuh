#pragma once
/// The interface of an index on the device, wherever its shards are, and of the look-up of a text's k-mers in
/// it.

#include <cstdint>
#include <memory>

#include "backend/lookup/lookup.h"
#include "index/index_file.h"
#include "kernels/text/cut.cuh"
#include "kernels/upload/frozen_shards.cuh"

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

  /// Cancels look-ups, as backend::Lookup::cancel does.
  virtual void cancel() const noexcept {}
};

/// Returns an index of shards as they are stored, for the current device, which must reach their memory.
std::unique_ptr<DeviceIndex> load_index(std::shared_ptr<const FrozenPayloads> payloads);
/// Does the same with an index that is copied to the current device; `index` need not outlive the result.
std::unique_ptr<DeviceIndex> load_index(const index::IndexFile& index);

}  // namespace warpmer::gpu
