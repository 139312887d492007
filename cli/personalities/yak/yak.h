#pragma once
/// The commands of `yak` that have files of their own, and what they share.

#include <algorithm>
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

/// True for no words, and where one of them asks for help.
inline bool wants_help(const std::vector<std::string>& words) {
  return words.empty() || std::ranges::find(words, "--help") != words.end();
}

/// Returns how many k-mers of an index have each count.
YakRow yak_row(const index::IndexFile& index);

int run_yak_inspect(const std::vector<std::string>& words, const index::Provenance& provenance);
int run_yak_qv(const std::vector<std::string>& words, const index::Provenance& provenance);

}  // namespace warpmer::cli
