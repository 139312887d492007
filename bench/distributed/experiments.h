#pragma once
/// The experiments on several GPUs, with their settings and results. They also run on one GPU, which can act
/// as several devices.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tables/keys.h"

namespace warpmer::bench {

/// CUDA's numbers of the devices; a number may come more than once.
using Ordinals = std::vector<int>;

/// Insertions and lookups in a table that lies on several GPUs (Juenger et al. 2018, section V-C).
struct CascadeSetting {
  Ordinals ordinals;
  KeyPlan keys;  ///< all devices' pairs together; each device brings the same number
  double load;   ///< load of the slots when all keys are in
  std::size_t batch;
  std::vector<bool> from_host;  ///< true: pairs and keys lie on the host; false: on their devices
  std::vector<std::uint32_t> pipelines;
  bool through_host;     ///< parts travel through the host, even if GPUs reach each other
  std::uint32_t rounds;  ///< rounds; their median counts
};

/// Stages of a cascade by their names, with the seconds that the batches of a device took in them, in the
/// mean of the devices.
using StageSeconds = std::vector<std::pair<std::string, double>>;

struct CascadeOperation {
  double seconds = 0;
  StageSeconds stages;
};

struct CascadeResult {
  bool from_host;
  std::uint32_t pipelines;
  bool through_host;  ///< true when parts did travel so
  std::size_t distinct, slots;
  CascadeOperation insert, find;
  std::uint64_t overflow, lost, wrong;  ///< over all rounds: pairs without room, keys not found, wrong values
  [[nodiscard]] bool is_right() const { return overflow + lost + wrong == 0; }
};

/// Passes one result for each side and number of pipelines to `keep`, as they come.
void run_cascades(const CascadeSetting& setting, const std::function<void(const CascadeResult&)>& keep);

/// Transpositions of parts that are all of the same size.
struct ExchangeSetting {
  Ordinals ordinals;
  std::vector<std::size_t> part_bytes;  ///< bytes of one device for one other; multiples of 8
  bool through_host;
  std::uint32_t rounds;  ///< transpositions one after another, timed together
};

struct ExchangeResult {
  std::size_t part_bytes;
  bool in_ring_order;
  bool through_host;
  double seconds;       ///< time of one transposition, by the clock of the slowest device
  std::uint64_t wrong;  ///< number of wrong words
};

void run_exchanges(const ExchangeSetting& setting, const std::function<void(const ExchangeResult&)>& keep);

/// Multisplits: warpmer's, and CUB's radix sort of the parts' numbers.
struct MultisplitSetting {
  int ordinal;
  std::vector<std::uint32_t> parts;
  std::vector<std::uint32_t> element_bytes;  ///< 4, 8, 16, 32
  std::size_t elements;
  std::uint32_t rounds;  ///< rounds; their median counts
};

struct MultisplitResult {
  std::uint32_t parts, element_bytes;
  double warpmer_seconds, restore_seconds, cub_seconds;
  std::uint64_t wrong;  ///< number of elements in which the two differ, and of answers that did not come back
};

void run_multisplits(const MultisplitSetting& setting,
                     const std::function<void(const MultisplitResult&)>& keep);

/// Returns the GPUs that warpmer can use.
Ordinals usable_gpus();
[[nodiscard]] std::string gpu_name(int ordinal);

}  // namespace warpmer::bench
