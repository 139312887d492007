#pragma once
/// The experiments with a paged table (Starfish: Xiong et al. 2022, section 5): tables of which some
/// partitions are on the device are compared with a plain table of the same kind and the slab hash, which are
/// there as a whole. Pairs and queries come from the host, and answers go back to it; all of that is timed.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "table/child_pager.h"

namespace warpmer::bench {

/// A table that takes part.
struct Contender {
  std::string table;           ///< starfish, iceberg, slab
  std::uint32_t resident = 0;  ///< partitions of starfish on the device at once
};

struct StarfishSetting {
  std::size_t child_pairs = 1'000'000;  ///< pairs of each partition (section 5.1)
  double load = 0.85;                   ///< load of the slots of a partition, and of the plain table
  double slab_load = 0.65;              ///< load of the slab hash's slots
  std::uint32_t rounds = 3;             ///< rounds; their median counts
};

/// The result of one measurement.
struct StarfishResult {
  double seconds = 0;
  std::uint32_t children = 0;
  table::PagingCounts moved;        ///< in one round
  std::uint64_t rebuild_bytes = 0;  ///< bytes moved for builds of single partitions
  std::size_t table_bytes = 0;      ///< device memory of the table
  std::size_t device_bytes = 0;     ///< device memory with batches on their way
  std::uint64_t wrong = 0;          ///< number of wrong answers
};

class StarfishBench {
 public:
  virtual ~StarfishBench() = default;
  [[nodiscard]] virtual std::string device() const = 0;
  /// Fig. 4: builds a table of `pairs` pairs. Fig. 5, with `fails`: when it is built, some key has found no
  /// room, and a partition, or the whole table, is built again. All keys are looked up afterwards.
  virtual StarfishResult build(const Contender& contender, std::size_t pairs, bool fails) = 0;
  /// Fig. 6: asks `queries` queries for keys of the first `span` of `pairs` pairs, after a round that warms
  /// up.
  virtual StarfishResult query(const Contender& contender, std::size_t pairs, std::size_t span,
                               std::size_t queries) = 0;
};

std::unique_ptr<StarfishBench> make_host_starfish(const StarfishSetting& setting);
/// Makes the bench on a GPU, by its number among those of `warpmer devices`. Throws a ResourceError when
/// there is none.
std::unique_ptr<StarfishBench> make_gpu_starfish(const StarfishSetting& setting, int device);

}  // namespace warpmer::bench
