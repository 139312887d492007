// What a build without CUDA says instead.

#include "core/error.h"
#include "engine/backend.h"
#include "engine/lookup.h"

namespace warpmer::engine {

namespace {
constexpr const char* kNoCuda = "this warpmer was built without CUDA";
}  // namespace

std::unique_ptr<Backend> make_cuda_backend(const std::vector<int>& /*gpus*/) { throw ResourceError(kNoCuda); }

std::unique_ptr<Lookup> make_cuda_lookup(const index::IndexFile& /*index*/, bool /*lenient*/,
                                         const std::vector<int>& /*gpus*/,
                                         std::uint64_t /*device_memory_bytes*/, LookupTable /*table*/,
                                         bool /*may_page*/) {
  throw ResourceError(kNoCuda);
}

}  // namespace warpmer::engine
