#pragma once
/// The interface of a table in the table experiments, whatever its scheme and wherever it lies. A new table
/// is one file that derives from TableUnderTest, describes itself in a TableList, and is named in
/// table_lists.h, and in host_tables.cpp or gpu/gpu_tables.cu.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/error.h"
#include "table/word_slots.h"

namespace warpmer::bench {

/// The number of times that a key may come among the pairs of one table.
enum class Repeats {
  none,
  evenly,  ///< no more often than uniform draws repeat it: a key that comes 10^5 times would take 10^10 steps
  any,
};

/// The properties that tell one table from another.
struct Configuration {
  const char* table;      ///< the name that --table takes
  int group;              ///< lanes that work on a key together; 1 on CPUs
  int bucket;             ///< slots that they look at together; 0: it has none
  int window;             ///< slots that are walked before the next hash; 0: the bucket
  int hashes;             ///< functions that name a key's places; 0: as many as it takes
  double most_load;       ///< higher loads are not tried
  int element_bytes = 8;  ///< bytes of a key with its value, without which there would be nothing to look up
  Repeats repeats = Repeats::any;
  bool keeps_repeats = false;    ///< every pair is an element, also those of the same key
  bool has_first_bucket = true;  ///< takes the hints `ahead` and `split`
  bool counts_probes = true;
  bool serves = false;    ///< has TableUnderTest::serve
  bool replaces = false;  ///< can keep the value that was written last
};

/// Numbers that are counted in the device's memory.
struct Totals {
  unsigned long long overflow;  ///< keys that found no place
  unsigned long long probes;    ///< buckets looked at
};

/// Pairs to be inserted, in the device's memory.
struct Insertions {
  const std::uint64_t* pairs;  ///< table::word_of key and value
  std::size_t size;
  bool distinct;  ///< each key comes once, and gets its value; else values are added up
  bool replaces;  ///< a key that comes again gets the new value instead
  bool count_probes;
  bool ahead;  ///< fetch the next key's first bucket before it is its turn
  bool split;  ///< first put pairs roughly in order of their first buckets, as part of the insertion
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

enum class OperationKind : std::uint32_t { replace, erase, find };

/// One of several kinds of operations that run side by side.
struct Operation {
  OperationKind kind;
  table::Key32 key;
  std::uint32_t value;  ///< the value of `replace`
};
/// The answer of `replace` when it found no room. No value is like this.
inline constexpr std::uint32_t kRefused = ~0u - 1;
/// The answer of `replace` when the key was there and its table does not tell the old value.
inline constexpr std::uint32_t kReplaced = ~0u - 2;

/// Operations in the device's memory, all different keys.
struct Operations {
  const Operation* operations;
  std::size_t size;
  std::uint32_t* answers;  ///< the value that was there before, or kAbsent
};

/// The plan for building a table.
struct TablePlan {
  std::size_t distinct;    ///< keys
  double load;             ///< load of the slots when all keys are in
  std::size_t most_pairs;  ///< most pairs that are inserted at a time, or one after another
};

/// One table. Work may still be under way when a call returns; the caller that times it waits.
class TableUnderTest {
 public:
  virtual ~TableUnderTest() = default;
  // These are asked after a build: a table that grows has the size to which it has grown.
  [[nodiscard]] virtual std::size_t slots() const = 0;  ///< number of slots; the load is elements by slots
  [[nodiscard]] virtual std::size_t bytes() const = 0;  ///< bytes of memory that lookups need
  /// Empties it, for a build with other hash functions. Not timed.
  virtual void clear(std::uint32_t seed) = 0;
  /// Brings pairs into the form in which the table takes them. Not timed; the next `insert` is of this job.
  virtual void prepare(const Insertions& /*job*/) {}
  virtual void insert(const Insertions& job) = 0;
  /// Is called after all insertions, before lookups. Not timed. Returns false if the build needed more than
  /// the paper's scheme has, such as a stash.
  virtual bool finish() = 0;
  virtual void find(const Lookups& job) = 0;
  /// Turns the results of `find` into answers, if they are not answers yet. Not timed.
  virtual void collect(const Lookups& /*job*/) {}
  /// Runs operations of different kinds, side by side.
  virtual void serve(const Operations& /*job*/) {
    throw InternalError("this table has no operations side by side");
  }
};

/// One entry of a list: a table and how to make it.
struct TableEntry {
  Configuration configuration;
  std::unique_ptr<TableUnderTest> (*make)(const TablePlan& plan);
};

using TableList = std::span<const TableEntry>;

}  // namespace warpmer::bench
