#pragma once
/// HashGraphs as tables under test, on CPUs and GPUs: their kinds, and their answers. Building takes keys and
/// values as two arrays; probing leaves, for each query, the place of the first entry that matches and the
/// number of such entries, as in the paper (Green 2019, section 5.4: lists of results are not made). Both
/// conversions are not timed. Making probe-new's graph of the queries is timed.

#include <cstdint>

#include "kmer/platform.h"
#include "table/hash_graph.h"
#include "tables/keys.h"
#include "tables/table_under_test.h"

namespace warpmer::bench {

struct HashGraphKind {
  const char* name;
  table::HashGraphVersion version;
  bool grouped;  ///< entries of a bucket in order, so that a key's are adjacent
  bool probes_new;
  std::uint32_t bins = 0;  ///< of V2; 0: as many as are best on the device
};

inline constexpr HashGraphKind kHashGraphKinds[] = {
    {"hashgraph-v1", table::HashGraphVersion::v1, false, false},
    {"hashgraph-v2", table::HashGraphVersion::v2, false, false},
    {"hashgraph-v2-new", table::HashGraphVersion::v2, false, true},
    {"hashgraph-v2-grouped", table::HashGraphVersion::v2, true, false},
    {"hashgraph-v2-grouped-new", table::HashGraphVersion::v2, true, true},
    {"hashgraph-v2-32-bins", table::HashGraphVersion::v2, false, false, 32},
    {"hashgraph-v2-256-bins", table::HashGraphVersion::v2, false, false, 256},
    {"hashgraph-v2-1024-bins", table::HashGraphVersion::v2, false, false, 1024},
    {"hashgraph-v2-4096-bins", table::HashGraphVersion::v2, false, false, 4096},
    {"hashgraph-v2-8192-bins", table::HashGraphVersion::v2, false, false, 8192},
};

/// The largest useful number of entries per bucket.
inline constexpr double kMostHashGraphLoad = 16;

constexpr Configuration hash_graph_configuration(const HashGraphKind& kind) {
  return {.table = kind.name,
          .group = 1,
          .bucket = 0,
          .window = 0,
          .hashes = 1,
          .most_load = kMostHashGraphLoad,
          .element_bytes = 8,
          // Without groups a query walks all entries of its key, and probe-new all queries of it, too.
          .repeats = kind.grouped ? Repeats::any : Repeats::evenly,
          .keeps_repeats = true,
          .has_first_bucket = false,
          .counts_probes = false,
          .serves = false};
}

/// Returns the answer to a lookup that has found so many entries: for unique keys the value; for others,
/// whose values are 1, their sum.
template <class Value>
WARPMER_HD std::uint32_t answer_of_matches(std::uint32_t first, std::uint32_t count, bool distinct,
                                           const Value* values) {
  if (count == 0) return kAbsent;
  if (!distinct) return count;
  return count == 1 ? values[first] : kAbsent - 1;  // no value is like this
}

}  // namespace warpmer::bench
