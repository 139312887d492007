#pragma once
/// The output of `query --reads` for a read: a summary of its k-mers' counts, or every one of them.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "backend/lookup/read_summary.h"

namespace warpmer::cli {

/// Counts of a read, with the number of its k-mers that have each. A chromosome's worth of positions takes
/// little room this way, and the median still is exact.
using CountTally = std::map<std::uint64_t, std::uint64_t>;

/// Adds the counts of one piece; positions without a k-mer are left out.
void add_to_tally(std::span<const std::uint64_t> counts, CountTally& tally);
backend::ReadSummary summarise(const CountTally& tally);

/// Column names of the summary, with a line break.
inline constexpr std::string_view kSummaryHeader = "read\tkmers\tfound\tmin\tmedian\tmax\n";

/// Appends `NAME<TAB>KMERS<TAB>FOUND<TAB>MIN<TAB>MEDIAN<TAB>MAX`; a read without k-mers has `NA` for
/// the last three.
void append_summary_line(std::string& out, std::string_view name, const backend::ReadSummary& summary);

/// Appends one piece's part of a profile line: `NAME<TAB>` before the first piece, a space between
/// counts, `.` where there is no k-mer, a line break after the last piece.
void append_profile(std::string& out, std::string_view name, std::span<const std::uint64_t> counts,
                    bool first, bool last);

/// Part of a read that began or goes on in another batch.
struct ReadPart {
  std::string name;
  CountTally tally;
  bool last = false;
};

/// Joins the parts of long reads from batches handed over in order.
class PartJoiner {
 public:
  /// Returns the lines that are complete with this part; none while the read goes on.
  std::string add(ReadPart&& part);

 private:
  CountTally tally_;
};

}  // namespace warpmer::cli
