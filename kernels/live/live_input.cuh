#pragma once
/// What comes to a live table on GPUs: k-mers of texts, and of an index.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "backend/lookup/kmer_text.h"
#include "base/thread_team.h"
#include "groups/group_key.h"
#include "index/index_file.h"
#include "io/text/batch.h"
#include "kmer/alphabet.h"
#include "kmer/kmer.h"

namespace warpmer::gpu {

/// Returns a k-mer given as text, which is one, as it is counted.
template <class Key>
Key kmer_of(std::string_view text, const KmerParams& kmers) {
  Key kmer = 0;
  kmer_from_text(text, kmer);
  return kmers.canonical ? canonical(kmer, kmers.k) : kmer;
}

/// Returns those that are asked for. UsageError for a text that is no k-mer.
template <class Key>
std::vector<Key> kmers_of(std::span<const std::string_view> texts, const KmerParams& kmers) {
  std::vector<Key> all;
  all.reserve(texts.size());
  for (const std::string_view text : texts) {
    backend::require_kmer(text, kmers.k);
    all.push_back(kmer_of<Key>(text, kmers));
  }
  return all;
}

/// Throws the InputError for the first character of a batch that is no nucleotide code.
inline void check_bases(const io::Batch& batch) {
  for (const io::Piece& piece : batch.pieces) {
    const std::string_view bases = batch.bases(piece);
    const auto bad =
        std::find_if(bases.begin(), bases.end(), [](char c) { return char_class(c) == CharClass::invalid; });
    if (bad != bases.end()) io::throw_bad_base(batch, piece, static_cast<std::size_t>(bad - bases.begin()));
  }
}

/// A shard of an index: k-mers as they are counted, and their counts.
template <class Key>
struct IndexedShard {
  std::uint32_t number = 0;
  std::vector<Key> kmers;
  std::vector<std::uint32_t> counts;  ///< of no use when `largest` has more than 32 bits
  std::uint64_t largest = 0;          ///< of the counts
};

/// Calls `visit(shard)` for each shard of an index, on so many threads, in any order.
template <class Key, class Visit>
void for_each_shard_of(const index::IndexFile& index, unsigned threads, Visit&& visit) {
  std::atomic<std::uint32_t> next{0};
  std::atomic<bool> has_failed{false};
  run_team(
      threads,
      [&](unsigned) {
        const groups::GroupKeys<Key, Key> keys(index.params().k);
        groups::GroupKmers<Key> group(keys.shape().flank_bases());
        IndexedShard<Key> shard;
        while (!has_failed && (shard.number = next++) < index.params().shards()) {
          shard.kmers.clear();
          shard.counts.clear();
          shard.largest = 0;
          groups::for_each_key(index.strings(shard.number), keys, group, [&](Key key, std::uint64_t count) {
            const Key kmer = keys.template kmer<Key>({shard.number, key});
            shard.kmers.push_back(index.params().canonical ? canonical(kmer, keys.shape().k) : kmer);
            shard.counts.push_back(static_cast<std::uint32_t>(count));
            shard.largest = std::max(shard.largest, count);
          });
          index.release(shard.number);
          visit(shard);
        }
      },
      [&] { has_failed = true; });
}

}  // namespace warpmer::gpu
