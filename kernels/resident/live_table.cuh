#pragma once
/// The k-mers of an index, and those that are added to it, as a table that stays alive while reads come and
/// that the device has no room for: a paged table (table/paged_table.h), each of whose children has some
/// consecutive shards. What has been counted of the reads is queued by child; in the end the children come
/// once more, in order of their shards, for what is left to be counted to be added to them.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "index/index_file.h"
#include "kernels/count/counted.cuh"
#include "kernels/count/list_counting.cuh"
#include "kernels/resident/device_children.cuh"
#include "kernels/resident/live_table_plan.cuh"

namespace warpmer::gpu {

/// Of what has been counted of a k-mer, what a table cannot hold.
template <class Key>
struct CountBeside {
  Key key;
  std::uint64_t count;
};

/// On the current device, for one thread at a time. Counts have 32 bits there; of larger ones the rest lies
/// beside the table, as does the key that a table takes for none.
template <class Key>
class LiveTable {
 public:
  /// Has all k-mers of the index's shards that these lists belong to. The index must outlive it. InputError
  /// for a damaged shard; ResourceError, also of the functions below, when there are more k-mers of one shard
  /// than a child has room for, or more children than the host has.
  LiveTable(const index::IndexFile& index, const ListRange& lists, const LiveTablePlan& plan);
  /// After an error, too, nothing is under way afterwards.
  ~LiveTable();
  LiveTable(const LiveTable&) = delete;
  LiveTable& operator=(const LiveTable&) = delete;

  /// Device memory beside what a plan shares out; and for each k-mer that is counted at once.
  static constexpr std::uint64_t kFixedBytes =
      kMostBeside * sizeof(CountBeside<Key>) + DeviceChildren<Key>::kFixedBytes;
  static constexpr std::uint64_t kCountedBytes = CountedLists<Key>::kEntryBytes + sizeof(table::Slot<Key>);

  /// Where to count what is to be added next, so many k-mers of one shard, or LiveTablePlan::counted of
  /// several.
  [[nodiscard]] CountedLists<Key>& room(std::uint64_t entries);
  /// Adds so many k-mers that have been counted there, and are complete in `stream`. Between one `flush` and
  /// the next no k-mer comes twice.
  void add(std::uint64_t entries, cudaStream_t stream);
  /// Whatever waits is added.
  void flush();

  /// What the table holds of some shards.
  struct Part {
    std::uint32_t first_shard, end_shard;
    CountedView<Key> run;
    std::vector<std::uint64_t> kmers;  ///< by shard
  };
  /// The next shards, in order, when nothing more is to be added; none after the last. What is enqueued in
  /// `stream` from then on finds them; they are gone with the next call.
  std::optional<Part> next(cudaStream_t stream);

  [[nodiscard]] const table::PagingCounts& paging() const { return table_.paging(); }
  [[nodiscard]] const table::PagedTableCounts& counts() const { return table_.counts(); }
  [[nodiscard]] std::uint32_t children() const { return table_.children(); }

 private:
  using Item = table::Slot<Key>;

  void load();
  void insert_items(std::uint64_t n);
  void take_noted();
  void begin_reading();
  [[nodiscard]] Part put_in_lists(const typename PagedKmerTable<Key>::Brought& brought,
                                  const table::ChildRange& range, cudaStream_t stream);
  [[nodiscard]] index::ShardRange shards_of(const table::ChildRange& range) const;
  template <class Work>
  void explained(Work&& work) const;

  const index::IndexFile& index_;
  const ListRange lists_;
  const LiveTablePlan plan_;
  const std::uint32_t k_;
  Stream stream_;
  PagedKmerTable<Key> table_;
  std::optional<CountedLists<Key>> room_;  ///< to count into; in the end, of the part that is out
  DeviceArray<Item> items_;
  DeviceArray<CountBeside<Key>> beside_;
  DeviceArray<std::uint32_t> noted_;  ///< how many these are, and whether a shard is damaged
  std::map<Key, std::uint64_t> counts_beside_;
  std::vector<table::ChildRange> ranges_;  ///< in the end
  std::size_t next_range_ = 0;
};

extern template class LiveTable<Key64>;
extern template class LiveTable<Key128>;

}  // namespace warpmer::gpu
