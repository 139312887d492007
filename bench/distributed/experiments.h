#pragma once
/// The experiments on several GPUs: what they are asked for, and what they find. On one GPU they run as well:
/// it can act as several devices.

#include <array>
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
  KeyPlan keys;  ///< all devices' pairs together, each brings as many
  double load;   ///< of the slots, when all keys are in
  std::size_t batch;
  std::vector<bool> from_host;  ///< where pairs and keys lie: on their devices, or on the host
  std::vector<std::uint32_t> pipelines;
  bool through_host;     ///< parts travel through the host, even if GPUs reach each other
  std::uint32_t rounds;  ///< of which the median counts
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
  bool through_host;  ///< whether parts did travel so
  std::size_t distinct, slots;
  CascadeOperation insert, find;
  std::uint64_t homeless, lost, wrong;  ///< of all rounds: pairs without room, keys not found, wrong values
  [[nodiscard]] bool is_right() const { return homeless + lost + wrong == 0; }
};

/// One result for each side and number of pipelines, as they come.
void run_cascades(const CascadeSetting& setting, const std::function<void(const CascadeResult&)>& keep);

/// Transpositions of parts that are all of the same size.
struct ExchangeSetting {
  Ordinals ordinals;
  std::vector<std::size_t> part_bytes;  ///< of one device for one other; multiples of 8
  bool through_host;
  std::uint32_t rounds;  ///< one after another, timed together
};

struct ExchangeResult {
  std::size_t part_bytes;
  bool in_ring_order;
  bool through_host;
  double seconds;       ///< of one transposition, by the clock of the slowest device
  std::uint64_t wrong;  ///< words
};

void run_exchanges(const ExchangeSetting& setting, const std::function<void(const ExchangeResult&)>& keep);

/// Multisplit, warpmer's and by CUB's radix sort of the parts' numbers.
struct MultisplitSetting {
  int ordinal;
  std::vector<std::uint32_t> parts;
  std::vector<std::uint32_t> element_bytes;  ///< 4, 8, 16, 32
  std::size_t elements;
  std::uint32_t rounds;  ///< of which the median counts
};

struct MultisplitResult {
  std::uint32_t parts, element_bytes;
  double warpmer_seconds, restore_seconds, cub_seconds;
  std::uint64_t wrong;  ///< elements where the two differ, and answers that did not come back
};

void run_multisplits(const MultisplitSetting& setting,
                     const std::function<void(const MultisplitResult&)>& keep);

/// The GPUs that warpmer can use.
Ordinals usable_gpus();
[[nodiscard]] std::string gpu_name(int ordinal);

}  // namespace warpmer::bench
