#pragma once
/// The places of an assembly's k-mers that reads do not have, as meryl-lookup writes them for Merqury.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cli/framework/text_output.h"
#include "cli/output/depth_track.h"

namespace warpmer::cli {

/// Writes BED, a line for each such k-mer, and WIG, the number of such k-mers over each base that has some.
/// Sequences come in order, each with its positions in increasing order, in any number of parts.
class MissingTrack {
 public:
  MissingTrack(const std::string& bed, const std::string& wig, std::uint32_t k, unsigned threads)
      : bed_(bed, threads), depths_(wig, k, threads), k_(k) {}

  /// Adds positions, from 0, of a sequence's k-mers. With the `last` ones the sequence is complete.
  void add(std::string_view name, std::span<const std::uint64_t> starts, bool last);
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
