#pragma once
/// Set algebra on streams of sorted k-mers, for files whose k-mers are in order: two streams in, one out, and
/// nothing of them in memory. (`run_set_operation` does the same for indexes, on several threads.)

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/count_bounds.h"
#include "backend/indexes/set_session.h"
#include "formats/kmc_database.h"
#include "formats/stream/kmer_stream.h"

namespace warpmer::jobs {

/// Says which k-mers come out of a merger.
struct MergerRule {
  bool only_in_first = false;
  bool only_in_second = false;
  bool in_both = false;
  /// Count of those in both; `difference` leaves out what it makes nothing of. `samples` is none.
  backend::CountRule counts = backend::CountRule::sum;
};

/// The k-mers of a stream whose counts are within bounds.
class BoundedKmers final : public formats::KmerSource {
 public:
  BoundedKmers(std::unique_ptr<formats::KmerSource> source, const backend::CountBounds& bounds);

  std::size_t read(std::span<formats::CountedKmer> out) override;

 private:
  std::unique_ptr<formats::KmerSource> source_;
  backend::CountBounds bounds_;
};

/// K-mers in lexicographic order, of which ranges can be read each by itself, at once.
struct RangedKmers {
  std::uint32_t most_bases = 0;  ///< a range is of at most so many
  std::function<std::unique_ptr<formats::KmerSource>(const formats::KmerRange&)> open;

  /// Returns what is known of all of them.
  [[nodiscard]] formats::StreamFacts facts() const { return open({})->facts(); }
  /// Returns ranges that are all k-mers: many where there are many k-mers.
  [[nodiscard]] std::vector<formats::KmerRange> ranges() const;
};

/// Returns one stream of two, which have the same k and strand.
RangedKmers merged(RangedKmers first, RangedKmers second, const MergerRule& rule);
/// Returns those whose counts are within bounds.
RangedKmers bounded(RangedKmers kmers, const backend::CountBounds& bounds);
/// Returns all of them, with the same count.
RangedKmers recounted(RangedKmers kmers, std::uint64_t count);

enum class StreamsCompared {
  equal,          ///< the same k-mers with the same counts
  one_is_longer,  ///< as far as the other goes they are equal
  different,
};

/// Compares two, on several threads.
StreamsCompared compare_kmers(const RangedKmers& first, const RangedKmers& second, unsigned threads);

}  // namespace warpmer::jobs
