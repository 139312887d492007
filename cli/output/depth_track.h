#pragma once
/// How many of some k-mers are over each base of a sequence, as meryl-lookup -wig-depth writes it for
/// Merqury.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "cli/framework/text_output.h"

namespace warpmer::cli {

/// Writes WIG: for each sequence a line `variableStep`, and one for each base that such k-mers are over, with
/// its position, from 1, and how many they are. Sequences come in order.
class DepthTrack {
 public:
  DepthTrack(const std::string& path, std::uint32_t k, unsigned threads) : wig_(path, threads), k_(k) {}

  /// `name`: as it is to be shown.
  void begin_sequence(std::string_view name) { wig_.print("variableStep chrom={}\n", name); }
  /// Adds a k-mer, by its position from 0. Positions increase.
  void add(std::uint64_t start) {
    write_depths(start);
    covering_.push_back(start);
  }
  void end_sequence() {
    write_depths(UINT64_MAX);
    next_base_ = 0;
  }
  void finish() { wig_.finish(); }

 private:
  /// Writes the depths of all bases before `position`.
  void write_depths(std::uint64_t position);

  TextOutput wig_;
  std::uint32_t k_;
  std::deque<std::uint64_t> covering_;  ///< k-mers that cover bases from `next_base_` on
  std::uint64_t next_base_ = 0;
};

}  // namespace warpmer::cli
