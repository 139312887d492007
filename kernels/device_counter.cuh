#pragma once
/// One GPU's part of a counting job, without files and threads: text on the device in, frozen shards on
/// the device out. The session feeds it; the bench times it. Several work together by an exchange.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "carrier.cuh"
#include "count.cuh"
#include "cut.cuh"
#include "device_memory.cuh"
#include "engine/backend.h"
#include "engine/tally.h"
#include "freeze.cuh"
#include "index/index_file.h"
#include "spilled_segments.cuh"

namespace warpmer::gpu {

/// What speed depends on and results do not; the values are measured (docs/benchmarks.md).
struct DeviceTuning {
  double kmers_per_list = 4096;  ///< where the number of k-mers is known beforehand
  double load = 0.7;             ///< of a table, as expected from the lists before
  /// Neighbouring lists are counted as one where k-mers repeat so often that one table holds them.
  bool joins_lists = true;
  /// Lists of more k-mers than this, and than so many usual lists, are counted by all blocks together.
  std::uint64_t long_list_kmers = std::uint64_t{1} << 20;
  std::uint32_t long_list_ratio = 64;
  /// Room for different k-mers in a chunk of spilled words, by those of the chunks before. A chunk that has
  /// more is counted again, in halves.
  double entries_margin = 1.15;
  bool counts_early = true;  ///< what does not fit may be counted early, where that pays; else it is spilled
};

/// An index to which all is to be added that is counted, as soon as the device has no room for more, instead
/// of being spilled; and what the table of its k-mers may take (live_table.cuh).
struct LiveShare {
  const index::IndexFile* index = nullptr;  ///< none: what there is no room for is spilled
  std::uint64_t device_bytes = 0, host_bytes = 0;
  bool is_used_always = false;  ///< LiveTableUse::always
};

struct DeviceCountPlan {
  std::uint32_t k = 31;
  bool canonical = true;
  std::uint64_t min_count = 1;
  std::uint64_t max_count = UINT64_MAX;
  engine::CountTable table = engine::CountTable::automatic;
  std::uint64_t memory_bytes = 0;  ///< what may be held on the device
  DeviceTuning tuning;
  std::uint64_t expected_kmers = 0;  ///< occurrences, about, on all devices; 0: unknown
  std::uint32_t owners = 1;          ///< devices that share them, of all ranks
  SpillPlan spill;                   ///< of each device
  LiveShare live;                    ///< of each device, beside `memory_bytes`
  std::string purpose = "counting";  ///< how messages call it
};

/// Consecutive shards, frozen. Valid until `reclaim` of its first shard has returned.
struct FrozenChunk {
  std::uint32_t first_shard = 0;
  std::vector<ShardPlan> plans;                 ///< one for each shard
  const unsigned long long* payload = nullptr;  ///< on the device
  Event* ready = nullptr;                       ///< when it has passed, the payload is complete
};

/// Seconds the GPU was busy. Counting and freezing share it: each has the other's part in its own, and
/// freezing what it waited for room.
struct DeviceTimes {
  double cut = 0, split = 0, count = 0, freeze = 0;
  double exchange = 0;          ///< copying what it has cut to other GPUs, beside the others
  double late_exchange = 0;     ///< of that, what was beside counting
  double count_and_freeze = 0;  ///< from the begin of the one to the end of the other, early counts aside
  std::uint64_t words = 0;      ///< super-k-mers counted, and places for some that were left empty
  std::uint64_t exchanged_bytes = 0;  ///< that went to other GPUs

  void add(const DeviceTimes& other) {
    cut += other.cut;
    split += other.split;
    count += other.count;
    freeze += other.freeze;
    exchange += other.exchange;
    late_exchange += other.late_exchange;
    count_and_freeze += other.count_and_freeze;
    words += other.words;
    exchanged_bytes += other.exchanged_bytes;
  }
};

/// Takes the k-mers of text on the device. Not thread-safe: one thread at a time. All work is ordered in
/// one stream; the device is current.
class TextCounter {
 public:
  virtual ~TextCounter() = default;

  [[nodiscard]] virtual cudaStream_t stream() const = 0;

  /// Enqueues the count of a text (see launch_cut).
  virtual void add(const char* text, std::uint32_t bytes, const std::uint32_t* tiles,
                   std::uint32_t tile_count, std::uint32_t* left, CutStatus* status) = 0;
  /// Makes room for more, for tiles that were left, unless somebody has done so already. May wait for the
  /// device.
  virtual void make_room() = 0;
  /// Whether so many words in the fullest region (CutStatus) mean that it is time for that.
  [[nodiscard]] virtual bool wants_room(std::uint32_t fullest) const = 0;
};

/// For k > 12: words are staged, split, counted and frozen.
class DeviceCounter : public TextCounter {
 public:
  /// No more text comes. When all counters that work together have been told so, what was cut is where it is
  /// going to be counted, or the last of it on its way there; the last of this process's to be told waits for
  /// that.
  virtual void end_of_input() = 0;

  /// Then counts and freezes its shards, in chunks, in order; hands each over when it is enqueued. A
  /// chunk's memory is used again for later ones, maybe for the next: `reclaim(first_shard)` must return only
  /// when that earlier chunk is no longer needed, and without waiting for one that comes.
  virtual void finish(const std::function<void(FrozenChunk&&)>& take,
                      const std::function<void(std::uint32_t first_shard)>& reclaim) = 0;

  /// After the end of input: whether there is a live table. Then `finish` freezes what its index has, too,
  /// and does not tally counts of 2^16 and more: an index may have any number of them.
  [[nodiscard]] virtual bool is_live() const = 0;

  /// After `finish`, as are the others.
  virtual void add_to(engine::Tally& tally) const = 0;
  [[nodiscard]] virtual std::uint64_t early_counts() const = 0;
  [[nodiscard]] virtual SpillTotals spilled() const = 0;
  [[nodiscard]] virtual engine::PagingReport paging() const = 0;
  [[nodiscard]] virtual DeviceTimes times() const = 0;
};

/// For one GPU, the current one. ResourceError when `memory_bytes` is too little to begin.
std::unique_ptr<DeviceCounter> make_device_counter(const DeviceCountPlan& plan);

/// For several GPUs, which exchange what they cut: each counts and freezes a range of the shards. One counter
/// for each GPU of this process. A counter is to be used, and destroyed, with its GPU current. On several
/// ranks `memory_bytes` and `expected_kmers` must be the same, because so must be the lists.
std::vector<std::unique_ptr<DeviceCounter>> make_device_counters(const DeviceCountPlan& plan,
                                                                 std::unique_ptr<Carrier> carrier);

}  // namespace warpmer::gpu
