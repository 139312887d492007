#pragma once
/// The inner loops of the CPU backend. One source (kernels_*body.h) is compiled for several instruction sets;
/// `best_kernels` picks at run time. Kernels see raw memory only and allocate nothing: what they are given
/// belongs to their callers.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/simd/word_format.h"
#include "groups/flanked_word.h"
#include "groups/quick_place.h"
#include "groups/shard_bits.h"

namespace warpmer::cpu {

/// K-mers a cut works on at a time (its scratch stays in the first-level cache).
inline constexpr std::size_t kCutKmers = 1024;
/// m-mer hashes of one such stretch, for the largest window, rounded up for vector code.
inline constexpr std::size_t kCutScratch = kCutKmers + 64 + 128;

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

/// A word has so many k-mers, at most.
template <int Words>
inline constexpr std::size_t kMostWordKmers = 16 * Words;

/// Hashes, or keys of groups, on their way into a table or into buckets, each with a count.
template <class Key>
struct HashList {
  Key* keys;
  std::uint32_t* weights;
  std::size_t size;
  std::uint32_t weights_or;  ///< all weights, or-ed: no weight has a bit that this has not
};

/// A list's content, sorted as far as its top bits go: a HashGraph as in Green 2019. The bucket's number
/// replaces the top bits of its keys, which leaves room for the weights.
template <class Key>
struct Buckets {
  Key* entries;               ///< the rest of the key, and below it `weight_bits` bits of weight
  std::uint32_t* ends;        ///< ends of the 2^bits buckets
  std::uint32_t bits;         ///< at least 1
  std::uint32_t rest_bits;    ///< bits of a key in an entry
  std::uint32_t weight_bits;  ///< at most 32; rest_bits + weight_bits is at most the key's width
  void (*sort)(Key*, Key*);   ///< for the few buckets with very many entries
};

/// Kernels that depend on key and word width.
template <class Key, int Words>
struct ShardKernels {
  /// Appends the hashes (KmerHash) of the keys (groups::GroupKeys) of the words' k-mers, all with their
  /// word's count (1 where `counts` is null). The list has room for kMostWordKmers<Words> times n more, and 8
  /// besides.
  void (*append)(const StoredFlankedWord<Words>* words, const std::uint32_t* counts, std::size_t n,
                 std::uint32_t k, HashList<Key>&);
  /// Counts, scans and places the keys of a list. Weights have at most `weight_bits` bits.
  void (*place)(const HashList<Key>&, Buckets<Key>&);
  /// Sorts the buckets and adds up what is equal: writes distinct keys in increasing order with their
  /// counts, and returns how many. Both arrays have room for 8 more; reads entries 8 past the last.
  std::size_t (*reduce)(const Buckets<Key>&, Key* keys, std::uint64_t* counts);
  /// Finds the minimizers of k-mers, for groups::place_at.
  void (*find_minimizers)(const Key* kmers, std::size_t size, const FlankedCutParams&,
                          groups::SmallestMmer* smallest);
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
  /// super-k-mers around minimizers (bench/flanked_cut.h), and append these to the list, which has room for
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
