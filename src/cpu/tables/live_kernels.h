#pragma once
/// Kernels of the schemes that live tables (cpu/live) have.

#include "cpu/simd/kernels.h"
#include "cpu/tables/table_counter.h"
#include "kmer/kmer.h"

namespace warpmer::cpu {

/// Returns the kernels of a scheme, by the type of its tables, for an instruction set.
template <class Table>
const TableKernels<Table>& live_kernels(const Kernels& kernels);

/// Declares them for a template of tables. Their source has WARPMER_LIVE_IN (cpu/tables/scheme.h).
#define WARPMER_LIVE_KERNELS(Table)                                       \
  template <>                                                             \
  const TableKernels<Table<Key64>>& live_kernels(const Kernels& kernels); \
  template <>                                                             \
  const TableKernels<Table<Key128>>& live_kernels(const Kernels& kernels);

}  // namespace warpmer::cpu
