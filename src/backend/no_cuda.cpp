// A build without CUDA says this instead.

#include "backend/backend.h"
#include "backend/lookup.h"
#include "base/error.h"

namespace warpmer::backend {

namespace {
constexpr const char* kNoCuda = "this warpmer was built without CUDA";
}  // namespace

std::unique_ptr<Backend> make_cuda_backend(const std::vector<int>& /*gpus*/) { throw ResourceError(kNoCuda); }

std::unique_ptr<Lookup> make_cuda_lookup(const index::IndexFile& /*index*/, const LookupOptions& /*options*/,
                                         const Devices& /*devices*/) {
  throw ResourceError(kNoCuda);
}

}  // namespace warpmer::backend
