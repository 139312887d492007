#pragma once
/// What the table experiments ask of a table, whatever its scheme and wherever it lies. A new table is one
/// file that derives from TableUnderTest, describes itself in a TableList, and is named in table_lists.h, and
/// in host_tables.cpp or gpu_tables.cu.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "table/word_slots.h"

namespace warpmer::bench {

/// What tells one table from another.
struct Configuration {
  const char* table;  ///< the name that --table takes
  int group;          ///< lanes that work on a key together; 1 on CPUs
  int bucket;         ///< slots that they look at together
  int window;         ///< slots that are walked before the next hash; 0: the bucket
  int hashes;         ///< functions a key's places are named by; 0: as many as it takes
  double most_load;   ///< more than this is not tried unless it is asked for by name
};

/// Counted in the device's memory.
struct Totals {
  unsigned long long homeless;  ///< keys that found no place
  unsigned long long probes;    ///< buckets looked at
};

/// Pairs to be inserted, in the device's memory.
struct Insertions {
  const std::uint64_t* pairs;  ///< table::word_of key and value
  std::size_t size;
  bool distinct;  ///< each key comes once, and gets its value; else values are added up
  bool count_probes;
  bool ahead;  ///< fetch the next key's first bucket before it is its turn
  bool split;  ///< put pairs in order of their first buckets, roughly, before; as part of the insertion
  Totals* totals;
};

/// Keys to be looked up, in the device's memory.
struct Lookups {
  const table::Key32* keys;
  std::size_t size;
  std::uint32_t* answers;  ///< the values, or kAbsent
  bool count_probes;
  bool ahead;
  Totals* totals;
};

/// What a table is built for.
struct TablePlan {
  std::size_t distinct;    ///< keys
  double load;             ///< of the slots, when all are in
  std::size_t most_pairs;  ///< inserted at a time
};

/// One table. Work may still be under way when a call returns; who times it waits.
class TableUnderTest {
 public:
  virtual ~TableUnderTest() = default;
  [[nodiscard]] virtual std::size_t slots() const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;  ///< of memory that lookups need
  /// Empties it, for a build with other hash functions. Not timed.
  virtual void clear(std::uint32_t seed) = 0;
  virtual void insert(const Insertions& job) = 0;
  /// After all insertions, before lookups. Not timed. False: it took more than the scheme of the paper has,
  /// such as a stash.
  virtual bool finish() = 0;
  virtual void find(const Lookups& job) = 0;
};

/// One entry of a list: a table and how to make it.
struct TableEntry {
  Configuration configuration;
  std::unique_ptr<TableUnderTest> (*make)(const TablePlan& plan);
};

using TableList = std::span<const TableEntry>;

}  // namespace warpmer::bench
