#pragma once
/// A tally has what a job learns about its k-mers on the way out: totals, histogram, the count filter. One
/// per thread, merged at the end. Occurrences beyond 64 bits, which an operation on indexes may count before
/// its filter, stay at the largest number there is.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/count_bounds.h"
#include "index/index_file.h"
#include "kmer/kmer.h"

namespace warpmer::backend {

class Tally {
 public:
  explicit Tally(const CountBounds& kept = {}) : kept_(kept) {
    totals_.min_count = kept.min;
    totals_.max_count = kept.max;
  }

  /// Takes note of all entries and moves those within the filter to the front, keeping their order.
  /// Returns how many they are.
  template <class Key>
  std::size_t filter(Key* keys, std::uint64_t* counts, std::size_t n) {
    for (std::size_t first = 0; first < n; first += kBlock)
      note_block(counts + first, std::min(kBlock, n - first));
    totals_.counted_distinct += n;
    const std::size_t kept = kept_.contains_all() ? n : move_kept(keys, counts, n, [&](std::uint64_t count) {
      return kept_.contains(count);
    });
    totals_.stored_distinct += kept;
    return kept;
  }

  /// Takes note of `number` k-mers that occurred `count` times each.
  void note(std::uint64_t count, std::uint64_t number) {
    add_counted(Key128{count} * number);
    totals_.counted_distinct += number;
    if (count == 1) totals_.counted_unique += number;
    if (!kept_.contains(count)) return;
    totals_.stored_distinct += number;
    note_kept(count, number);
  }

  /// Takes note of `kmers[count]` k-mers for each count.
  void note_histogram(std::span<const unsigned long long> kmers) {
    for (std::size_t count = 1; count < kmers.size(); ++count) {
      if (kmers[count] > 0) note(count, kmers[count]);
    }
  }

  /// Takes note of `n` k-mers, each with its count.
  void note(const std::uint64_t* counts, std::size_t n) {
    for (std::size_t first = 0; first < n; first += kBlock)
      note_block(counts + first, std::min(kBlock, n - first));
    totals_.counted_distinct += n;
    std::size_t kept = n;
    if (!kept_.contains_all()) {
      kept = 0;
      for (std::size_t i = 0; i < n; ++i) kept += kept_.contains(counts[i]) ? 1 : 0;
    }
    totals_.stored_distinct += kept;
  }

  [[nodiscard]] const CountBounds& bounds() const { return kept_; }

  /// Adds what another took note of, within its own bounds.
  void merge(const Tally& other) {
    add_counted(other.totals_.counted_kmers);
    totals_.counted_distinct += other.totals_.counted_distinct;
    totals_.counted_unique += other.totals_.counted_unique;
    totals_.stored_distinct += other.totals_.stored_distinct;
    for (std::size_t i = 0; i < kSmall; ++i) small_[i] += other.small_[i];
    for (const auto& [count, number] : other.large_) large_[count] += number;
  }

  /// Totals with everything that follows from the histogram; records and bases are the caller's.
  [[nodiscard]] index::Totals totals() const {
    index::Totals totals = totals_;
    for (const auto& [count, number] : histogram()) {
      totals.stored_kmers += count * number;
      totals.largest_count = std::max(totals.largest_count, count);
    }
    return totals;
  }

  [[nodiscard]] index::Histogram histogram() const {
    index::Histogram histogram = large_;
    for (std::size_t i = 0; i < kSmall; ++i) {
      if (small_[i] > 0) histogram[i] = small_[i];
    }
    return histogram;
  }

 private:
  static constexpr std::size_t kSmall = 4096;
  static constexpr std::size_t kBlock = 512;

  /// Most counts are 1, and the others among them are as good as random: nothing branches on which are.
  void note_block(const std::uint64_t* counts, std::size_t n) {
    std::uint64_t others[kBlock];
    std::size_t number = 0;
    for (std::size_t i = 0; i < n; ++i) {
      others[number] = counts[i];
      number += counts[i] != 1 ? 1 : 0;
    }
    const std::uint64_t unique = n - number;
    totals_.counted_unique += unique;
    Key128 kmers = unique;
    if (kept_.contains(1)) small_[1] += unique;
    for (std::size_t i = 0; i < number; ++i) {
      kmers += others[i];
      if (kept_.contains(others[i])) note_kept(others[i], 1);
    }
    add_counted(kmers);
  }

  void add_counted(Key128 kmers) {
    totals_.counted_kmers =
        static_cast<std::uint64_t>(std::min<Key128>(UINT64_MAX, kmers + totals_.counted_kmers));
  }

  void note_kept(std::uint64_t count, std::uint64_t number) {
    if (count < kSmall) {
      small_[count] += number;
    } else {
      large_[count] += number;
    }
  }

  CountBounds kept_;
  index::Totals totals_;
  std::vector<std::uint64_t> small_ = std::vector<std::uint64_t>(kSmall);
  index::Histogram large_;
};

}  // namespace warpmer::backend
