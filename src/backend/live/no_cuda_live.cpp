// A build without CUDA says this instead.

#include "backend/live/live_table.h"
#include "base/error.h"

namespace warpmer::backend {

std::unique_ptr<LiveTable> make_cuda_live_table(const LiveTablePlan& /*plan*/, const Devices& /*devices*/) {
  throw ResourceError("this warpmer was built without CUDA");
}

}  // namespace warpmer::backend
