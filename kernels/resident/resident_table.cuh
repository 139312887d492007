#pragma once
/// The resident table of an index: it has the k-mers of the index, and those that are added while reads come,
/// and may be larger than the device's memory. It is a paged table (table/paged_table.h); each child has
/// some consecutive shards. K-mers that have been counted in the reads are queued by child. In the end
/// the children come once more, in order of their shards, and all that is left to be counted is added to
/// them.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "groups/shard_bits.h"
#include "index/index_file.h"
#include "kernels/count/bin_counting.cuh"
#include "kernels/count/counted.cuh"
#include "kernels/resident/device_children.cuh"
#include "kernels/resident/resident_table_plan.cuh"

namespace warpmer::gpu {

/// The part of a k-mer's count that a table cannot hold.
template <class Key>
struct CountBeside {
  Key key;
  std::uint64_t count;
};

/// Works on the current device, for one thread at a time. Counts have 32 bits there; the rest of larger ones
/// lies beside the table, as does the key that marks empty slots of a table.
template <class Key>
class ResidentTable {
 public:
  /// Begins with all k-mers of the index's shards that these bins belong to. The index must outlive it.
  /// Throws an InputError for a damaged shard. This and the functions below throw a ResourceError when one
  /// shard has more k-mers than a child has room for, or when the host has no room for all children.
  ResidentTable(const index::IndexFile& index, const BinRange& bins, const ResidentTablePlan& plan);
  /// After an error, too, nothing is under way afterwards.
  ~ResidentTable();
  ResidentTable(const ResidentTable&) = delete;
  ResidentTable& operator=(const ResidentTable&) = delete;

  /// Device memory beside the memory that a plan shares out, and for each k-mer that is counted at once.
  static constexpr std::uint64_t kFixedBytes =
      kMostBeside * sizeof(CountBeside<Key>) + DeviceChildren<Key>::kFixedBytes;
  static constexpr std::uint64_t kCountedBytes = CountedBins<Key>::kEntryBytes + sizeof(table::Slot<Key>);

  /// Returns the bins in which to count the k-mers to be added next: so many of one shard, or
  /// ResidentTablePlan::counted of several.
  [[nodiscard]] CountedBins<Key>& room(std::uint64_t entries);
  /// Adds so many k-mers that have been counted in `room`, and are complete in `stream`. No k-mer may come
  /// twice between one `flush` and the next.
  void add(std::uint64_t entries, cudaStream_t stream);
  /// Adds all k-mers that wait.
  void flush();

  /// The k-mers of some shards in the table.
  struct ResidentPart {
    std::uint32_t first_shard, end_shard;
    CountedView<Key> run;
    std::vector<std::uint64_t> kmers;  ///< numbers by shard
  };
  /// Returns the next shards, in order, when nothing more is to be added; none after the last. Work that is
  /// enqueued in `stream` from then on finds them; they are gone with the next call.
  std::optional<ResidentPart> next(cudaStream_t stream);

  [[nodiscard]] const table::PagingCounts& paging() const { return table_.paging(); }
  [[nodiscard]] const table::PagedTableCounts& counts() const { return table_.counts(); }
  [[nodiscard]] std::uint32_t children() const { return table_.children(); }

 private:
  using Item = table::Slot<Key>;

  /// The k-mers of a shard whose hashes leave `number` when they are divided by `turns`.
  struct ShardTurn {
    std::uint32_t number, turns;
  };

  void load();
  void take_items(std::uint32_t shard, const groups::ShardBits& bits, const ShardTurn& turn,
                  std::uint64_t first, std::uint64_t room);
  void insert_in_turns(std::uint32_t shard, const groups::ShardBits& bits);
  void insert_items(std::uint64_t n);
  void take_noted();
  void begin_reading();
  [[nodiscard]] ResidentPart put_in_bins(const typename PagedKmerTable<Key>::Brought& brought,
                                         const table::ChildRange& range, cudaStream_t stream);
  [[nodiscard]] index::ShardRange shards_of(const table::ChildRange& range) const;
  template <class Work>
  void explained(Work&& work) const;

  const index::IndexFile& index_;
  const BinRange bins_;
  const ResidentTablePlan plan_;
  const std::uint32_t k_;
  Stream stream_;
  PagedKmerTable<Key> table_;
  std::optional<CountedBins<Key>> room_;  ///< bins to count into; in the end, those of the part that is out
  DeviceArray<Item> items_;
  DeviceArray<CountBeside<Key>> beside_;
  DeviceArray<std::uint32_t> noted_;         ///< number of these, and a mark when a shard is damaged
  DeviceArray<std::uint32_t> taken_;         ///< number of items that have come of a shard
  DeviceArray<std::uint32_t> record_rests_;  ///< for its large groups
  std::map<Key, std::uint64_t> counts_beside_;
  std::vector<table::ChildRange> ranges_;  ///< set in the end
  std::size_t next_range_ = 0;
};

extern template class ResidentTable<Key64>;
extern template class ResidentTable<Key128>;

}  // namespace warpmer::gpu
