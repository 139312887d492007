#include "jobs/merged_kmers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/thread_team.h"

namespace warpmer::jobs {
namespace {

using backend::CountRule;
using formats::CountedKmer;

constexpr std::size_t kMergedAtOnce = 4096;

/// Returns the count of a k-mer that is in both, 0 for none.
std::uint64_t count_in_both(CountRule rule, std::uint64_t first, std::uint64_t second) {
  switch (rule) {
    case CountRule::sum:
      return first + second;
    case CountRule::min:
      return std::min(first, second);
    case CountRule::max:
      return std::max(first, second);
    case CountRule::first:
      return first;
    case CountRule::last:
      return second;
    case CountRule::difference:
      return first - std::min(first, second);
    case CountRule::samples:
      break;
  }
  throw InternalError("a count rule that is none of two streams");
}

/// One stream of two, both in lexicographic order, as it is then itself. Its `facts().distinct` is the most
/// that there may be, and `largest_count` not known.
class MergedKmers final : public formats::KmerSource {
 public:
  MergedKmers(std::unique_ptr<formats::KmerSource> first, std::unique_ptr<formats::KmerSource> second,
              const MergerRule& rule)
      : KmerSource(first->facts()),
        first_{std::move(first), std::vector<CountedKmer>(kMergedAtOnce)},
        second_{std::move(second), std::vector<CountedKmer>(kMergedAtOnce)},
        rule_(rule) {
    const formats::StreamFacts& other = second_.source->facts();
    const std::uint64_t in_both = rule.in_both ? std::min(facts_.distinct, other.distinct) : 0;
    facts_.distinct = std::max(
        {in_both, (rule.only_in_first ? facts_.distinct : 0) + (rule.only_in_second ? other.distinct : 0)});
    facts_.largest_count = 0;
    facts_.widen_bounds(other.min_count, other.max_count);
  }

  std::size_t read(std::span<CountedKmer> out) override {
    std::size_t n = 0;
    while (n < out.size()) {
      const bool has_first = first_.has_next(), has_second = second_.has_next();
      if (!has_first && !has_second) break;
      const auto room = out.subspan(n);
      n += has_first && has_second ? merge(room)
           : has_first             ? take(first_, rule_.only_in_first, room)
                                   : take(second_, rule_.only_in_second, room);
    }
    return n;
  }

 private:
  struct MergedSide {
    std::unique_ptr<formats::KmerSource> source;
    std::vector<CountedKmer> kmers;
    std::size_t next = 0, end = 0;

    /// False at the end.
    bool has_next() {
      if (next < end) return true;
      next = 0;
      end = source->read(kmers);
      return end > 0;
    }
  };

  /// Merges what both sides have here, as far as there is room. Returns how many come out. Which side a k-mer
  /// is of is as good as random, so nothing branches on it.
  std::size_t merge(std::span<CountedKmer> out) {
    const CountedKmer* first = first_.kmers.data() + first_.next;
    const CountedKmer* second = second_.kmers.data() + second_.next;
    const CountedKmer* const first_end = first_.kmers.data() + first_.end;
    const CountedKmer* const second_end = second_.kmers.data() + second_.end;
    const std::array<bool, 4> comes_out = {false, rule_.only_in_first, rule_.only_in_second, rule_.in_both};
    std::size_t n = 0;
    while (n < out.size() && first != first_end && second != second_end) {
      const unsigned in_first = first->kmer <= second->kmer ? 1 : 0;
      const unsigned in_second = second->kmer <= first->kmer ? 1 : 0;
      const std::uint64_t both = count_in_both(rule_.counts, first->count, second->count);
      const CountedKmer& one = in_first != 0 ? *first : *second;
      out[n] = {one.kmer, (in_first & in_second) != 0 ? both : one.count};
      n += static_cast<unsigned>(comes_out[in_first + 2 * in_second]) & (out[n].count > 0 ? 1u : 0u);
      first += in_first;
      second += in_second;
    }
    first_.next = static_cast<std::size_t>(first - first_.kmers.data());
    second_.next = static_cast<std::size_t>(second - second_.kmers.data());
    return n;
  }

  /// Takes what one side has here, where the other has ended, as far as there is room. Returns how many come
  /// out.
  static std::size_t take(MergedSide& side, bool comes_out, std::span<CountedKmer> out) {
    if (!comes_out) {
      side.next = side.end;
      return 0;
    }
    const std::size_t n = std::min(out.size(), side.end - side.next);
    std::copy_n(side.kmers.begin() + static_cast<std::ptrdiff_t>(side.next), n, out.begin());
    side.next += n;
    return n;
  }

  MergedSide first_, second_;
  MergerRule rule_;
};

/// The k-mers of a stream, all with the same count.
class RecountedKmers final : public formats::KmerSource {
 public:
  RecountedKmers(std::unique_ptr<formats::KmerSource> source, std::uint64_t count)
      : KmerSource(source->facts()), source_(std::move(source)), count_(count) {
    facts_.min_count = facts_.max_count = facts_.largest_count = count;
  }

  std::size_t read(std::span<CountedKmer> out) override {
    const std::size_t n = source_->read(out);
    for (CountedKmer& each : out.first(n)) each.count = count_;
    return n;
  }

 private:
  std::unique_ptr<formats::KmerSource> source_;
  std::uint64_t count_;
};

}  // namespace

BoundedKmers::BoundedKmers(std::unique_ptr<formats::KmerSource> source, const backend::CountBounds& bounds)
    : KmerSource(source->facts()), source_(std::move(source)), bounds_(bounds) {
  facts_.min_count = std::max(facts_.min_count, bounds.min);
  facts_.max_count = std::min(facts_.max_count, bounds.max);
}

std::size_t BoundedKmers::read(std::span<CountedKmer> out) {
  while (const std::size_t n = source_->read(out)) {
    const auto is_out = [&](const CountedKmer& each) { return !bounds_.contains(each.count); };
    const auto begin = out.begin(), end = begin + static_cast<std::ptrdiff_t>(n);
    const auto kept = static_cast<std::size_t>(std::remove_if(begin, end, is_out) - begin);
    if (kept > 0) return kept;
  }
  return 0;
}

std::vector<formats::KmerRange> RangedKmers::ranges() const {
  // What a range becomes waits for those before it, and only few bytes may wait.
  constexpr std::uint32_t kMostRangeBases = 10;
  constexpr std::uint64_t kFewKmers = std::uint64_t{1} << 17;
  const std::uint64_t kmers = facts().distinct;
  std::uint32_t bases = 0;
  while (bases < std::min(most_bases, kMostRangeBases) && kmers >> (2 * bases) > kFewKmers) ++bases;
  std::vector<formats::KmerRange> ranges;
  for (std::uint64_t i = 0; i < std::uint64_t{1} << (2 * bases); ++i) ranges.push_back({bases, i});
  return ranges;
}

RangedKmers merged(RangedKmers first, RangedKmers second, const MergerRule& rule) {
  const std::uint32_t bases = std::min(first.most_bases, second.most_bases);
  return {bases, [first = std::move(first), second = std::move(second), rule](const auto& range) {
            return std::make_unique<MergedKmers>(first.open(range), second.open(range), rule);
          }};
}

RangedKmers bounded(RangedKmers kmers, const backend::CountBounds& bounds) {
  const std::uint32_t bases = kmers.most_bases;
  return {bases, [kmers = std::move(kmers), bounds](const auto& range) {
            return std::make_unique<BoundedKmers>(kmers.open(range), bounds);
          }};
}

RangedKmers recounted(RangedKmers kmers, std::uint64_t count) {
  const std::uint32_t bases = kmers.most_bases;
  return {bases, [kmers = std::move(kmers), count](const auto& range) {
            return std::make_unique<RecountedKmers>(kmers.open(range), count);
          }};
}

namespace {

/// Result of a range.
struct RangeCompared {
  bool is_different = false;
  bool has_first = false, has_second = false;  ///< any k-mers
  bool first_is_longer = false, second_is_longer = false;
};

RangeCompared compare_range(formats::KmerSource& first, formats::KmerSource& second) {
  std::vector<CountedKmer> kmers(kMergedAtOnce), others(kMergedAtOnce);
  const auto read_all = [](formats::KmerSource& source, std::span<CountedKmer> out) {
    std::size_t n = 0;
    while (const std::size_t more = n < out.size() ? source.read(out.subspan(n)) : 0) n += more;
    return n;
  };
  const auto is_same = [](const CountedKmer& a, const CountedKmer& b) {
    return a.kmer == b.kmer && a.count == b.count;
  };
  RangeCompared result;
  for (;;) {
    const std::size_t n = read_all(first, kmers), m = read_all(second, others);
    const auto common = static_cast<std::ptrdiff_t>(std::min(n, m));
    result.has_first |= n > 0;
    result.has_second |= m > 0;
    result.is_different = !std::equal(kmers.begin(), kmers.begin() + common, others.begin(), is_same);
    result.first_is_longer = n > m;
    result.second_is_longer = m > n;
    if (result.is_different || n != m || n == 0) return result;
  }
}

}  // namespace

StreamsCompared compare_kmers(const RangedKmers& first, const RangedKmers& second, unsigned threads) {
  // Both in the same ranges.
  const std::vector<formats::KmerRange> ranges = merged(first, second, {true, true, true}).ranges();
  std::vector<RangeCompared> results(ranges.size());
  share_numbers(threads, 0, ranges.size(), [&](unsigned /*thread*/, SharedNumbers& numbers) {
    for (std::size_t i; numbers.take(i);)
      results[i] = compare_range(*first.open(ranges[i]), *second.open(ranges[i]));
  });
  // Where one has gone on, the other must have ended.
  bool first_is_longer = false, second_is_longer = false;
  for (const RangeCompared& each : results) {
    if (each.is_different || (first_is_longer && each.has_second) || (second_is_longer && each.has_first))
      return StreamsCompared::different;
    first_is_longer |= each.first_is_longer;
    second_is_longer |= each.second_is_longer;
  }
  return first_is_longer || second_is_longer ? StreamsCompared::one_is_longer : StreamsCompared::equal;
}

}  // namespace warpmer::jobs
