#pragma once
/// Writes counts along sequences as intervals: bedGraph of all counts, or BED of the bases that found k-mers
/// cover.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/arguments/flags.h"

namespace warpmer::cli {

/// The rule that makes intervals.
struct TrackRule {
  enum class TrackFormat : std::uint8_t {
    bedgraph,  ///< neighbouring k-mers of the same count; a position is that of a k-mer's first base
    bed,       ///< bases that k-mers with a count within `found` cover; intervals that touch are one
  };
  TrackFormat format = TrackFormat::bedgraph;
  std::uint32_t k = 0;
  backend::CountBounds found;
};

/// Positions [begin, end) of a sequence, from 0.
struct TrackInterval {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t count = 0;  ///< 0 in BED
};

/// One piece's part of a track. The first and the last interval may go on in other pieces.
struct TrackPart {
  std::string name;                    ///< name of the sequence
  std::optional<TrackInterval> first;  ///< empty: the piece has no interval
  std::string between;                 ///< lines of those between the first and the last
  std::optional<TrackInterval> final;  ///< empty: the piece has no second interval
  bool last = true;                    ///< no further piece of this sequence follows
};

/// Makes the part of a piece from the counts of its k-mers (backend::Profile), the first of which begins at
/// `first_base` of the sequence. `likely_bytes`: room for its lines, which grows if it does not suffice.
TrackPart make_track_part(const TrackRule& rule, std::string_view name, std::span<const std::uint64_t> counts,
                          std::uint64_t first_base, bool last, std::size_t likely_bytes = 0);

/// Joins the parts of sequences, handed over in order.
class TrackJoiner {
 public:
  /// Takes whole lines, which go on from those before.
  using Write = std::function<void(std::string_view lines)>;

  explicit TrackJoiner(TrackRule::TrackFormat format) : format_(format) {}
  /// Writes the lines that are complete with this part: `NAME<TAB>BEGIN<TAB>END` and, in bedGraph,
  /// `<TAB>COUNT`.
  void add(const TrackPart& part, const Write& write);

 private:
  void flush(std::string_view name, const Write& write);

  TrackRule::TrackFormat format_;
  std::optional<TrackInterval> open_;
};

}  // namespace warpmer::cli
