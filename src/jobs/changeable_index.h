#pragma once
/// Says whether counts of an index can be kept up as reads are added and removed.

#include <string>

#include "index/index_file.h"

namespace warpmer::jobs {

/// Returns why they cannot: it lacks k-mers. Empty when they can.
std::string why_unchangeable(const index::IndexFile& index);

}  // namespace warpmer::jobs
