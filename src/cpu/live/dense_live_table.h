#pragma once
/// The live table for k up to 12: an array of 4^k counts.

#include <memory>

#include "backend/live/live_table.h"

namespace warpmer::cpu {

std::unique_ptr<backend::LiveTable> make_dense_live_table(const backend::LiveTablePlan& plan);

}  // namespace warpmer::cpu
