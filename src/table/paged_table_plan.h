#pragma once
/// How a PagedTable (table/paged_table.h) is laid out, and its counts of what it did.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "table/child_directory.h"
#include "table/child_table.h"

namespace warpmer::table {

/// Says which child a key goes to.
enum class Placement : std::uint8_t {
  by_key,      ///< the one that a hash of the key names. Any operations on any keys
  by_arrival,  ///< the newest, until it is full (the paper's). Each key is brought once, and not erased; a
               ///< lookup asks one child after the other
};

struct PagedTablePlan {
  std::uint32_t frames = 2;         ///< children on the device at once: R
  std::uint32_t frame_buckets = 1;  ///< buckets of kChildBucket slots: the largest child
  std::uint32_t child_buckets = 0;  ///< buckets of a child to begin with; 0: as many
  /// Number of children to begin with; by arrival, and with `weights`, those for which memory is made ready.
  std::uint32_t children = 1;
  std::uint64_t most_image_bytes = 0;  ///< bytes of the host's memory for children; 0: any number
  /// Number of entries that come to each of 2^Place::kBits places, where that is known (by key): children
  /// begin with these.
  std::vector<std::uint64_t> weights{};
  double load = 0.85;  ///< a child that holds more when something found no room is enlarged
  double growth = 2;   ///< so many times; or halved, and both halves are so much larger, together
  Placement placement = Placement::by_key;
  std::size_t batch = std::size_t{1} << 20;  ///< operations that wait on the device; at least `frames`
  std::size_t query_batch = 0;               ///< queries; 0: as many
  std::uint32_t first_seed = 1;
  std::uint32_t attempts = 8;   ///< builds of one child with different hash functions, without enlarging it
  std::uint32_t discarded = 0;  ///< good pieces of work on children that are taken for failed: for tests

  /// Returns, where `weights` are known, how many entries a child has at most to begin with, and its buckets,
  /// by what it has.
  [[nodiscard]] std::uint64_t most_at_first() const {
    return std::max<std::uint64_t>(1, ChildShape{frame_buckets, 0}.entries_at(load / growth));
  }
  [[nodiscard]] std::uint32_t buckets_at_first(const ChildRange& range) const {
    const std::uint64_t entries =
        std::accumulate(weights.begin() + range.first, weights.begin() + range.end, std::uint64_t{0});
    return std::min(frame_buckets, ChildShape::buckets_for(entries, load / growth));
  }
};

/// Counts of what was done besides moving children.
struct PagedTableCounts {
  std::uint64_t rebuilds = 0;                           ///< builds of single children
  std::uint64_t rebuild_read = 0, rebuild_written = 0;  ///< bytes from the host and to it for them
  std::uint64_t enlarged = 0, halved = 0;
};

}  // namespace warpmer::table
