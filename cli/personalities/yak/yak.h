#pragma once
/// The commands of `yak` that have files of their own, and what they share.

#include <array>
#include <string>
#include <vector>

#include "formats/yak_file.h"
#include "index/index_file.h"

namespace warpmer::cli {

inline constexpr std::size_t kYakCounts = formats::kLargestYakCount + 1;
/// A number for each count; whole ones are exact.
using YakRow = std::array<double, kYakCounts>;

/// Raw and adjusted quality values; -1 where there is none.
struct YakQuality {
  double raw = -1, adjusted = -1;
};

/// Returns the quality of k-mers that have these counts in reads, whose own counts `reads` has.
YakQuality yak_quality(const YakRow& reads, const YakRow& kmers, double k);

int run_yak_inspect(const std::vector<std::string>& words, const index::Provenance& provenance);
int run_yak_qv(const std::vector<std::string>& words, const index::Provenance& provenance);

}  // namespace warpmer::cli
