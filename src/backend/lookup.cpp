// The part that lookups on all devices share: single k-mers, checks, the layout of a profile.

#include "backend/lookup.h"

#include <fmt/format.h>

#include "backend/index_params.h"
#include "backend/kmer_text.h"
#include "base/error.h"
#include "index/shard_codec.h"
#include "kmer/hash.h"
#include "kmer/minimizer.h"

namespace warpmer::backend {

namespace {

/// Lookups for each k-mer of the index from which on a GPU builds a table. On an H200 building pays for
/// itself after 10 of k-mers that are there, or 16 that are not.
constexpr std::uint64_t kLookupsThatPay = 16;

}  // namespace

LookupTable lookup_table_of(std::string_view name) {
  if (name == "auto") return LookupTable::automatic;
  if (name == "index") return LookupTable::index;
  if (name == "bcht") return LookupTable::bcht;
  if (name == "iceberg") return LookupTable::iceberg;
  throw UsageError(fmt::format("--table must be auto, index, bcht or iceberg, not '{}'", name));
}

LookupTable choose_lookup_table(std::uint64_t distinct, std::uint64_t expected_kmers) {
  return expected_kmers / kLookupsThatPay > distinct ? LookupTable::bcht : LookupTable::index;
}

Lookup::Lookup(const index::IndexFile& index, LookupTable table) : index_(index), table_(table) {
  check_params(index);
}

std::uint64_t Lookup::find(std::string_view text) const {
  const index::IndexParams& params = index_.params();
  const std::uint32_t k = params.k;
  require_kmer(text, k);
  return with_key_type(k, [&]<class Key>(Key kmer) {
    kmer_from_text(text, kmer);
    if (params.canonical) kmer = canonical(kmer, k);
    const std::uint32_t shard = shard_of_kmer(kmer, k, params.canonical, params.shard_bits);
    return index::ShardReader<Key>(index_.shard(shard), k).find(KmerHash<Key>(k)(kmer));
  });
}

void Lookup::lay_out(const io::Batch& batch, Profile& out) const {
  const std::uint32_t k = index_.params().k;
  out.first.assign(1, 0);
  for (const io::Piece& piece : batch.pieces)
    out.first.push_back(out.first.back() + (piece.length < k ? 0 : piece.length - k + 1));
  out.counts.assign(out.first.back(), Profile::kNoKmer);
}

}  // namespace warpmer::backend
