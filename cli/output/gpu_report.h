#pragma once
/// One GPU as `warpmer devices` shows it.

#include <string>

#include "cli/framework/text_output.h"
#include "cli/output/index_summary.h"
#include "host/gpus.h"

namespace warpmer::cli {

/// As --device takes it: "cuda:0".
std::string device_name(int ordinal);

/// A text, or null when there is none.
Json text_or_null(const std::string& text);

/// What `devices --json` says of a GPU.
Json gpu_json(const host::Gpu& gpu);

/// The same as lines of a label and a value.
void print_gpu(const host::Gpu& gpu, TextOutput& output);

}  // namespace warpmer::cli
