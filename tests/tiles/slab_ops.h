#pragma once
/// The slab hash and its allocator on each tile, behind plain interfaces, so that one suite (slab_suite.h)
/// runs for threads and for GPUs. Operations of all kinds run in one batch; only their answers matter, and
/// the times at which each began and ended.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace warpmer::tests {

enum class SlabOperation : std::uint32_t {
  insert,
  replace,
  erase,
  find,
  subtract,   ///< for tables of counts
  erase_all,  ///< for tables of elements, as is the next
  find_all,
};

struct SlabRequest {
  SlabOperation operation;
  std::uint32_t key;
  std::uint32_t n;  ///< a count or a value
};

struct SlabAnswer {
  std::uint32_t placed = 0;  ///< for insert and replace: number placed; for subtract: it was done
  std::uint32_t there = 0;   ///< number of elements before, or whether the key was there; for insert into a
                             ///< table of elements: nothing
  std::uint32_t value = 0;   ///< the count, or the value of the first element, before
  std::uint32_t padding = 0;
  std::uint64_t began = 0, ended = 0;  ///< times by one clock
};

struct SlabElement {
  std::uint32_t key, value;
  friend bool operator==(const SlabElement&, const SlabElement&) = default;
};

/// Keys with counts, or elements as in the paper.
enum class SlabKind { counts, pairs, keys };

struct SlabShape {
  std::uint32_t buckets;
  std::uint32_t units;         ///< units of each super block
  std::uint32_t super_blocks;  ///< 1: an allocator with one contiguous arena; more: with super blocks
  std::uint32_t seed = 1;
};

/// Elements and slabs that a flush of all buckets made free.
struct FlushedSlabs {
  std::uint32_t elements, slabs;
};

class SlabTable {
 public:
  virtual ~SlabTable() = default;
  /// Runs requests on one tile, one after another.
  virtual std::vector<SlabAnswer> run(const std::vector<SlabRequest>& requests) = 0;
  /// Runs requests on many tiles side by side: neighbours in the array are served by different tiles, or by
  /// the same one in work sharing. On a GPU, all tiles work in one launch.
  virtual std::vector<SlabAnswer> run_at_once(const std::vector<SlabRequest>& requests) = 0;
  /// Returns the elements of a bucket, first to last.
  virtual std::vector<SlabElement> bucket(std::uint32_t number) = 0;
  virtual std::uint32_t length(std::uint32_t bucket) = 0;
  /// Flushes all buckets on many tiles.
  virtual FlushedSlabs flush() = 0;
  virtual std::uint32_t units_taken() = 0;
};

struct SlabOnTile {
  std::string name;
  SlabKind kind;
  int slots;       ///< slots in a slab
  bool is_shared;  ///< several tiles may work on a table
  /// The number of events of a key in a history that is to be explained; it is small if all of them may be at
  /// the same time.
  std::uint32_t events_per_key;
  std::unique_ptr<SlabTable> (*make)(SlabShape);
};

/// An allocator with its memory.
class AllocatorUnderTest {
 public:
  virtual ~AllocatorUnderTest() = default;
  /// Lets `workers` tiles side by side ask for `each` units; returns all answers.
  virtual std::vector<std::uint32_t> allocate(std::uint32_t workers, std::uint32_t each) = 0;
  /// Frees units on many tiles side by side.
  virtual void free(const std::vector<std::uint32_t>& addresses) = 0;
  /// Lets `workers` tiles side by side take a few units, mark them as theirs, look at the marks and give the
  /// units back, again and again. Returns the number of times that a mark was another's, and adds to
  /// `refused` the number of times that there was no unit.
  virtual std::uint64_t churn(std::uint32_t workers, std::uint32_t rounds, std::uint64_t& refused) = 0;
  /// Returns the number of super blocks that hashes choose from.
  virtual std::uint32_t in_use() = 0;
};

struct AllocatorOnTile {
  std::string name;
  std::uint32_t workers;  ///< tiles side by side
  /// Makes an allocator, the light one if `super_blocks` is 1.
  std::unique_ptr<AllocatorUnderTest> (*make)(std::uint32_t super_blocks, std::uint32_t units);
};

std::vector<SlabOnTile> host_slab_tables();
std::vector<AllocatorOnTile> host_allocators();
// The following are in GPU tests only.
std::vector<SlabOnTile> cuda_slab_tables();
/// Returns tables with keys of 128 bits, which need compute capability 9.0.
std::vector<SlabOnTile> cuda_wide_slab_tables();
std::vector<AllocatorOnTile> cuda_allocators();

}  // namespace warpmer::tests
