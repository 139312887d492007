#pragma once
/// The k-mers of an index on either strand, in bins of those that may be pairs.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/count_bounds.h"
#include "backend/indexes/set_session.h"
#include "base/error.h"
#include "cpu/memory/bin_chunks.h"
#include "cpu/memory/scratch.h"
#include "cpu/sets/hetmer_entry.h"
#include "cpu/sets/kmer_scan.h"
#include "cpu/sets/one_base_pairs.h"
#include "index/index_file.h"
#include "kmer/hash.h"
#include "kmer/kmer.h"

namespace warpmer::cpu {

/// K-mers that differ in one base of a range have equal other bases, and the hash of these names their bin.
/// Where any base may differ the range is the second half of a k-mer: of a pair that differs in the first
/// half the other strand differs in the second. So both strands of a k-mer are there. Of one that may differ
/// in its middle base one strand will do, but for k-mers that read the same on both but for that base.
template <class Key>
class HetmerBins {
 public:
  using Entry = HetmerEntry<Key>;
  /// Bins in memory.
  struct GatheredBins {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
  };
  /// One thread's memory to order bins in.
  struct OrderedEntries {
    Scratch<Entry> entries;
    Scratch<std::uint32_t> offsets;  ///< where buckets begin, and the end
    std::uint32_t buckets = 0;

    static std::uint64_t bytes_for(std::uint64_t entries) {
      return std::bit_ceil(entries + 1) * (sizeof(Entry) + 2 * sizeof(std::uint32_t));
    }
  };

  /// Counts what each bin will have. `bounds` says which counts to look at.
  HetmerBins(const index::IndexFile& index, const backend::CountBounds& bounds, bool at_any_base,
             unsigned threads)
      : index_(index),
        bounds_(bounds),
        at_any_base_(at_any_base),
        threads_(threads),
        k_(index.params().k),
        differing_(k_, differing_bases()),
        bin_bits_(bin_bits_for(backend::entries_within(index, bounds) * (at_any_base ? 2 : 1))) {
    count();
  }

  /// Returns the bases that may differ.
  [[nodiscard]] DifferingBases differing_bases() const { return {k_ / 2, at_any_base_ ? k_ : k_ / 2 + 1}; }
  [[nodiscard]] std::uint32_t bins() const { return 1u << bin_bits_; }
  /// Returns the number of k-mers, each on one strand.
  [[nodiscard]] std::uint64_t kmers() const { return first_numbers_.back(); }
  [[nodiscard]] std::uint64_t entries() const { return entries_before_.back(); }
  [[nodiscard]] std::uint64_t most_entries_of_bin() const {
    std::uint64_t most = 0;
    for (std::uint32_t bin = 0; bin < bins(); ++bin) most = std::max(most, entries_of({bin, bin + 1}));
    return most;
  }
  /// Returns the bytes that so many entries take in memory.
  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t entries) const {
    return Chunks::memory_bytes(entries, threads_, bins());
  }
  /// Returns the bytes that are taken while bins are filled.
  [[nodiscard]] std::uint64_t writing_bytes() const { return Chunks::writing_bytes(threads_, bins()); }

  /// Returns ranges of bins that take `room` bytes each, at most, where no bin takes more.
  [[nodiscard]] std::vector<GatheredBins> ranges(std::uint64_t room) const {
    std::vector<GatheredBins> ranges{{0, 0}};
    for (std::uint32_t bin = 0; bin < bins(); ++bin) {
      if (bytes_of(entries_of({ranges.back().first, bin + 1})) > room &&
          ranges.back().end > ranges.back().first)
        ranges.push_back({bin, bin});
      ranges.back().end = bin + 1;
    }
    return ranges;
  }

  /// Makes room for any of these, one at a time.
  void prepare(const std::vector<GatheredBins>& ranges) {
    std::uint64_t most = 0;
    for (const GatheredBins& range : ranges) most = std::max(most, entries_of(range));
    chunks_ = std::make_unique<Chunks>(most, threads_, bins());
  }

  /// Takes the bins of a range in the place of those before.
  void gather(const GatheredBins& range) {
    chunks_->clear();
    std::vector<ShardNumbers> numbers(threads_);
    std::vector<typename Chunks::ChunkWriter> writers;
    for (unsigned t = 0; t < threads_; ++t) writers.emplace_back(*chunks_, t);
    scan_kmers<Key>(index_, bounds_, threads_,
                    [&](unsigned thread, std::uint32_t shard, Key kmer, std::uint64_t count) {
                      const HetmerFacts facts(numbers[thread].next(shard, first_numbers_[shard]), count);
                      for_each_strand(kmer, facts, [&](const Entry& entry) {
                        const std::uint32_t bin = bin_of(entry.kmer);
                        if (bin - range.first < range.end - range.first && !writers[thread].put(bin, entry))
                          refuse_more();
                      });
                    });
    for (auto& writer : writers) {
      if (!writer.flush()) refuse_more();
    }
  }

  /// Puts the entries of a bin in memory into buckets of few: entries that may be pairs are in one.
  void order(std::uint32_t bin, OrderedEntries& out) const {
    const std::size_t size = chunks_->size(bin);
    Entry* const to = out.entries.get(size + 1);
    const auto bits = std::min(static_cast<std::uint32_t>(std::bit_width(size / 2)), kMostBucketBits);
    out.buckets = 1u << bits;
    const auto bucket_of = [this, bits](const Entry& entry) {
      return static_cast<std::size_t>(hash(entry.kmer) << bin_bits_ >> 1 >> (63 - bits));
    };
    chunks_->place(bin, out.buckets, bucket_of, out.offsets.get(out.buckets + std::size_t{1}), to);
  }

 private:
  using Chunks = BinChunks<Entry>;
  /// Entries of a bin, about: they stay in a core's second-level cache.
  static constexpr std::uint64_t kBinEntries = std::uint64_t{1} << 14;
  static constexpr std::uint32_t kLeastBinBits = 6, kMostBinBits = 14, kMostBucketBits = 24;

  /// Numbers k-mers in the order in which a thread meets them.
  struct alignas(64) ShardNumbers {
    std::uint32_t shard = UINT32_MAX;
    std::uint64_t number = 0;

    /// Returns the number of the next k-mer of a shard; `first` is that of its first.
    std::uint64_t next(std::uint32_t of_shard, std::uint64_t first) {
      if (of_shard != shard) number = first;
      shard = of_shard;
      return number++;
    }
  };

  static std::uint32_t bin_bits_for(std::uint64_t entries) {
    return std::clamp(static_cast<std::uint32_t>(std::bit_width(entries / kBinEntries)), kLeastBinBits,
                      kMostBinBits);
  }
  /// Returns a hash of the bases that pairs have in common; its top bits are as good as random.
  [[nodiscard]] std::uint64_t hash(Key kmer) const {
    using Multipliers = detail::Multipliers<Key64>;
    const auto common = static_cast<Key>(kmer & ~differing_.mask());
    auto x = static_cast<std::uint64_t>(common);
    if constexpr (sizeof(Key) > sizeof x)
      x ^= static_cast<std::uint64_t>(common >> 64) * Multipliers::kSecond;
    x *= Multipliers::kFirst;
    x ^= x >> 32;
    return x * Multipliers::kSecond;
  }
  [[nodiscard]] std::uint32_t bin_of(Key kmer) const {
    return static_cast<std::uint32_t>(hash(kmer) >> (64 - bin_bits_));
  }

  /// Calls `visit(entry)` for the strands of a canonical k-mer that are to be there.
  template <class Visit>
  void for_each_strand(Key kmer, HetmerFacts facts, Visit&& visit) const {
    const Key other = reverse_complement(kmer, k_);
    const bool is_palindrome = kmer == other;
    visit(Entry{kmer, is_palindrome ? facts.palindrome() : facts});
    if (is_palindrome) return;
    if (at_any_base_ || ((kmer ^ other) & ~differing_.mask()) == 0) visit(Entry{other, facts.reversed()});
  }

  void count() {
    std::vector<std::vector<std::uint64_t>> of_bins(threads_, std::vector<std::uint64_t>(bins()));
    first_numbers_.assign(index_.params().shards() + std::size_t{1}, 0);
    scan_kmers<Key>(index_, bounds_, threads_,
                    [&](unsigned thread, std::uint32_t shard, Key kmer, std::uint64_t /*count*/) {
                      ++first_numbers_[shard + std::size_t{1}];
                      for_each_strand(kmer, {},
                                      [&](const Entry& entry) { ++of_bins[thread][bin_of(entry.kmer)]; });
                    });
    for (std::size_t i = 1; i < first_numbers_.size(); ++i) first_numbers_[i] += first_numbers_[i - 1];
    entries_before_.assign(bins() + std::size_t{1}, 0);
    for (std::uint32_t bin = 0; bin < bins(); ++bin) {
      std::uint64_t entries = entries_before_[bin];
      for (const auto& of_thread : of_bins) entries += of_thread[bin];
      entries_before_[bin + std::size_t{1}] = entries;
    }
  }
  [[nodiscard]] std::uint64_t entries_of(const GatheredBins& range) const {
    return entries_before_[range.end] - entries_before_[range.first];
  }
  [[noreturn]] void refuse_more() const {
    throw InputError(fmt::format("{} changed while it was read", index_.path()));
  }

  const index::IndexFile& index_;
  const backend::CountBounds bounds_;
  const bool at_any_base_;
  const unsigned threads_;
  const std::uint32_t k_;
  const OneBasePairs<Key> differing_;
  const std::uint32_t bin_bits_;
  std::vector<std::uint64_t> first_numbers_;   ///< of the k-mers of each shard, and the number of all
  std::vector<std::uint64_t> entries_before_;  ///< in bins before each, and in all
  std::unique_ptr<Chunks> chunks_;
};

}  // namespace warpmer::cpu
