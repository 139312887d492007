// A build without CUDA says this instead.

#include "backend/lookup/lookup.h"
#include "base/error.h"

namespace warpmer::backend {

std::unique_ptr<Lookup> make_cuda_lookup(const index::IndexFile& /*index*/, const LookupOptions& /*options*/,
                                         const Devices& /*devices*/) {
  throw ResourceError("this warpmer was built without CUDA");
}

}  // namespace warpmer::backend
