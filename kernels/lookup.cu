#include "core/error.h"
#include "engine/lookup.h"
namespace warpmer::engine {
std::unique_ptr<Lookup> make_cuda_lookup(const index::IndexFile&, bool, int, std::uint64_t) {
  throw ResourceError("todo");
}
}  // namespace warpmer::engine
