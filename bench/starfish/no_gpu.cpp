// In builds without CUDA.

#include "base/error.h"
#include "starfish/experiments.h"

namespace warpmer::bench {

std::unique_ptr<StarfishBench> make_gpu_starfish(const StarfishSetting& /*setting*/, int /*device*/) {
  throw ResourceError("this warpmer-bench was built without CUDA; use --device cpu");
}

}  // namespace warpmer::bench
