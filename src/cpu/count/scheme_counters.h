#pragma once
/// Tables of the schemes of src/table. Each is made in a source of its own, cpu/tables/NAME.cpp.

#include <cstdint>
#include <memory>

#include "backend/count_table.h"
#include "cpu/count/hash_counter.h"
#include "cpu/simd/kernels.h"

namespace warpmer::cpu {

#define WARPMER_ENTRY(name) \
  template <class Key>      \
  std::unique_ptr<HashCounter<Key>> make_##name(const Kernels& kernels, std::uint32_t k);
WARPMER_COUNT_SCHEMES(WARPMER_ENTRY)
#undef WARPMER_ENTRY

/// Makes a table for hashes of k-mers of 2k bits; null if `which` is no scheme.
template <class Key>
std::unique_ptr<HashCounter<Key>> make_scheme_counter(backend::CountTable which, const Kernels& kernels,
                                                      std::uint32_t k) {
#define WARPMER_ENTRY(name) \
  if (which == backend::CountTable::name) return make_##name<Key>(kernels, k);
  WARPMER_COUNT_SCHEMES(WARPMER_ENTRY)
#undef WARPMER_ENTRY
  return nullptr;
}

}  // namespace warpmer::cpu
