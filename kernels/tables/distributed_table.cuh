#pragma once
/// A table of 32-bit keys with 32-bit values that lies on several GPUs: a hash of the key, p(k), names the
/// device. Batches go through the cascade of Juenger et al. 2018, section IV-B: multisplit, transposition,
/// insertion; lookups go through multisplit, transposition, lookup, transposition back, original order.
/// Several pipelines each carry a batch, so that the stages of different batches overlap (their Fig. 5).

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/exchange/transposition.cuh"
#include "kernels/memory/current_device.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/tables/pair_table.cuh"
#include "table/hash_family.h"

namespace warpmer::gpu {

/// p(k), which names the device of a key. It is independent of the key's place in the device's table.
class KeyOwner {
 public:
  explicit KeyOwner(std::uint32_t owners) : owners_(owners) {}
  WARPMER_HD std::uint32_t operator()(table::Key32 key) const {
    return table::scale(Family::hash(Family(kSeed).mix(key), 0), owners_);
  }
  /// Returns the owner of a pair, which is the owner of its key.
  WARPMER_HD std::uint32_t operator()(std::uint64_t pair) const { return (*this)(table::key_of(pair)); }

 private:
  using Family = table::HashFamily<table::Key32>;
  static constexpr std::uint32_t kSeed = 0x70B1A5;  ///< differs from the seed of every table
  std::uint32_t owners_;
};

/// The stages of a batch on a device, in this order. Insertions stop after `table`.
enum class BatchStage : std::size_t {
  upload,     ///< copy from the host; nothing when it is on the device
  split,      ///< multisplit
  plan,       ///< until the host knows the sizes of all devices' parts
  transpose,  ///< until the last part has come
  table,      ///< insertion or lookup
  give_back,  ///< transposition of the answers, until the last has come
  restore,    ///< answers into the original order
  download,
};
inline constexpr std::size_t kStages = 8;
[[nodiscard]] const char* name_of(BatchStage stage);

/// The times of all batches.
struct CascadeTimes {
  double seconds = 0;  ///< from begin to end, by the host's clock
  /// For each stage, the sum over all batches, as the mean of the devices, by their clocks. Stages of several
  /// pipelines overlap.
  std::array<double, kStages> stages{};
};

/// The memory in which keys, pairs and answers lie.
enum class Side {
  device,  ///< in the memory of the device that brings them
  host,    ///< in pinned memory of the host
};

/// The elements that one device brings.
template <class T>
struct DeviceElements {
  const T* data;
  std::size_t size;
};

struct DistributedTablePlan {
  /// CUDA's numbers of the devices, at most kMostParts. A number may come more than once: then one GPU acts
  /// as several.
  std::vector<int> ordinals;
  std::size_t slots = 0;  ///< least number for each device
  std::uint32_t seed = 1;
  std::size_t batch = std::size_t{1} << 24;  ///< pairs or keys that a device brings at a time, 2^31 at most
  std::uint32_t pipelines = 1;
  Route route = Route::direct;
};

class DistributedTable {
 public:
  /// Makes an empty table. Throws a ResourceError when the memory of a device does not suffice.
  explicit DistributedTable(const DistributedTablePlan& plan);
  ~DistributedTable();
  DistributedTable(DistributedTable&&) = delete;

  /// Inserts the pairs (table::word_of key and value) that each device brings; values of the same key are
  /// added up. `pairs` has one element for each device. Returns when all are in.
  CascadeTimes insert(const std::vector<DeviceElements<std::uint64_t>>& pairs, Side side);
  /// Looks up the keys that each device brings; `answers` get the values, or kNoValue, in the order of the
  /// keys, and lie on the same side as the keys.
  CascadeTimes find(const std::vector<DeviceElements<table::Key32>>& keys,
                    const std::vector<std::uint32_t*>& answers, Side side);

  void clear();
  /// Returns the number of pairs for which there was no room since the last `clear`.
  [[nodiscard]] std::uint64_t overflow() const;
  /// Returns the number of slots of all devices.
  [[nodiscard]] std::size_t slots() const;
  /// True when some parts travel through the host's memory.
  [[nodiscard]] bool goes_through_host() const;

 private:
  class Pipeline;
  template <class Run>
  CascadeTimes run_all(std::size_t batches, std::size_t stages, Run&& run);

  std::vector<OnOneDevice<PairTable>> tables_;
  std::vector<std::unique_ptr<Pipeline>> pipelines_;
  std::size_t batch_;
};

}  // namespace warpmer::gpu
