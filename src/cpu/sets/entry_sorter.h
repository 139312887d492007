#pragma once
/// An index in an order of its k-mers, bin after bin.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/memory_text.h"
#include "cpu/memory/bin_chunks.h"
#include "cpu/memory/scratch.h"
#include "cpu/sets/kmer_scan.h"
#include "host/limits.h"
#include "index/index_file.h"
#include "kmer/kmer.h"

namespace warpmer::cpu {

/// An order is a bijection of 2k bits, from k-mers to ranks. K-mers themselves are ranks in lexicographic
/// order.
template <class Key>
struct LexicographicOrder {
  explicit LexicographicOrder(std::uint32_t /*k*/) {}
  static Key rank(Key kmer) { return kmer; }
  static Key kmer(Key rank) { return rank; }
};

/// Splits entries into bins by the first bits of their ranks, and orders a bin in a core's cache, as
/// HashGraph V2 does (Green 2019, section 3.3): by a bucket for every few ranks, and within buckets. While it
/// is in a bin an entry is one word: the rest of the rank and, below it, the count, in as many bits as are
/// free; larger counts are kept apart.
template <class Key, class Order = LexicographicOrder<Key>>
class EntrySorter {
 public:
  /// Bins in memory.
  struct LoadedBins {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
  };
  /// One thread's memory to order bins in.
  struct Ordered {
    Scratch<Key> words;
    Scratch<std::uint32_t> offsets;
    std::size_t size = 0;
  };
  /// Bytes of an ordered bin, about.
  static constexpr std::uint64_t kBytesOfOrderedBin = (std::uint64_t{1} << 16) * (sizeof(Key) + 2);

  EntrySorter(const index::IndexFile& index, const backend::CountBounds& bounds, unsigned threads,
              std::uint64_t memory_bytes, std::uint64_t other_bytes)
      : EntrySorter(index, bounds, threads, memory_bytes, other_bytes, Order(index.params().k)) {}
  /// Counts what each bin will have, unless all have room at once. `memory_bytes` are for the whole process;
  /// `other_bytes` of them others will take besides what the process has now. ResourceError, before anything
  /// is read, when hardly anything is left to sort in.
  EntrySorter(const index::IndexFile& index, const backend::CountBounds& bounds, unsigned threads,
              std::uint64_t memory_bytes, std::uint64_t other_bytes, const Order& order)
      : index_(index),
        bounds_(bounds),
        k_(index.params().k),
        order_(order),
        threads_(threads),
        bin_bits_(bin_bits_for(index.totals().stored_distinct, k_)),
        rest_bits_(2 * k_ - bin_bits_),
        count_bits_(std::min(kKeyBits<Key> - rest_bits_, 32u)),
        others_(backend::working_bytes(threads) + other_bytes + Chunks::writing_bytes(threads, bins())) {
    host::check_memory(memory_bytes, others_ + kLeastRoom, threads);
    room_ = memory_bytes - others_;
    // Perhaps all entries are in a few bins.
    if (bytes_of_all() + more_to_order(index.totals().stored_distinct) <= room_) return;
    count_bins();
    keep_room_to_order();
  }

  [[nodiscard]] std::uint32_t bins() const { return 1u << bin_bits_; }

  /// Takes as many bins from `first` on as fit into memory, in the place of those before. ResourceError when
  /// not even one does.
  LoadedBins gather(std::uint32_t first) {
    const LoadedBins range{first, end_of_range(first)};
    if (!chunks_) chunks_ = std::make_unique<Chunks>(most_entries_of_a_range(), threads_, bins());
    chunks_->clear();
    std::vector<LargeCounts> large(threads_);
    std::vector<typename Chunks::ChunkWriter> writers;
    for (unsigned t = 0; t < threads_; ++t) writers.emplace_back(*chunks_, t);
    std::vector<RangeEntries> waiting(threads_);
    const auto empty = [&](unsigned thread) {
      RangeEntries& entries = waiting[thread];
      for (std::size_t i = 0; i < entries.size; ++i) {
        const auto [rank, count] = entries.of[i];
        if (count >= large_count()) large[thread].emplace_back(rank, count);
        const Key rest = rank & low_bits(rest_bits_);
        const auto word = static_cast<Key>((rest << count_bits_) | std::min(count, large_count()));
        if (!writers[thread].put(bin_of(rank), word)) refuse_more();
      }
      entries.size = 0;
    };
    const std::uint32_t bins = range.end - range.first;
    scan_kmers<Key>(index_, bounds_, threads_,
                    [&](unsigned thread, std::uint32_t, Key kmer, std::uint64_t count) {
                      const Key rank = order_.rank(kmer);
                      RangeEntries& entries = waiting[thread];
                      entries.of[entries.size] = {rank, count};
                      entries.size += bin_of(rank) - range.first < bins ? 1 : 0;
                      if (entries.size == entries.of.size()) empty(thread);
                    });
    for (unsigned t = 0; t < threads_; ++t) {
      empty(t);
      if (!writers[t].flush()) refuse_more();
    }
    large_.clear();
    for (const LargeCounts& each : large) large_.insert(large_.end(), each.begin(), each.end());
    std::sort(large_.begin(), large_.end());
    return range;
  }

  /// Orders one of the bins in memory.
  void order(std::uint32_t bin, Ordered& out) const {
    out.size = chunks_->size(bin);
    Key* const to = out.words.get(out.size + 1);
    const auto bits =
        std::min({static_cast<std::uint32_t>(std::bit_width(out.size / kBucketEntries)), rest_bits_, 24u});
    const std::uint32_t buckets = 1u << bits;
    const auto bucket_of = [shift = rest_bits_ + count_bits_ - bits, bits](Key word) {
      return bits == 0 ? std::size_t{0} : static_cast<std::size_t>(word >> shift);
    };
    std::uint32_t* const offsets = out.offsets.get(buckets + std::size_t{1});
    chunks_->place(bin, buckets, bucket_of, offsets, to);
    for (std::uint32_t b = 0; b < buckets; ++b) sort(to + offsets[b], to + offsets[b + 1]);
  }

  /// The entry that a word of a bin stands for.
  struct SortedEntry {
    Key kmer;
    std::uint64_t count;
  };
  [[nodiscard]] SortedEntry entry(std::uint32_t bin, Key word) const {
    const Key rank = static_cast<Key>((Key{bin} << rest_bits_) | (word >> count_bits_));
    std::uint64_t count = static_cast<std::uint64_t>(word & low_bits(count_bits_));
    if (count >= large_count())
      count = std::lower_bound(large_.begin(), large_.end(), std::pair(rank, std::uint64_t{0}))->second;
    return {order_.kmer(rank), count};
  }

 private:
  using Chunks = BinChunks<Key>;
  struct BinSize {
    std::uint64_t entries = 0;
    std::uint64_t large = 0;  ///< counts that are kept apart
  };
  using LargeCounts = std::vector<std::pair<Key, std::uint64_t>>;
  /// Entries of a range that a thread has found: which k-mers these are is as good as random, so nothing
  /// branches on it.
  struct RangeEntries {
    std::array<std::pair<Key, std::uint64_t>, 256> of;
    std::size_t size = 0;
  };
  /// Entries of a bin, about. A thread has a line of entries for each bin, so there are not too many; and so
  /// many at least that they leave room for counts in any word.
  static constexpr std::uint64_t kBinEntries = std::uint64_t{1} << 15;
  static constexpr std::uint32_t kLeastBinBits = 8;
  static constexpr std::uint32_t kMostBinBits = 14;
  /// Entries of a bucket, about.
  static constexpr std::size_t kBucketEntries = 2;
  /// Up to so many are sorted by insertion.
  static constexpr std::ptrdiff_t kFewEntries = 32;
  /// For bins, at least.
  static constexpr std::uint64_t kLeastRoom = std::uint64_t{1} << 20;

  static std::uint32_t bin_bits_for(std::uint64_t entries, std::uint32_t k) {
    const auto bits = static_cast<std::uint32_t>(std::bit_width(entries / kBinEntries));
    return std::min(std::clamp(bits, kLeastBinBits, kMostBinBits), 2 * k);
  }
  [[nodiscard]] std::uint32_t bin_of(Key rank) const {
    return static_cast<std::uint32_t>(rank >> rest_bits_);
  }
  static constexpr Key low_bits(std::uint32_t bits) {
    return bits >= kKeyBits<Key> ? ~Key{0} : (Key{1} << bits) - 1;
  }
  /// Returns the count from which on counts are kept apart.
  [[nodiscard]] std::uint64_t large_count() const {
    return static_cast<std::uint64_t>(low_bits(count_bits_));
  }

  static void sort(Key* begin, Key* end) {
    if (end - begin > kFewEntries) {
      std::sort(begin, end);
      return;
    }
    for (Key* next = begin; next < end; ++next) {
      const Key word = *next;
      Key* at = next;
      for (; at > begin && word < at[-1]; --at) *at = at[-1];
      *at = word;
    }
  }

  /// Counts what each bin has.
  void count_bins() {
    std::vector<std::vector<std::uint64_t>> counts(threads_), large(threads_);
    for (unsigned t = 0; t < threads_; ++t) {
      counts[t].resize(bins());
      large[t].resize(bins());
    }
    scan_kmers<Key>(index_, bounds_, threads_,
                    [&](unsigned thread, std::uint32_t, Key kmer, std::uint64_t count) {
                      const std::uint32_t bin = bin_of(order_.rank(kmer));
                      ++counts[thread][bin];
                      if (count >= large_count()) ++large[thread][bin];
                    });
    sizes_.resize(bins());
    for (std::uint32_t bin = 0; bin < bins(); ++bin) {
      for (unsigned t = 0; t < threads_; ++t) {
        sizes_[bin].entries += counts[t][bin];
        sizes_[bin].large += large[t][bin];
      }
    }
  }

  /// Returns the bytes that ordering a bin of so many entries takes beyond kBytesOfOrderedBin.
  static std::uint64_t more_to_order(std::uint64_t entries) {
    const std::uint64_t bytes = entries * (sizeof(Key) + sizeof(std::uint32_t));
    return bytes - std::min(bytes, kBytesOfOrderedBin);
  }
  /// Sets aside what ordering the largest bins takes, one for each thread: k-mers of a genome are not spread
  /// evenly. The largest bin itself comes first; a cap that leaves nothing else is exceeded, not refused
  /// after the work that made the index.
  void keep_room_to_order() {
    std::vector<std::uint64_t> entries;
    for (const BinSize& bin : sizes_) entries.push_back(bin.entries);
    std::ranges::sort(entries, std::greater());
    if (entries.size() > threads_) entries.resize(threads_);
    std::uint64_t bytes = 0, largest = 0;
    for (const std::uint64_t each : entries) bytes += more_to_order(each);
    for (std::uint32_t bin = 0; bin < bins(); ++bin) largest = std::max(largest, bytes_of(bin));
    const std::uint64_t kept = std::min(bytes, room_ - std::min(room_, largest));
    others_ += kept;
    room_ -= kept;
  }

  [[noreturn]] void refuse_more() const { index::refuse_damaged(index_, "it has more k-mers than it says"); }

  /// Returns the bytes that a bin takes in memory.
  [[nodiscard]] std::uint64_t bytes_of(std::uint32_t bin) const {
    return Chunks::memory_bytes(sizes_[bin].entries, threads_, 1) +
           sizes_[bin].large * sizeof(typename LargeCounts::value_type);
  }
  /// Returns the bytes of all bins.
  [[nodiscard]] std::uint64_t bytes_of_all() const {
    std::uint64_t large = 0;
    const auto& histogram = index_.histogram();
    for (auto row = histogram.lower_bound(large_count()); row != histogram.end(); ++row) large += row->second;
    return Chunks::memory_bytes(index_.totals().stored_distinct, threads_, bins()) +
           2 * large * sizeof(typename LargeCounts::value_type);
  }
  [[nodiscard]] std::uint64_t most_entries_of_a_range() const {
    if (sizes_.empty()) return index_.totals().stored_distinct;
    std::uint64_t most = 0;
    for (std::uint32_t first = 0; first < bins();) {
      const std::uint32_t end = end_of_range(first);
      std::uint64_t entries = 0;
      for (; first < end; ++first) entries += sizes_[first].entries;
      most = std::max(most, entries);
    }
    return most;
  }
  [[nodiscard]] std::uint32_t end_of_range(std::uint32_t first) const {
    if (sizes_.empty()) return bins();
    std::uint64_t sum = 0;
    std::uint32_t end = first;
    while (end < bins() && sum + bytes_of(end) <= room_) sum += bytes_of(end++);
    if (end == first) {
      const std::uint64_t needed = others_ + bytes_of(first);
      throw ResourceError(
          fmt::format("sorting needs {} in all; raise -m or do without sorting", mebibytes_needed(needed)));
    }
    return end;
  }

  const index::IndexFile& index_;
  const backend::CountBounds& bounds_;
  std::uint32_t k_;
  Order order_;
  unsigned threads_;
  std::uint32_t bin_bits_;
  std::uint32_t rest_bits_;     ///< bits of a rank behind those that name its bin
  std::uint32_t count_bits_;    ///< bits of a count in a word
  std::uint64_t others_;        ///< bytes that all the rest takes
  std::uint64_t room_ = 0;      ///< bytes for bins
  std::vector<BinSize> sizes_;  ///< of each bin; none: all have room at once
  std::unique_ptr<Chunks> chunks_;
  LargeCounts large_;  ///< in order
};

}  // namespace warpmer::cpu
