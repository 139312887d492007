#pragma once
/// One GPU as `warpmer devices` shows it.

#include <string>

#include "cli/index_summary.h"
#include "cli/text_output.h"
#include "engine/gpus.h"

namespace warpmer::cli {

/// As --device takes it: "cuda:0".
std::string device_name(int ordinal);

/// What `devices --json` says of a GPU.
Json gpu_json(const engine::Gpu& gpu);

/// The same as lines of a label and a value.
void print_gpu(const engine::Gpu& gpu, TextOutput& output);

}  // namespace warpmer::cli
