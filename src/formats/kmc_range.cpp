#include "formats/kmc_range.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kmer/kmer.h"

namespace warpmer::formats {
namespace {

/// Of a range with more k-mers, parts are sorted one after the other. With half as many, searching each of
/// 512 bins for where a part begins takes longer than sorting in a core's cache saves.
constexpr std::uint64_t kSortedAtOnce = std::uint64_t{1} << 17;
/// K-mers of a bin that are decoded at a time.
constexpr std::size_t kDecodedAtOnce = 64;
/// More than so many k-mers are not sorted by insertion.
constexpr std::uint32_t kFewToSort = 16;

/// A k-mer, of those that all begin with the same bases, by the bases behind them.
template <class Key>
struct KmerRest {
  Key rest;
  std::uint64_t count;
};

/// Sorts k-mers by their rests, of so many bits; they are as good as evenly distributed.
template <class Key>
class RestSorter {
 public:
  /// Begins anew, for `kmers` k-mers.
  void start(std::size_t kmers, std::uint32_t rest_bits) {
    const auto bucket_bits = std::min(rest_bits, static_cast<std::uint32_t>(std::bit_width(kmers)));
    shift_ = rest_bits - bucket_bits;
    bucket_ends_.assign(std::size_t{1} << bucket_bits, 0);
    added_.clear();
    added_.reserve(kmers);
  }
  void add(const KmerRest<Key>& kmer) {
    ++bucket_ends_[bucket_of(kmer)];
    added_.push_back(kmer);
  }
  /// Returns all of them in order; they are there until the next start.
  std::span<const KmerRest<Key>> sorted() {
    std::uint32_t before = 0, most = 0;
    for (std::uint32_t& end : bucket_ends_) {
      most = std::max(most, end);
      before += std::exchange(end, before);
    }
    sorted_.resize(added_.size());
    for (const KmerRest<Key>& each : added_) sorted_[bucket_ends_[bucket_of(each)]++] = each;
    if (most > kFewToSort) sort_large_buckets();
    sort_few();
    return sorted_;
  }

 private:
  [[nodiscard]] std::size_t bucket_of(const KmerRest<Key>& kmer) const {
    return static_cast<std::size_t>(kmer.rest >> shift_);
  }
  void sort_large_buckets() {
    std::uint32_t begin = 0;
    for (const std::uint32_t end : bucket_ends_) {
      if (end - begin > kFewToSort)
        std::ranges::sort(std::span(sorted_).subspan(begin, end - begin), {}, &KmerRest<Key>::rest);
      begin = end;
    }
  }
  /// By insertion: nothing moves out of its bucket.
  void sort_few() {
    for (std::size_t i = 1; i < sorted_.size(); ++i) {
      const KmerRest<Key> moved = sorted_[i];
      std::size_t at = i;
      for (; at > 0 && moved.rest < sorted_[at - 1].rest; --at) sorted_[at] = sorted_[at - 1];
      sorted_[at] = moved;
    }
  }

  std::uint32_t shift_ = 0;
  std::vector<std::uint32_t> bucket_ends_;
  std::vector<KmerRest<Key>> added_, sorted_;
};

/// A range of KMC2. `Key` has room for the bases that its k-mers do not have in common.
template <class Key>
class BinnedRange final : public KmerSource {
 public:
  BinnedRange(std::shared_ptr<const KmcSource> database, const KmerRange& range)
      : KmerSource(database->facts()), database_(std::move(database)), ranges_{range} {}

  std::size_t read(std::span<CountedKmer> out) override {
    while (kmers_.empty() && !ranges_.empty()) sort_next();
    if (kmers_.empty()) database_->check_size();
    const auto some = kmers_.first(std::min(out.size(), kmers_.size()));
    for (std::size_t i = 0; i < some.size(); ++i) out[i] = {first_ | some[i].rest, some[i].count};
    kmers_ = kmers_.subspan(some.size());
    return some.size();
  }

 private:
  /// Sorts the next range, or puts its parts in its place.
  void sort_next() {
    const KmerRange range = ranges_.back();
    ranges_.pop_back();
    std::vector<KmcCursor> stretches = database_->sorted_stretches(range);
    std::uint64_t kmers = 0;
    for (const KmcCursor& each : stretches) kmers += each.record_end - each.next_record;
    if (kmers > kSortedAtOnce) return split(range, kmers);
    const std::uint32_t rest_bits = 2 * (facts().k - range.bases);
    first_ = rest_bits == 128 ? 0 : Key128{range.prefix} << rest_bits;
    sorter_.start(kmers, rest_bits);
    for (KmcCursor& each : stretches) add(each, first_ | key_mask<Key128>(rest_bits / 2));
    kmers_ = sorter_.sorted();
  }

  void split(const KmerRange& range, std::uint64_t kmers) {
    // A k-mer is there once.
    if (range.bases == facts().k) database_->refuse_order();
    std::uint32_t bases = 1;
    while (range.bases + bases < facts().k && kmers >> (2 * bases) > kSortedAtOnce) ++bases;
    for (std::uint64_t i = std::uint64_t{1} << (2 * bases); i-- > 0;)
      ranges_.push_back({range.bases + bases, (range.prefix << (2 * bases)) + i});
  }

  /// Adds the k-mers of a bin, which are to be in order from `first_` to `last`.
  void add(KmcCursor& stretch, Key128 last) {
    std::array<CountedKmer, kDecodedAtOnce> decoded;
    Key128 before = first_;
    while (stretch.next_record < stretch.record_end) {
      for (const CountedKmer& each : std::span(decoded).first(database_->read(stretch, decoded))) {
        // Others than those of the range have no bucket.
        if (each.kmer < before || each.kmer > last) database_->refuse_order();
        before = each.kmer;
        sorter_.add({static_cast<Key>(each.kmer - first_), each.count});
      }
    }
  }

  const std::shared_ptr<const KmcSource> database_;
  std::vector<KmerRange> ranges_;  ///< that are to be sorted yet, the next one last
  Key128 first_ = 0;               ///< the least k-mer of the range that is sorted
  RestSorter<Key> sorter_;
  std::span<const KmerRest<Key>> kmers_;  ///< of it, that are to be read yet
};

/// A range of KMC1, which is sorted.
class SortedRange final : public KmerSource {
 public:
  SortedRange(std::shared_ptr<const KmcSource> database, const KmerRange& range)
      : KmerSource(database->facts()),
        database_(std::move(database)),
        cursor_(database_->sorted_stretches(range)[0]) {}

  std::size_t read(std::span<CountedKmer> out) override {
    const std::size_t n = database_->read(cursor_, out);
    if (n == 0) database_->check_size();
    return n;
  }

 private:
  const std::shared_ptr<const KmcSource> database_;
  KmcCursor cursor_;
};

}  // namespace

std::unique_ptr<KmerSource> open_kmc_range(std::shared_ptr<const KmcSource> database,
                                           const KmerRange& range) {
  if (database->header().bins == 0) return std::make_unique<SortedRange>(std::move(database), range);
  if (database->facts().k - range.bases <= kMaxNarrowK)
    return std::make_unique<BinnedRange<Key64>>(std::move(database), range);
  return std::make_unique<BinnedRange<Key128>>(std::move(database), range);
}

}  // namespace warpmer::formats
