#pragma once
/// Watches whether qualities are what they are taken for: files of Illumina 1.3 to 1.7 (until 2011) have
/// Phred scores behind '@' instead of '!', and no base of theirs looks bad. Older ones, of Solexa's pipeline,
/// have scores of another kind there, which begin at -5 (';').

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/text/batch.h"

namespace warpmer::io {

/// The facts known of some qualities.
struct QualityRange {
  unsigned char lowest = 0xff, highest = 0;
  std::uint64_t characters = 0;
  std::uint64_t above_j = 0;  ///< number of those scores that Illumina's Phred+33 does not have
  bool of_alignments = false;

  void add(std::string_view quality);
  /// Adds scores as alignments have them, of a read: as Phred+33 would write them.
  void add_scores(std::span<const std::uint8_t> scores);
  void add(const QualityRange& other);
  /// True when these are Phred+64 or Solexa's. In Phred+33, ';' is a score of 26, and any file but a few
  /// reads has some below; 'J' is 41, and few machines give more, but those that do give up to 93: Phred+64
  /// has none above 'j'. The brackets are so narrow that a handful of reads is evidence: none below ';', a
  /// quarter or more above 'J', none above 'j'.
  [[nodiscard]] bool is_like_phred64() const;
  /// True when these, if like Phred+64, are Solexa's: Phred+64 has none below '@'.
  [[nodiscard]] bool is_like_solexa() const { return is_like_phred64() && lowest < '@'; }
};

/// Qualities of some reads in a batch of FASTQ, evenly spread; of text as it is in the file, of the first.
QualityRange some_qualities(const Batch& batch);

/// Number of records of a batch, evenly spread or the first, that are looked at: few of many thousands, so
/// that it takes no time.
inline constexpr std::size_t kWatchedReads = 64;

/// Watches all inputs of a job. Thread-safe.
class QualityWatch {
 public:
  /// Looks at some reads of a batch of this file.
  void note(const std::string& file, const Batch& batch);
  void note(const std::string& file, const QualityRange& range);
  /// Returns what is known of each file.
  [[nodiscard]] std::map<std::string, QualityRange> files() const;
  /// Returns the names of the files whose qualities are Phred+64 or Solexa's, by what has been read of them
  /// so far.
  [[nodiscard]] std::vector<std::string> like_phred64() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, QualityRange> files_;
};

/// Warns, when all is read, where qualities are not what bases of low quality were found by, and where there
/// are none. `watch` may be null.
void warn_of_phred64(const std::shared_ptr<QualityWatch>& watch);

}  // namespace warpmer::io
