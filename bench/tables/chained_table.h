#pragma once
/// A lock-free hash table of linked lists, which the slab hash is compared with (Ashkiani et al. 2018, Fig.
/// 7b). It is of the kind of Misra and Chaudhuri's (2012): a node has one element, nodes are numbers in an
/// array that is there from the start, and each thread works by itself. It is no table of warpmer's.

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "kmer/platform.h"
#include "table/hash_graph.h"
#include "tables/keys.h"
#include "tables/table_under_test.h"

namespace warpmer::bench {

inline constexpr std::uint32_t kNoNode = ~0u;
/// The largest useful number of elements for each list.
inline constexpr double kMostChainedLoad = 16;

struct alignas(16) ChainNode {
  std::uint64_t element;  ///< table::word_of key and value; kAbsent as a value: it was erased
  std::uint64_t next;  ///< number of a node, or kNoNode; as wide as the element, so that no byte is padding
};

/// `Atomics` says how a machine reads and changes words that are shared:
///   load(const std::uint32_t*), load(const ChainNode*): what other threads have written, at the latest
///   before
///     they put the node into a list;
///   compare_and_swap(std::uint32_t*, expected, desired): returns what was met; nodes written before are seen
///     by whom finds the new one;
///   exchange(std::uint64_t*, desired): returns what was there.
///
/// A node once in a list stays there, with its key, so a key has one node. Nodes come in at the front; a
/// thread that is overtaken looks at what has come since.
template <class Atomics>
class ChainedTable {
 public:
  using BucketOf = table::HashedBucket<Key32>;

  ChainedTable(std::uint32_t* heads, BucketOf bucket_of, ChainNode* nodes)
      : heads_(heads), bucket_of_(bucket_of), nodes_(nodes) {}

  /// Sets the value of the pair's key, and returns the one that was there, or kAbsent. `mine` is a node that
  /// nobody uses; it may become the key's.
  WARPMER_HD std::uint32_t replace(std::uint64_t pair, std::uint32_t mine) const {
    const Key32 key = table::key_of(pair);
    std::uint32_t* const head = heads_ + bucket_of_(key);
    std::uint32_t first = Atomics::load(head), seen = kNoNode;
    for (;;) {
      const std::uint32_t node = node_of(key, first, seen);
      if (node != kNoNode) return table::count_of(Atomics::exchange(&nodes_[node].element, pair));
      nodes_[mine] = {pair, first};
      const std::uint32_t met = Atomics::compare_and_swap(head, first, mine);
      if (met == first) return kAbsent;
      seen = first;
      first = met;
    }
  }
  /// Returns the value that it took away, or kAbsent.
  WARPMER_HD std::uint32_t erase(Key32 key) const {
    const std::uint32_t node = node_of(key, Atomics::load(heads_ + bucket_of_(key)), kNoNode);
    if (node == kNoNode) return kAbsent;
    return table::count_of(Atomics::exchange(&nodes_[node].element, table::word_of({key, kAbsent})));
  }
  [[nodiscard]] WARPMER_HD std::uint32_t find(Key32 key) const {
    std::uint32_t node = Atomics::load(heads_ + bucket_of_(key));
    while (node != kNoNode) {
      const ChainNode one = Atomics::load(nodes_ + node);
      if (table::key_of(one.element) == key) return table::count_of(one.element);
      node = static_cast<std::uint32_t>(one.next);
    }
    return kAbsent;
  }
  WARPMER_HD std::uint32_t serve(const Operation& operation, std::uint32_t mine) const {
    if (operation.kind == OperationKind::find) return find(operation.key);
    if (operation.kind == OperationKind::erase) return erase(operation.key);
    return replace(table::word_of({operation.key, operation.value}), mine);
  }

 private:
  /// Looks for the key's node from `node` on, up to `end`.
  [[nodiscard]] WARPMER_HD std::uint32_t node_of(Key32 key, std::uint32_t node, std::uint32_t end) const {
    while (node != end) {
      const ChainNode one = Atomics::load(nodes_ + node);
      if (table::key_of(one.element) == key) return node;
      node = static_cast<std::uint32_t>(one.next);
    }
    return kNoNode;
  }

  std::uint32_t* heads_;
  BucketOf bucket_of_;
  ChainNode* nodes_;
};

/// Its load is elements by lists. Operation i of a job has the i-th node of those that are left.
inline constexpr Configuration kChainedConfiguration = {.table = "chained",
                                                        .group = 1,
                                                        .bucket = 0,
                                                        .window = 0,
                                                        .hashes = 1,
                                                        .most_load = kMostChainedLoad,
                                                        .element_bytes = 8,
                                                        .repeats = Repeats::none,
                                                        .keeps_repeats = false,
                                                        .has_first_bucket = false,
                                                        .counts_probes = false,
                                                        .serves = true,
                                                        .replaces = true};

/// Hands out the nodes of a table.
class NodeSupply {
 public:
  explicit NodeSupply(std::size_t nodes) : nodes_(nodes) {}
  void clear() { used_ = 0; }
  [[nodiscard]] std::size_t used() const { return used_; }
  /// Returns the first of so many nodes.
  std::uint32_t take(std::size_t n) {
    if (n > nodes_ - used_) throw InternalError("a chained table has fewer nodes than operations");
    used_ += n;
    return static_cast<std::uint32_t>(used_ - n);
  }

 private:
  std::size_t nodes_, used_ = 0;
};

}  // namespace warpmer::bench
