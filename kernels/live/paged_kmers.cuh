#pragma once
/// The k-mers of a live table on one GPU and beyond its memory (Starfish: Xiong et al. 2022): child tables, a
/// range of shards each, of which some are in frames of the GPU and the others lie in pinned memory of the
/// host. K-mers that are added wait on the GPU until there are many, and are then counted child by child.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/live/initial_shards.h"
#include "backend/tally.h"
#include "backend/update_session.h"
#include "index/index_file.h"
#include "io/text/batch.h"
#include "kernels/live/device_children.cuh"
#include "kernels/live/kmer_queue.cuh"
#include "kernels/live/live_entries.cuh"
#include "kernels/live/live_kmers.cuh"
#include "kmer/hash.h"
#include "kmer/kmer.h"

namespace warpmer::gpu {

/// Says what there is for the k-mers of one GPU.
struct PagedKmersPlan {
  KmerParams kmers;
  index::ShardRange shards{0, 1u << kShardBits};  ///< whose k-mers they are
  std::uint64_t device_bytes = 0;
  std::uint64_t host_bytes = 0;                    ///< for children
  const backend::InitialKmers* initial = nullptr;  ///< says how many k-mers come to begin with; or null
};

/// K-mers that are asked for: those of a batch, or hashes of some. The answers of a batch are for each start
/// of its joined text.
template <class Key>
struct PagedQuestion {
  const io::Batch* batch = nullptr;
  std::span<const Key> hashes;
  std::vector<std::uint32_t> answers;
};

/// Used by one thread at a time, with the GPU current on which it was made. Whoever adds a batch collects it,
/// looks whether there is room, and commits it. What has been committed is seen by all that follows.
template <class Key>
class PagedKmers {
 public:
  explicit PagedKmers(const PagedKmersPlan& plan);

  /// Returns the least device memory that makes sense.
  static std::uint64_t least_device_bytes();
  /// Returns host memory for so many k-mers.
  static std::uint64_t host_bytes_for(std::uint64_t kmers);

  /// Collects the k-mers of a batch, which are added by `commit`, or taken away by `remove`. False: so many
  /// cannot wait any more.
  bool collect(const io::Batch& batch) { return queue_.collect(batch, collected_); }
  /// Says what keeps the collected k-mers from being added, before it is known how many of them are new.
  enum class LiveRoom : std::uint8_t {
    enough,
    none,      ///< host memory, or a frame for one of their shards, might not suffice
    too_many,  ///< one might then occur more than kMostLiveCount times
  };
  [[nodiscard]] LiveRoom room() const;
  void commit();
  [[nodiscard]] std::uint64_t collected() const { return collected_.kmers; }
  /// Returns true after an error that has lost k-mers. Then the table is of no use.
  [[nodiscard]] bool has_failed() const { return is_half_done_ || table_.has_failed(); }

  /// Counts all k-mers that wait.
  void serve();
  /// Counts what waits, finds out which count is the largest, and makes room of removed k-mers free.
  void make_room();

  /// Takes the collected k-mers away, while no others wait. An error leaves some of them there.
  void remove(backend::Shortfall& shortfall);
  /// Answers questions, together.
  void ask(std::span<PagedQuestion<Key>* const> questions);
  /// Returns the number of k-mers that can be asked for together, or wait.
  [[nodiscard]] std::size_t most_together() const { return queue_.capacity(); }

  /// Adds k-mers of a shard, each once, none of which is there.
  void load(const backend::InitialShard<Key>& shard);

  /// Returns the ranges of shards that children have, in order.
  [[nodiscard]] std::vector<index::ShardRange> children();
  /// Calls `visit(entries, stream)` with the k-mers of the child whose range begins with a shard.
  template <class Visit>
  void with_child(std::uint32_t first_shard, Visit&& visit) {
    cudaStream_t stream = nullptr;
    const auto entries = bring(first_shard, stream);
    visit(*entries, stream);
  }

  /// Returns the device memory that is kept for shards that are frozen.
  [[nodiscard]] std::uint64_t freezing_bytes() const;

  /// Adds all counts to a tally.
  void note_all_counts(backend::Tally& tally);

  [[nodiscard]] std::uint64_t device_bytes() const;
  [[nodiscard]] std::uint64_t host_bytes() const { return table_.storage().host_bytes(); }
  [[nodiscard]] const table::PagingCounts& paging() const { return table_.paging(); }

 private:
  using Update = table::Slot<Key>;

  std::unique_ptr<LiveEntries<Key>> bring(std::uint32_t first_shard, cudaStream_t& stream);
  void insert(const ReducedKmers<Key>& kmers);
  void subtract(const ReducedKmers<Key>& kmers, backend::Shortfall& shortfall);
  void note_children();
  [[nodiscard]] std::uint64_t needed_host_bytes() const;
  [[nodiscard]] index::ShardRange shards_of(const table::ChildRange& range) const;

  const KmerParams kmers_;
  const std::uint64_t host_bytes_, frame_bytes_;
  const std::uint64_t most_of_shard_;  ///< k-mers that a frame holds, if they are all of one shard
  const KmerHash<Key> hash_;
  KmerQueue<Key> queue_;
  CollectedKmers collected_;
  PagedKmerTable<Key> table_;
  DeviceArray<Update> updates_;
  DeviceArray<std::uint32_t> missing_;
  std::uint64_t beside_ = 0;                       ///< count of the k-mer whose hash is kEmptyKey
  std::uint64_t most_count_ = 0;                   ///< no count is larger, of those that do not wait
  std::vector<std::uint64_t> of_shard_, waiting_;  ///< by shard: no more k-mers are there; so many wait
  bool is_half_done_ = false;
  DeviceArray<std::uint32_t> beside_on_device_{2};
};

extern template class PagedKmers<Key64>;
extern template class PagedKmers<Key128>;

}  // namespace warpmer::gpu
