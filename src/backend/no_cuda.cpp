// A build without CUDA says this instead.

#include "backend/backend.h"
#include "base/error.h"

namespace warpmer::backend {

std::unique_ptr<Backend> make_cuda_backend(const std::vector<int>& /*gpus*/) {
  throw ResourceError("this warpmer was built without CUDA");
}

}  // namespace warpmer::backend
