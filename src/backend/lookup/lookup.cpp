// The part that lookups on all devices share: single k-mers, checks, the layout of a profile.

#include "backend/lookup/lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backend/index_params.h"
#include "backend/lookup/kmer_text.h"
#include "base/error.h"
#include "groups/flanked_kmer.h"
#include "groups/group_key.h"
#include "groups/string_lookup.h"
#include "index/shard_codec.h"
#include "kmer/hash.h"
#include "kmer/minimizer.h"
#include "kmer/packed_words.h"

namespace warpmer::backend {

namespace {

/// K-mers as texts that have been checked.
struct KmerTexts {
  std::span<const std::string_view> texts;
  [[nodiscard]] std::size_t size() const { return texts.size(); }
  template <class Key>
  void get(std::size_t i, Key& kmer) const {
    kmer_from_text(texts[i], kmer);
  }
};

/// Packed k-mers.
struct KmerWords {
  const std::uint64_t* words;
  std::size_t kmers;
  [[nodiscard]] std::size_t size() const { return kmers; }
  template <class Key>
  void get(std::size_t i, Key& kmer) const {
    read_packed(words + i * kPackedWords<Key>, kmer);
  }
};

/// For k <= 12: one shard.
template <class Kmers>
void find_in_entries(const index::IndexFile& index, const Kmers& kmers, std::uint64_t* counts) {
  const std::uint32_t k = index.params().k;
  const index::ShardReader reader(index.shard(0), k);
  const KmerHash<Key64> hash(k);
  for (std::size_t i = 0; i < kmers.size(); ++i) {
    Key64 kmer = 0;
    kmers.get(i, kmer);
    *counts++ = reader.find(hash(index.params().canonical ? canonical(kmer, k) : kmer));
  }
}

/// K-mers whose cache misses overlap.
constexpr std::size_t kAtOnce = 32;

/// A k-mer on its way to its group.
template <class Flanks>
struct Asked {
  groups::FlankedSuperKmer<Flanks> kmer;
  groups::ShardBits shard;
  std::uint32_t rest;
};

template <class Key, class Flanks, class Kmers>
void find_in_strings(const index::IndexFile& index, const Kmers& kmers, std::uint64_t* counts) {
  const groups::GroupShape shape(index.params().k);
  const GroupHash group_hash(shape.m);
  std::vector<Asked<Flanks>> block;
  block.reserve(std::min(kmers.size(), kAtOnce));
  for (std::size_t at = 0; at < kmers.size(); at += block.size()) {
    block.clear();
    for (std::size_t i = at; i < std::min(at + kAtOnce, kmers.size()); ++i) {
      Key kmer = 0;
      kmers.get(i, kmer);
      const auto flanked = groups::flanked_kmer<Flanks>(kmer, shape, index.params().canonical);
      const std::uint32_t id = group_hash(flanked.mmer);
      block.push_back({groups::super_kmer_of(flanked, shape.flank_bases()), index.strings(shape.shard_of(id)),
                       shape.rest_of(id)});
      block.back().shard.prefetch_offset(block.back().rest);
    }
    for (const Asked<Flanks>& asked : block) asked.shard.prefetch_bucket(asked.rest);
    for (const Asked<Flanks>& asked : block)
      *counts++ = groups::count_of(asked.shard, asked.rest, asked.kmer);
  }
}

template <class Kmers>
void find_kmers(const index::IndexFile& index, const Kmers& kmers, std::uint64_t* counts) {
  const std::uint32_t k = index.params().k;
  if (k <= kMaxDenseK) return find_in_entries(index, kmers, counts);
  groups::with_key_types(
      k, [&]<class Key, class Flanks>() { find_in_strings<Key, Flanks>(index, kmers, counts); });
}

}  // namespace

IndexLookup::IndexLookup(const index::IndexFile& index)
    : Lookup({index.params().k, index.params().canonical}), index_(index) {
  check_params(index);
}

std::uint64_t Lookup::find(std::string_view text) const {
  std::uint64_t count = 0;
  find_all({&text, 1}, &count);
  return count;
}

void Lookup::find_all(std::span<const std::string_view> texts, std::uint64_t* counts) const {
  const std::uint32_t k = kmers().k;
  for (const std::string_view text : texts) require_kmer(text, k);
  find_valid(texts, counts);
}

void IndexLookup::find_valid(std::span<const std::string_view> texts, std::uint64_t* counts) const {
  find_kmers(index_, KmerTexts{texts}, counts);
}

void find_packed(const index::IndexFile& index, std::span<const std::uint64_t> kmers, std::uint64_t* counts) {
  const std::uint32_t k = index.params().k;
  with_key_type(k, [&]<class Key>(Key) {
    constexpr std::size_t kWords = kKeyBits<Key> / 64;
    const KmerWords words{kmers.data(), kmers.size() / kWords};
    for (std::size_t i = 0; i < words.size(); ++i) {
      Key kmer = 0;
      words.get(i, kmer);
      if (kmer > key_mask<Key>(k)) {
        throw UsageError(fmt::format("a packed k-mer has more than the {} bits that a {}-mer has", 2 * k, k));
      }
    }
    find_kmers(index, words, counts);
  });
}

std::span<std::uint64_t> Profile::exact(std::size_t piece, std::vector<std::uint64_t>& to) const {
  const auto begin = static_cast<std::ptrdiff_t>(first[piece]);
  const auto end = static_cast<std::ptrdiff_t>(first[piece + 1]);
  if (!wide.empty()) {
    to.assign(wide.begin() + begin, wide.begin() + end);
    return to;
  }
  to.resize(first[piece + 1] - first[piece]);
  std::transform(counts.begin() + begin, counts.begin() + end, to.begin(),
                 [](std::uint32_t count) { return count == kNarrowNoKmer ? kNoKmer : std::uint64_t{count}; });
  return to;
}

void Lookup::summarise(const io::Batch& batch, BatchSummary& out) const {
  profile(batch, out.profile);
  out.pieces.clear();
  std::vector<std::uint64_t> exact;
  for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
    out.pieces.push_back(out.profile.wide.empty()
                             ? backend::summarise(out.profile.narrow(i), out.wants_medians)
                             : backend::summarise(out.profile.exact(i, exact), out.wants_medians));
  }
}

void Lookup::answer_raw(const io::Batch& raw, char /*lowest_quality*/, RawAnswer& /*out*/) const {
  throw InternalError("raw text of " + raw.file + " came to a lookup that takes none");
}

void Lookup::lay_out(const io::Batch& batch, Profile& out) const {
  const std::uint32_t k = kmers_.k;
  out.first.assign(1, 0);
  for (const io::Piece& piece : batch.pieces)
    out.first.push_back(out.first.back() + (piece.length < k ? 0 : piece.length - k + 1));
  out.counts.assign(out.first.back(), Profile::kNarrowNoKmer);
  out.wide.clear();
}

void Lookup::widen(const io::Batch& batch, Profile& out) const {
  const std::uint32_t k = kmers_.k;
  std::vector<std::uint64_t> all, exact;
  all.reserve(out.counts.size());
  bool has_large = false;
  for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
    const std::string_view bases = batch.bases(batch.pieces[i]);
    std::size_t at = 0;
    for (std::uint64_t& count : out.exact(i, exact)) {
      if (count == Profile::kLargeCount) {
        count = std::min(find(bases.substr(at, k)), Profile::kNoKmer - 1);
        out.counts[out.first[i] + at] = narrow_count(count);
        has_large = has_large || count >= Profile::kLargeCount;
      }
      ++at;
    }
    all.insert(all.end(), exact.begin(), exact.end());
  }
  if (has_large) out.wide = std::move(all);
}

}  // namespace warpmer::backend
