#pragma once
/// The GPU that tests run on: the first that warpmer can use. It is current on the main thread.

#include "core/kmer.h"
#include "engine/gpus.h"

namespace warpmer::tests {

const engine::Gpu& gpu_under_test();

/// Whether k-mers of this length can be counted on it: 128-bit keys need compute capability 9.0.
inline bool can_count(std::uint32_t k) { return k <= kMaxNarrowK || gpu_under_test().major >= 9; }

}  // namespace warpmer::tests
