#pragma once
/// Histograms of FastK, `X.hist`: k, the smallest and the largest count of a row (i32 each; FastK writes 1
/// and 32767); how often the k-mers of the first and of the last row occur, all together (i64 each); then for
/// each count the number of distinct k-mers (i64). The last row is of its count and of all larger ones.

#include <cstdint>
#include <string>
#include <vector>

#include "index/index_file.h"

namespace warpmer::formats {

struct FastkHistogram {
  std::uint32_t k = 0;
  std::uint32_t low = 1;
  std::uint32_t high = 0;
  std::int64_t low_instances = 0;   ///< occurrences of the k-mers of the first row
  std::int64_t high_instances = 0;  ///< and of the last
  std::vector<std::int64_t> kmers;  ///< distinct k-mers, a row for each count from low to high
};

FastkHistogram fastk_histogram_of(std::uint32_t k, const index::Histogram& histogram);

/// InputError when the file cannot be read, is cut off or none.
FastkHistogram read_fastk_histogram(const std::string& path);

/// Returns the bytes of the file.
std::string encoded(const FastkHistogram& histogram);

}  // namespace warpmer::formats
