#pragma once
/// The places of an assembly's k-mers that reads do not have, as meryl-lookup writes them for Merqury.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cli/framework/text_output.h"
#include "cli/output/depth_track.h"

namespace warpmer::cli {

/// K-mers that begin at positions [begin, end) of a sequence, from 0.
struct MissingRun {
  std::uint64_t begin = 0, end = 0;
};

/// Writes BED, a line for each such k-mer, and WIG, the number of such k-mers over each base that has some.
/// Sequences come in order, each with its runs in increasing order, in any number of parts.
class MissingTrack {
 public:
  MissingTrack(const std::string& bed, const std::string& wig, std::uint32_t k, unsigned threads)
      : bed_(bed, threads), depths_(wig, k, threads), k_(k) {}

  /// Adds k-mers of a sequence. With the `last` ones the sequence is complete.
  void add(std::string_view name, std::span<const MissingRun> runs, bool last);
  void finish() {
    bed_.finish();
    depths_.finish();
  }

 private:
  TextOutput bed_;
  DepthTrack depths_;
  std::uint32_t k_;
  bool is_open_ = false;  ///< a sequence has begun
};

}  // namespace warpmer::cli
