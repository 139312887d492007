#pragma once
/// The common parts of the tests of lookups: indexes of made-up reads or of given k-mers, batches, and the
/// comparison of the answers of two lookups.

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/lookup/lookup.h"
#include "gpu/random_reads.h"
#include "index/index_file.h"
#include "index/writer/index_writer.h"
#include "kmer_index.h"
#include "scratch_folder.h"

namespace warpmer::tests {

using Reads = std::vector<std::string>;

/// Returns a batch with names and sequences, like a parser's.
inline io::Batch batch_of(const Reads& reads) {
  io::Batch batch;
  batch.file = "made up";
  for (const auto& read : reads) {
    io::Piece piece;
    piece.record = batch.pieces.size() + 1;
    const std::string name = std::string("r").append(std::to_string(piece.record));
    piece.name_offset = static_cast<std::uint32_t>(batch.text.size());
    piece.name_length = static_cast<std::uint32_t>(name.size());
    batch.text.append(name);
    piece.offset = static_cast<std::uint32_t>(batch.text.size());
    piece.length = static_cast<std::uint32_t>(read.size());
    batch.text.append(read);
    batch.pieces.push_back(piece);
  }
  return batch;
}

/// Writes the index of reads, counted on the CPU.
inline void write_index(const std::string& path, const Reads& reads, std::uint32_t k, bool canonical = true) {
  backend::CountPlan plan;
  plan.kmers.k = k;
  plan.kmers.canonical = canonical;
  plan.memory_bytes = std::uint64_t{4} << 30;
  const auto session = backend::make_cpu_backend()->start(plan);
  io::Batch batch = batch_of(reads);
  session->add(batch, 0);
  session->end_of_input(0);
  index::IndexWriter writer(path, params_of(k, canonical));
  const auto put = [&](std::uint32_t shard, index::FrozenShard&& frozen) {
    writer.put(shard, std::move(frozen));
  };
  session->finish(0, backend::ShardSink(put, &writer), [] {});
  writer.finish(session->tally().totals(), session->tally().histogram(), {});
}

/// Writes an index of given k-mers, canonical ones if it is canonical, with given counts.
template <class Key>
void write_index(const std::string& path, const std::map<Key, std::uint64_t>& counts, std::uint32_t k,
                 bool canonical = true) {
  const index::IndexParams params = params_of(k, canonical);
  KmerPlaces<Key> places;
  for (const auto& [kmer, count] : counts) places[place_of(kmer, params)] = count;
  write_places(path, params, places);
}

/// The number of positions that were looked up, and of those that were found.
struct Seen {
  std::size_t kmers = 0, found = 0;
};

/// Compares the numbers of each read with those of its counts, put in order.
inline void check_summary(const backend::Lookup& lookup, const io::Batch& batch,
                          const backend::Profile& counts) {
  backend::BatchSummary summary;
  lookup.summarise(batch, summary);
  REQUIRE(summary.pieces.size() == batch.pieces.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
    std::vector<std::uint64_t> kmers;
    counts.exact(i, kmers);
    kmers.erase(std::remove(kmers.begin(), kmers.end(), backend::Profile::kNoKmer), kmers.end());
    std::sort(kmers.begin(), kmers.end());
    const auto absent = static_cast<std::uint64_t>(std::count(kmers.begin(), kmers.end(), 0));
    backend::ReadSummary expected;
    if (!kmers.empty())
      expected = {kmers.size(), kmers.size() - absent, kmers.front(), kmers[(kmers.size() - 1) / 2],
                  kmers.back()};
    wrong += summary.pieces[i] == expected ? 0 : 1;
  }
  CHECK(wrong == 0);
}

inline Seen check_same(const backend::Lookup& reference, const backend::Lookup& under_test,
                       const Reads& reads) {
  const io::Batch batch = batch_of(reads);
  backend::Profile expected, got;
  reference.profile(batch, expected);
  under_test.profile(batch, got);
  CHECK((got.first == expected.first));
  CHECK((got.wide == expected.wide));
  const auto difference =
      std::mismatch(expected.counts.begin(), expected.counts.end(), got.counts.begin(), got.counts.end());
  if (difference.first != expected.counts.end() || difference.second != got.counts.end()) {
    CAPTURE(difference.first - expected.counts.begin());
    CAPTURE(expected.counts.size());
    FAIL_CHECK("another count than the reference's");
  }
  check_summary(under_test, batch, expected);
  Seen seen;
  for (const std::uint32_t count : expected.counts) {
    if (count == backend::Profile::kNarrowNoKmer) continue;
    ++seen.kmers;
    seen.found += count > 0 ? 1 : 0;
  }
  return seen;
}

inline Reads small_and_odd(std::uint32_t k) {
  Reads reads = {"", "A", "", std::string(k, 'C'), std::string(k - 1, 'G'), std::string(k + 1, 't'), "N", ""};
  reads.push_back(std::string(5000, 'A'));
  reads.push_back(std::string(300, 'N'));
  reads.push_back("ACGTNNACGUUacguRYSWKMBDHVX-.*" + std::string(k, 'u') + "N" + std::string(k, 'a') + "N");
  reads.push_back("");
  return reads;
}

/// Returns text whose minimizer changes as often as a greedy choice of bases can make it: it has more runs of
/// k-mers with one shard than a GPU has room for when text is cut once (kernels/lookup/shard_runs.cu).
inline std::string restless_text(std::size_t size, std::uint32_t k) {
  const std::uint32_t m = minimizer_length(k), mask = (1u << (2 * m)) - 1;
  std::string text;
  std::uint32_t mmer = 0;
  std::vector<std::uint32_t> hashes;
  while (text.size() < size) {
    const std::size_t first = hashes.size() - std::min<std::size_t>(hashes.size(), k - m);
    const std::uint32_t least =
        std::accumulate(hashes.begin() + static_cast<std::ptrdiff_t>(first), hashes.end(), UINT32_MAX,
                        [](std::uint32_t a, std::uint32_t b) { return std::min(a, b); });
    // Of the four bases, the one with the largest hash that is a new minimum is taken; else the one with the
    // largest hash.
    std::uint64_t best = 0;
    std::uint32_t base = 0;
    for (std::uint32_t one = 0; one < 4; ++one) {
      const std::uint32_t next = (mmer >> 2 | one << (2 * (m - 1))) & mask;
      const std::uint32_t hash = minimizer_hash(canonical_mmer(next, m));
      const std::uint64_t rank = std::uint64_t{hash} | (hash < least ? std::uint64_t{1} << 32 : 0);
      if (rank >= best) base = one;
      best = std::max(best, rank);
    }
    mmer = (mmer >> 2 | base << (2 * (m - 1))) & mask;
    hashes.push_back(static_cast<std::uint32_t>(best));
    text += "ACGT"[base];
  }
  return text;
}

inline void append(Reads& reads, const Reads& more) { reads.insert(reads.end(), more.begin(), more.end()); }

}  // namespace warpmer::tests
