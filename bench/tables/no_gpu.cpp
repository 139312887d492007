// In builds without CUDA.

#include "base/error.h"
#include "tables/workbench.h"

namespace warpmer::bench {

int gpus_there_are() { return 0; }

std::unique_ptr<Workbench> make_gpu_workbench(int /*device*/) {
  throw ResourceError("this warpmer-bench was built without CUDA; use --device cpu");
}

}  // namespace warpmer::bench
