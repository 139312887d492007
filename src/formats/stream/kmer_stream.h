#pragma once
/// K-mers with counts on their way between the files of other programs and an index: what reads them from a
/// file, and what writes them to one.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "file/mapped_input.h"
#include "file/output/ordered_text.h"
#include "formats/stream/count_width.h"
#include "kmer/kmer.h"

namespace warpmer::formats {

/// A k-mer, as its 2k bits in the order A C G T = 0 1 2 3, first base in the highest bits, with its exact
/// count.
struct CountedKmer {
  Key128 kmer;
  std::uint64_t count;
};

/// The facts known of a stream before it is read.
struct StreamFacts {
  std::uint32_t k = 0;
  bool canonical = true;            ///< each k-mer stands for both strands
  std::uint64_t distinct = 0;       ///< k-mers in it; 0: not known
  std::uint64_t largest_count = 0;  ///< 0: not known
  // K-mers that occur less often, or more often, were left out when it was made.
  std::uint64_t min_count = 1;
  std::uint64_t max_count = UINT64_MAX;
  bool may_repeat = false;  ///< a k-mer may come more than once; else a file in which one does is damaged

  void widen_bounds(std::uint64_t least, std::uint64_t most) noexcept {
    min_count = std::min(min_count, least);
    max_count = std::max(max_count, most);
  }
};

/// The largest count kept that KMC writes where no user asked for one: it says that nothing was left out.
inline constexpr std::uint64_t kNoKmcLimit = 1'000'000'000;

/// Mapped pages count as ours: what reads a file gives them back every so often.
inline constexpr std::uint64_t kReleaseBytes = std::uint64_t{4} << 20;

/// Gives back those before `at`, of which those before `released` have been. InputError when the file was cut
/// off meanwhile.
inline void release_read(const file::MappedInput& file, std::uint64_t at, std::uint64_t& released) {
  if (at - released < kReleaseBytes) return;
  file.check_size();
  file.release(released, at - released);
  released = at;
}

class KmerSource {
 public:
  virtual ~KmerSource() = default;
  [[nodiscard]] const StreamFacts& facts() const noexcept { return facts_; }
  /// Fills as much of `out` as there is; returns how many, 0 at the end. InputError with file and place.
  virtual std::size_t read(std::span<CountedKmer> out) = 0;
  /// Returns the k-mers of what has been read whose counts stand at the limit. None where counters have no
  /// limit, or the file leaves out what would reach it.
  [[nodiscard]] CappedCounts capped() const noexcept { return limit_.capped(); }

 protected:
  KmerSource() = default;
  explicit KmerSource(const StreamFacts& facts) : facts_(facts) {}

  StreamFacts facts_;   ///< set when it is made
  CounterLimit limit_;  ///< what `read` gives has to be noted, where counters have one
};

/// Calls `visit(kmer)` for all k-mers that a source still has.
template <class Visit>
void for_each_kmer(KmerSource& source, Visit&& visit) {
  constexpr std::size_t kReadAtOnce = 4096;
  std::vector<CountedKmer> some(kReadAtOnce);
  while (const std::size_t n = source.read(some)) {
    for (std::size_t i = 0; i < n; ++i) visit(some[i]);
  }
}

/// The bytes that a sink has made of k-mers that follow one another. Its memory is used again.
struct EncodedKmers {
  /// K-mers that have a number in common: of their first bases, or of their bin.
  struct EncodedRun {
    std::uint64_t number;
    std::uint64_t kmers;
  };

  file::TextBuffer bytes;
  std::uint64_t kmers = 0;
  std::vector<EncodedRun> runs;  ///< for sinks that have a table of them
  Key128 first = 0, last = 0;    ///< places of the first and the last k-mer, for sinks that check the order
  // Of those who give the k-mers:
  std::uint64_t capped = 0;                    ///< number of counts that were cut down
  std::uint64_t least = UINT64_MAX, most = 0;  ///< counts

  void clear() noexcept {
    bytes.clear();
    runs.clear();
    kmers = capped = most = 0;
    least = UINT64_MAX;
  }
  /// Adds a k-mer to the last run, or to a new one.
  void add_to_run(std::uint64_t number) {
    if (runs.empty() || runs.back().number != number) runs.push_back({number, 0});
    ++runs.back().kmers;
  }
};

/// Several threads may encode; what they make is appended in order.
class KmerSink {
 public:
  virtual ~KmerSink() = default;
  /// Adds k-mers that follow those in `to`, as the sink stores them. Any thread may call it.
  virtual void encode(std::span<const CountedKmer> kmers, EncodedKmers& to) const = 0;
  virtual void append(const EncodedKmers& encoded) = 0;
  /// Does both.
  void write(std::span<const CountedKmer> kmers) {
    own_.clear();
    encode(kmers, own_);
    append(own_);
  }
  /// Returns the bits of a position in the order of `by_jellyfish`, for sinks that want it.
  [[nodiscard]] virtual std::uint32_t position_bits() const { return 0; }
  /// Completes the file. Without it no file is left.
  virtual void finish() = 0;
  /// To be called before `finish`: what has been written had counts from `least` to `most`. The facts' bounds
  /// become as wide, where they go into the file: readers leave out what is not within them.
  virtual void widen_bounds(std::uint64_t /*least*/, std::uint64_t /*most*/) {}

 private:
  EncodedKmers own_;
};

/// The order in which a sink wants its k-mers.
enum class KmerOrder {
  any,
  by_kmer,       ///< lexicographic
  by_jellyfish,  ///< formats/jellyfish/jellyfish_order.h
  by_yak,        ///< formats/yak_order.h
};

}  // namespace warpmer::formats
