#pragma once
/// The slab hash and its allocator on each tile, behind plain interfaces, so that one suite (slab_suite.h)
/// runs for threads and for GPUs. Operations of all kinds run in one batch: they are what is said of them
/// that matters, and when each began and ended.

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
  subtract,   ///< of tables of counts
  erase_all,  ///< of tables of elements, as the next
  find_all,
};

struct SlabRequest {
  SlabOperation operation;
  std::uint32_t key;
  std::uint32_t n;  ///< a count or a value
};

struct SlabAnswer {
  std::uint32_t placed = 0;  ///< of insert and replace; of subtract: it was done
  std::uint32_t there = 0;   ///< how many elements (or whether the key) there were before; of insert into a
                             ///< table of elements: nothing
  std::uint32_t value = 0;   ///< the count, or the value of the first element, before
  std::uint32_t padding = 0;
  std::uint64_t began = 0, ended = 0;  ///< by one clock
};

struct SlabElement {
  std::uint32_t key, value;
  friend bool operator==(const SlabElement&, const SlabElement&) = default;
};

/// Keys with counts, or elements as in the paper.
enum class SlabKind { counts, pairs, keys };

struct SlabShape {
  std::uint32_t buckets;
  std::uint32_t units;         ///< of each super block
  std::uint32_t super_blocks;  ///< 1: an allocator with one contiguous arena; more: with super blocks
  std::uint32_t seed = 1;
};

class SlabTable {
 public:
  virtual ~SlabTable() = default;
  /// One tile, one request after another.
  virtual std::vector<SlabAnswer> run(const std::vector<SlabRequest>& requests) = 0;
  /// By many tiles side by side: neighbours in the array are served by different ones, or by the same in
  /// work sharing. What the tiles of a GPU are to do is one launch.
  virtual std::vector<SlabAnswer> run_at_once(const std::vector<SlabRequest>& requests) = 0;
  /// What is in a bucket, first to last.
  virtual std::vector<SlabElement> bucket(std::uint32_t number) = 0;
  virtual std::uint32_t length(std::uint32_t bucket) = 0;
  /// All buckets, many tiles; returns how many slabs were given back.
  virtual std::uint32_t flush() = 0;
  virtual std::uint32_t units_taken() = 0;
};

struct SlabOnTile {
  std::string name;
  SlabKind kind;
  int slots;       ///< in a slab
  bool is_shared;  ///< several tiles may work on a table
  /// In a history that is to be explained: few where all of them may be at the same time.
  std::uint32_t events_per_key;
  std::unique_ptr<SlabTable> (*make)(SlabShape);
};

/// An allocator with its memory.
class AllocatorUnderTest {
 public:
  virtual ~AllocatorUnderTest() = default;
  /// `workers` tiles side by side ask for `each` units; all answers.
  virtual std::vector<std::uint32_t> allocate(std::uint32_t workers, std::uint32_t each) = 0;
  /// Many tiles side by side.
  virtual void free(const std::vector<std::uint32_t>& addresses) = 0;
  /// `workers` tiles side by side take a few units, mark them as theirs, look at the marks and give the
  /// units back, again and again. Returns how often a mark was another's, and adds to `refused` how
  /// often there was no unit.
  virtual std::uint64_t churn(std::uint32_t workers, std::uint32_t rounds, std::uint64_t& refused) = 0;
  /// Super blocks that hashes choose from.
  virtual std::uint32_t in_use() = 0;
};

struct AllocatorOnTile {
  std::string name;
  std::uint32_t workers;  ///< tiles side by side
  /// With `super_blocks` of 1 the light one.
  std::unique_ptr<AllocatorUnderTest> (*make)(std::uint32_t super_blocks, std::uint32_t units);
};

std::vector<SlabOnTile> host_slab_tables();
std::vector<AllocatorOnTile> host_allocators();
// In GPU tests only.
std::vector<SlabOnTile> cuda_slab_tables();
/// Keys of 128 bits: compute capability 9.0.
std::vector<SlabOnTile> cuda_wide_slab_tables();
std::vector<AllocatorOnTile> cuda_allocators();

}  // namespace warpmer::tests
