#pragma once
/// The k-mers of a live table in the memory of one GPU, in a hash table of some scheme.

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>

#include "backend/live/live_table.h"
#include "kernels/live/live_entries.cuh"
#include "kernels/lookup/routed_runs.cuh"
#include "kernels/text/cut.cuh"
#include "kmer/kmer.h"

namespace warpmer::gpu {

/// The operation that is done with a k-mer.
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

/// Insertions, removals and questions of any k-mers run side by side, in any streams of the device on which
/// it was made. K-mers are kept as their hashes.
template <class Key>
class LiveKmers : public LiveEntries<Key> {
 public:
  /// Enqueues an action on all k-mers of a text, as DeviceIndex::look_up says.
  virtual void serve_text(LiveAction action, const char* text, std::uint32_t bytes, std::uint32_t starts,
                          std::uint32_t* answers, CutStatus* status, cudaStream_t stream) const = 0;
  /// Enqueues an action on hashes of k-mers: `counts[i]` times each, at least 1; null: once.
  virtual void serve_keys(LiveAction action, const Key* keys, const std::uint32_t* counts, std::uint32_t size,
                          std::uint32_t* answers, cudaStream_t stream) const = 0;
  /// Enqueues an action on the k-mers of a part of a text, whose answers come in the order that runs name.
  virtual void serve_part(LiveAction action, const RoutedPart& part, std::uint32_t* answers,
                          cudaStream_t stream) const = 0;

  /// Makes the room of k-mers that have been removed free for others, while no insertion or removal runs.
  /// Returns their number. Waits for `stream`.
  virtual std::uint64_t drop_removed(cudaStream_t stream) const = 0;
  /// Returns whether questions may be asked meanwhile.
  [[nodiscard]] virtual bool drops_beside_questions() const = 0;

  [[nodiscard]] virtual std::uint64_t bytes() const = 0;
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
