#pragma once
/// Where an assembly's k-mers that reads do not have begin, as meryl-lookup writes it for Merqury.

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>

#include "cli/framework/text_output.h"

namespace warpmer::cli {

/// Writes BED, a line for each such k-mer, and WIG, the number of such k-mers over each base that has some.
/// Sequences come in order, each with its positions in increasing order, in any number of parts.
class MissingTrack {
 public:
  MissingTrack(const std::string& bed, const std::string& wig, std::uint32_t k, unsigned threads)
      : bed_(bed, threads), wig_(wig, threads), k_(k) {}

  /// Adds positions, from 0, of a sequence's k-mers. With the `last` ones the sequence is complete.
  void add(std::string_view name, std::span<const std::uint64_t> starts, bool last);
  void finish() {
    bed_.finish();
    wig_.finish();
  }

 private:
  /// Writes the depths of all bases before `position`.
  void write_depths(std::uint64_t position);

  TextOutput bed_, wig_;
  std::uint32_t k_;
  bool is_open_ = false;                ///< a sequence has begun
  std::deque<std::uint64_t> covering_;  ///< k-mers that cover bases from `next_base_` on
  std::uint64_t next_base_ = 0;
};

}  // namespace warpmer::cli
