#pragma once
/// Lookups on GPUs, by what they may hold there. Who asks for a cap calls backend::make_cuda_lookup.

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/lookup.h"

namespace warpmer::gpu {

/// What a lookup may hold of each GPU's memory.
struct LookupMemory {
  std::uint64_t bytes = 0;      ///< of arrays, all together; the memory pool holds more
  std::uint64_t cap_bytes = 0;  ///< --device-memory, where that is what limits them; else 0
};

/// As backend::make_cuda_lookup, which see.
std::unique_ptr<backend::Lookup> make_lookup_within(const index::IndexFile& index, bool lenient,
                                                    const std::vector<int>& gpus, const LookupMemory& memory,
                                                    backend::LookupTable table = backend::LookupTable::index,
                                                    bool may_page = true);

}  // namespace warpmer::gpu
