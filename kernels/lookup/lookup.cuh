#pragma once
/// Makes lookups on GPUs that keep to a given amount of GPU memory. A caller with a cap uses
/// backend::make_cuda_lookup.

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/lookup/lookup.h"

namespace warpmer::gpu {

/// The memory of each GPU that a lookup may hold.
struct LookupMemory {
  std::uint64_t bytes = 0;      ///< bytes of all arrays together; the memory pool holds more
  std::uint64_t cap_bytes = 0;  ///< --device-memory if that limits them; else 0
};

/// Makes a lookup, as backend::make_cuda_lookup does; see there.
std::unique_ptr<backend::Lookup> make_lookup_within(const index::IndexFile& index,
                                                    const backend::LookupOptions& options,
                                                    const std::vector<int>& gpus, const LookupMemory& memory);

}  // namespace warpmer::gpu
