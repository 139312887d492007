#pragma once
/// An index on the device, in one form or another, and the look-up of the k-mers of a text in it.

#include <cstdint>
#include <memory>

#include "backend/lookup.h"
#include "index/index_file.h"
#include "index/shard_codec.h"
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

  /// See backend::Lookup.
  virtual void cancel() const noexcept {}
};

/// How a text's k-mers are cut from it and which shards they belong to.
struct LookupParams {
  std::uint32_t k;
  std::uint32_t m;           ///< length of the minimizer
  std::uint32_t shard_bits;  ///< 0: one shard, no minimizers
  bool canonical;

  explicit LookupParams(const index::IndexParams& params)
      : k(params.k), m(params.minimizer_length), shard_bits(params.shard_bits), canonical(params.canonical) {}
};

/// Shards on the device, of which it can read the payloads: `first` and so many behind.
template <class Key>
struct ShardsThere {
  const index::ShardReader<Key>* readers;  ///< of these shards
  std::uint32_t first, count;
};

/// The frozen shards as they are stored, for the current device, which is to reach the memory that they are
/// in.
std::unique_ptr<DeviceIndex> load_index(const index::IndexParams& params,
                                        std::shared_ptr<const FrozenPayloads> payloads);
/// The same of an index that is copied to the current device; it need not outlive that.
std::unique_ptr<DeviceIndex> load_index(const index::IndexFile& index);

}  // namespace warpmer::gpu
