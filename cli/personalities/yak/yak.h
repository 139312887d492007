#pragma once
/// The commands of `yak` that have files of their own.

#include <string>
#include <vector>

#include "index/index_file.h"

namespace warpmer::cli {

int run_yak_qv(const std::vector<std::string>& words, const index::Provenance& provenance);

}  // namespace warpmer::cli
