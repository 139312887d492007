#pragma once
/// The shards of a live table, or of a part of it, frozen on the device that has them, and brought to the
/// host.

#include <cstdint>
#include <memory>
#include <vector>

#include "index/frozen_shard.h"
#include "index/index_file.h"
#include "kernels/freeze/frozen_chunk.cuh"
#include "kernels/freeze/string_freeze.cuh"
#include "kernels/live/live_entries.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kmer/kmer.h"

namespace warpmer::gpu {

/// Some consecutive frozen shards in host memory.
struct ShardsOnHost {
  std::uint32_t first = 0;
  std::vector<StringPlan> strings;  ///< one for each shard
  std::unique_ptr<std::uint64_t[]> words;

  [[nodiscard]] std::uint32_t end() const { return first + static_cast<std::uint32_t>(strings.size()); }
  [[nodiscard]] index::FrozenShard shard(std::uint32_t number) const;
};

/// Freezes all shards of some entries, a few at a time. Many are listed at once, because all entries are gone
/// through for that. Used by one thread at a time; the device is current.
template <class Key>
class ShardFreezer {
 public:
  /// Takes so many bytes of device memory, or what one shard takes, if that is more.
  ShardFreezer(const KmerParams& kmers, std::uint64_t bytes);

  /// Looks how many k-mers the entries have in these shards, which are all that they have. Waits for
  /// `stream`.
  void begin(const LiveEntries<Key>& entries, const index::ShardRange& shards, cudaStream_t stream);
  /// Freezes a shard of these, and as many of the next as there is memory for. Waits for `stream`.
  ShardsOnHost freeze(const LiveEntries<Key>& entries, std::uint32_t first, cudaStream_t stream);

 private:
  /// The most bytes of a k-mer that is listed, and, beside that, of one that is frozen: in order, as strings,
  /// and in a payload. What grows has some to spare.
  static constexpr std::uint64_t kListedBytes = (sizeof(Key) + sizeof(std::uint32_t)) * 9 / 8;
  static constexpr std::uint64_t kFrozenBytes = (StringFreezer<Key>::kEntryBytes + sizeof(Key) + 6) * 9 / 8;
  /// And those of a bin.
  static constexpr std::uint64_t kBinBytes = (sizeof(std::uint32_t) + sizeof(std::uint64_t)) * 9 / 8;

  void list(const LiveEntries<Key>& entries, std::uint32_t first, cudaStream_t stream);
  CountedShards<Key> listed_shards(std::uint32_t first, std::uint32_t end, cudaStream_t stream);
  void set_begins(const index::ShardRange& shards, cudaStream_t stream);
  [[nodiscard]] std::uint32_t end_of(std::uint32_t first, std::uint32_t end, std::uint64_t most_kmers) const;
  /// Returns the number of a shard's first bin among those of these shards.
  [[nodiscard]] std::size_t bin_of(std::uint32_t shard) const {
    return std::size_t{shard - shards_.first} << bin_bits_;
  }
  /// Returns how many k-mers of these shards are before a shard.
  [[nodiscard]] std::uint64_t begin_of(std::uint32_t shard) const { return begins_[bin_of(shard)]; }

  const KmerParams kmers_;
  const std::uint64_t bytes_;
  std::uint64_t most_listed_ = 0, most_frozen_ = 0;  ///< k-mers at once, unless a shard has more
  index::ShardRange shards_, listed_;
  std::uint32_t bin_bits_ = 0;
  std::vector<std::uint64_t> begins_;  ///< of all bins of these shards, and the end: k-mers before them
  std::vector<std::uint64_t> relative_begins_;
  DeviceArray<std::uint32_t> bin_sizes_;
  DeviceArray<std::uint64_t> bin_begins_;
  DeviceArray<Key> keys_;
  DeviceArray<std::uint32_t> counts_;
  DeviceArray<unsigned long long> words_;
  std::unique_ptr<StringFreezer<Key>> freezer_;
};

extern template class ShardFreezer<Key64>;
extern template class ShardFreezer<Key128>;

}  // namespace warpmer::gpu
