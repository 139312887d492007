#pragma once
/// The k-mers of a live table in the memory of one GPU, in a hash table of some scheme.

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>

#include "backend/live/live_table.h"
#include "kernels/lookup/routed_runs.cuh"
#include "kernels/text/cut.cuh"
#include "kmer/kmer.h"

namespace warpmer::gpu {

/// What is done to a k-mer.
enum class LiveAction : std::uint32_t { insert, remove, ask };

/// Answers of insertions and removals; questions are answered as DeviceIndex says.
enum LiveAnswer : std::uint32_t {
  kLiveRefused = 0,  ///< a removal: it is not there. An insertion: there is no room for it
  kLiveDone = 1,
  kLiveTooMany = 2,  ///< an insertion: it has been counted kMostLiveCount times, and once more is too often
};

/// Counts have 32 bits, and are never taken to where they would wrap: so many tiles may add to one at once
/// before one of them sees that it is too large.
inline constexpr std::uint32_t kMostLiveCount = UINT32_MAX - (1u << 24);

/// A k-mer of a frozen shard, with its count.
template <class Key>
struct PlacedKmer {
  Key key;  ///< groups::GroupKeys
  std::uint64_t count;
};

/// Insertions, removals and questions of any k-mers run side by side, in any streams of the device on which
/// it was made. K-mers are kept as their hashes.
template <class Key>
class LiveKmers {
 public:
  virtual ~LiveKmers() = default;
  LiveKmers(const LiveKmers&) = delete;
  LiveKmers& operator=(const LiveKmers&) = delete;

  /// Enqueues an action on all k-mers of a text, as DeviceIndex::look_up says.
  virtual void serve_text(LiveAction action, const char* text, std::uint32_t bytes, std::uint32_t starts,
                          std::uint32_t* answers, CutStatus* status, cudaStream_t stream) const = 0;
  /// Enqueues an action on hashes of k-mers: `counts[i]` times each, at least 1; null: once.
  virtual void serve_keys(LiveAction action, const Key* keys, const std::uint32_t* counts, std::uint32_t size,
                          std::uint32_t* answers, cudaStream_t stream) const = 0;
  /// Enqueues an action on the k-mers of a part of a text, whose answers come in the order that runs name.
  virtual void serve_part(LiveAction action, const RoutedPart& part, std::uint32_t* answers,
                          cudaStream_t stream) const = 0;

  /// Enqueues counting the k-mers of each shard, which are added to `sizes`, one for each shard. No insertion
  /// or removal may run side by side with it, or with those that follow.
  virtual void count_shards(unsigned long long* sizes, cudaStream_t stream) const = 0;
  /// Enqueues listing the k-mers of shards [first, end) in any order, those of a shard from `places[shard]`
  /// on; the places are moved to the shards' ends.
  virtual void list_shards(std::uint32_t first, std::uint32_t end, unsigned long long* places,
                           PlacedKmer<Key>* to, cudaStream_t stream) const = 0;

  /// Counts up to this are tallied on the device.
  static constexpr std::uint32_t kTallies = 1u << 16;
  /// Enqueues adding up how many k-mers have each count below kTallies, at `kmers[count]`, and, at
  /// `kmers[kTallies]`, how many have others.
  virtual void tally(unsigned long long* kmers, cudaStream_t stream) const = 0;
  /// Enqueues listing the other counts in any order; `*size` is 0 before.
  virtual void list_large(std::uint32_t* counts, std::uint32_t* size, cudaStream_t stream) const = 0;

  /// Makes the room of k-mers that have been removed free for others. Returns their number. Waits for
  /// `stream`.
  virtual std::uint64_t drop_removed(cudaStream_t stream) const = 0;

  [[nodiscard]] virtual std::uint64_t bytes() const = 0;

 protected:
  LiveKmers() = default;
};

/// Takes about so many bytes of the current device. ResourceError when they cannot be had.
template <class Key>
std::unique_ptr<LiveKmers<Key>> make_live_kmers(backend::LiveScheme scheme, std::uint64_t bytes,
                                                KmerParams kmers);

/// Does so in a WarpDrive table (live_windows.cu): all bytes are slots, nearly all of which can be filled.
template <class Key>
std::unique_ptr<LiveKmers<Key>> make_live_windows(std::uint64_t bytes, KmerParams kmers);
/// Does so in a slab hash (live_slabs.cu): half of the bytes are base slabs, the other half is handed out.
template <class Key>
std::unique_ptr<LiveKmers<Key>> make_live_slabs(std::uint64_t bytes, KmerParams kmers);

extern template std::unique_ptr<LiveKmers<Key64>> make_live_windows(std::uint64_t, KmerParams);
extern template std::unique_ptr<LiveKmers<Key128>> make_live_windows(std::uint64_t, KmerParams);
extern template std::unique_ptr<LiveKmers<Key64>> make_live_slabs(std::uint64_t, KmerParams);
extern template std::unique_ptr<LiveKmers<Key128>> make_live_slabs(std::uint64_t, KmerParams);

}  // namespace warpmer::gpu
