#pragma once
/// The inner loops of the CPU backend. One source (kernels_*body.h) is compiled
/// for several instruction sets; `best_kernels` picks at run time. Kernels see raw memory only and
/// allocate nothing: what they are given belongs to the callers in shard_counter.h, in the tables that
/// that includes, and in flanked_cutter.h.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/simd/word_format.h"
#include "groups/flanked_word.h"
#include "groups/shard_bits.h"
#include "table/tile.h"

namespace warpmer::cpu {

/// K-mers a cut works on at a time (its scratch stays in the first-level cache).
inline constexpr std::size_t kCutKmers = 1024;
/// m-mer hashes of one such stretch, for the largest window, rounded up for vector code.
inline constexpr std::size_t kCutScratch = kCutKmers + 64 + 128;

/// Keys a kernel inserts between two looks at the table's size.
inline constexpr std::size_t kInsertKeys = 256;

struct FlankedCutParams {
  std::uint32_t k;
  bool canonical;
};

/// Elements of scratch that a cut around minimizers needs.
inline constexpr std::size_t kFlankedCutScratch = 5 * kCutScratch;
/// Elements past the last super-k-mer that it may write to in each array of its list.
inline constexpr std::size_t kFlankedPastEnd = 8;

/// Super-k-mers around minimizers, as they come out of the cut: the shard of each, the number of its first
/// base in the packed text, and whether its left flank stands first there.
template <int Words>
struct FlankedList {
  groups::FlankedWord<Words>* words;
  std::uint16_t* shards;
  std::uint32_t* starts;
  std::uint8_t* is_forward;
  std::size_t size;
};

/// A super-k-mer that is looked up: what FlankedList has of it, in one place.
template <int Words>
struct AskedSuperKmer {
  groups::FlankedWord<Words> word;
  std::uint32_t start;
  std::uint16_t shard;
  bool is_forward;
};

/// Stands for this count and all larger ones where lookups write counts.
inline constexpr std::uint32_t kLargeCount = UINT32_MAX - 1;

/// Slots per window of the counting tables.
template <class Key>
inline constexpr int kTableWindow = sizeof(Key) == 8 ? 8 : 4;

/// Notes that a kernel takes of a counting table: how full it is, and what it could not hold. The lists have
/// `kListCapacity` entries; a kernel returns to its caller before they can overflow.
template <class KeyType>
struct TableNotes {
  using Key = KeyType;
  static constexpr std::size_t kListCapacity = 4096;
  std::uint32_t key_bits;
  std::size_t size;               ///< distinct keys in the slots
  std::size_t limit;              ///< size beyond which the table should grow
  std::uint64_t empty_key_count;  ///< occurrences of the key that marks empty slots
  Key* overflow;                  ///< keys that found no place
  std::uint32_t* overflow_counts;
  std::size_t overflow_size;
  Key* carries;  ///< keys whose count passed 2^32, once for each time
  std::size_t carries_size;
};

/// True when so many more keys may be inserted before the caller has to look after the table.
template <class Key>
[[gnu::always_inline]] inline bool has_room(const TableNotes<Key>& table, std::size_t keys) {
  return table.size + keys <= table.limit && table.overflow_size + keys <= TableNotes<Key>::kListCapacity &&
         table.carries_size + keys <= TableNotes<Key>::kListCapacity;
}

/// WarpDrive, in windows that are ordered by hash.
template <class Key>
struct CountingTable : TableNotes<Key> {
  table::Slots<Key> slots;
  std::uint32_t window_bits;
};

/// A word has so many k-mers, at most.
template <int Words>
inline constexpr std::size_t kMostWordKmers = 16 * Words;

/// A small cache of super-k-mers in front of the counting: equal ones, of which deep coverage makes many, are
/// expanded once with their number. It is lossy on purpose: a word that finds its set full throws an older
/// one out.
template <int Words>
struct Combiner {
  static constexpr int kWays = 64 / static_cast<int>(sizeof(StoredFlankedWord<Words>));
  StoredFlankedWord<Words>* words;
  std::uint32_t* counts;   ///< 0: free
  std::uint32_t set_bits;  ///< 2^set_bits sets of kWays words
  std::uint64_t hits;      ///< words that were there already
};

/// K-mer hashes on their way into a table or into buckets, each with the number of words that held it.
template <class Key>
struct HashList {
  Key* keys;
  std::uint32_t* weights;
  std::size_t size;
  std::uint32_t weights_or;  ///< all weights, or-ed: no weight has a bit that this has not
};

/// A shard's hashes sorted as far as their top bits go: a HashGraph as in Green 2019. The bucket's
/// number replaces the top bits of its hashes, which leaves room for the weights.
template <class Key>
struct Buckets {
  Key* entries;               ///< the rest of the hash, and below it `weight_bits` bits of weight
  std::uint32_t* ends;        ///< ends of the 2^bits buckets
  std::uint32_t bits;         ///< at least 1
  std::uint32_t rest_bits;    ///< bits of a hash in an entry
  std::uint32_t weight_bits;  ///< at most 32; rest_bits + weight_bits is at most the key's width
  void (*sort)(Key*, Key*);   ///< for the few buckets with very many entries
};

/// Kernels that depend on key and word width.
template <class Key, int Words>
struct ShardKernels {
  /// Takes words[0, n), which have nothing behind their flanks, into the combiner. Writes what is thrown out,
  /// with its number, to the evicted arrays, which have room for n + 1, and returns how many words that are.
  std::size_t (*combine)(Combiner<Words>&, const StoredFlankedWord<Words>* words, std::size_t n,
                         StoredFlankedWord<Words>* evicted, std::uint32_t* evicted_counts);
  /// Appends the hashes (KmerHash) of the keys (groups::GroupKeys) of the words' k-mers, all with their
  /// word's count (1 where `counts` is null). The list has room for kMostWordKmers<Words> times n more, and 8
  /// besides.
  void (*append)(const StoredFlankedWord<Words>* words, const std::uint32_t* counts, std::size_t n,
                 std::uint32_t k, HashList<Key>&);
  /// Inserts the list's hashes from number `first` on into the table. Returns the number of the first
  /// one not inserted: the size, or less when the table has to grow (or its lists to be emptied).
  std::size_t (*insert)(CountingTable<Key>&, const HashList<Key>&, std::size_t first);
  /// Counts, scans and places the hashes of a list. Weights have at most `weight_bits` bits.
  void (*place)(const HashList<Key>&, Buckets<Key>&);
  /// Sorts the buckets and adds up what is equal: writes distinct keys in increasing order with their
  /// counts, and returns how many. Both arrays have room for 8 more; reads entries 8 past the last.
  std::size_t (*reduce)(const Buckets<Key>&, Key* keys, std::uint64_t* counts);
  /// Inserts all entries of `from`, and `n` more, into the (larger, empty) table `to`.
  void (*rehash)(const CountingTable<Key>& from, const Key* more, const std::uint32_t* more_counts,
                 std::size_t n, CountingTable<Key>& to);
  /// Writes the entries of all windows in increasing key order to keys and counts, except those that
  /// live outside their home window: they go, in any order, to the displaced arrays. Each array has room
  /// for `size` + kTableWindow. Returns the number of displaced.
  std::size_t (*harvest)(const CountingTable<Key>&, Key* keys, std::uint64_t* counts, Key* displaced_keys,
                         std::uint64_t* displaced_counts);
};

/// The instruction sets; where it is no x86, there is only the first, which then is the machine's own.
enum class Isa : std::uint8_t { v2, avx2, avx512 };

struct Kernels {
  const char* name;
  Isa isa;
  /// Packs text, 32 bases a word, base i of the text in bits 2 * (i % 32). Sets bit i of `breaks`
  /// for characters that are no bases, and returns whether there are any. Reads up to 63 characters
  /// past the end; writes whole groups of 64 bases.
  bool (*pack)(const char* text, std::size_t length, std::uint64_t* packed, std::uint64_t* breaks);
  /// Cut the k-mers of bases [first, first + bases) of a packed text, at most kCutKmers of them, into
  /// super-k-mers around minimizers (groups/flanked_cut.h), and append these to the list, which has room for
  /// kCutKmers more, and kFlankedPastEnd besides. `packed` is readable for two words before the text, and
  /// four past the last base; `scratch` has kFlankedCutScratch elements. The first is for k up to
  /// groups::kMaxNarrowFlanksK, the second for longer.
  void (*cut_flanked2)(const std::uint64_t* packed, std::size_t first, std::size_t bases,
                       const FlankedCutParams&, std::uint32_t* scratch, FlankedList<2>&);
  void (*cut_flanked4)(const std::uint64_t* packed, std::size_t first, std::size_t bases,
                       const FlankedCutParams&, std::uint32_t* scratch, FlankedList<4>&);
  /// Looks up `size` super-k-mers in the shards of an index. Writes the counts of a super-k-mer's k-mers, 0
  /// for those that are not there, to `counts` from its start on, in the order of the text. Returns whether
  /// there are large ones. It is fastest when those of a shard follow each other.
  bool (*find_strings2)(const groups::ShardBits* shards, std::uint32_t k, const AskedSuperKmer<2>* asked,
                        std::size_t size, std::uint32_t* counts);
  bool (*find_strings4)(const groups::ShardBits* shards, std::uint32_t k, const AskedSuperKmer<4>* asked,
                        std::size_t size, std::uint32_t* counts);
  ShardKernels<Key64, 2> narrow;
  ShardKernels<Key128, 2> wide;
  ShardKernels<Key128, 4> wide_long;

  template <class Key, int Words>
  [[nodiscard]] const ShardKernels<Key, Words>& shard() const {
    if constexpr (sizeof(Key) == 8) {
      return narrow;
    } else if constexpr (Words == 2) {
      return wide;
    } else {
      return wide_long;
    }
  }
};

/// Kernels this machine can run, the slowest first: "x86-64-v2", "avx2", "avx512"; where it is no x86,
/// "generic".
std::vector<const Kernels*> available_kernels();

/// Returns the fastest of them, or the one named by the environment variable WARPMER_ISA (for tests and
/// measurements); UsageError when that one cannot run here.
const Kernels& best_kernels();

}  // namespace warpmer::cpu
