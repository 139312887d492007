#pragma once
/// Shows one GPU, for `warpmer devices`.

#include <string>

#include "cli/framework/text_output.h"
#include "cli/output/index_summary.h"
#include "host/gpus.h"

namespace warpmer::cli {

/// Returns the name that --device takes: "cuda:0".
std::string device_name(int ordinal);

/// Returns a text, or null when it is empty.
Json text_or_null(const std::string& text);

/// Returns the report of `devices --json` on a GPU.
Json gpu_json(const host::Gpu& gpu);

/// Prints the same as lines of a label and a value.
void print_gpu(const host::Gpu& gpu, TextOutput& output);

}  // namespace warpmer::cli
