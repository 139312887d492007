#pragma once
/// Kernels of the schemes that live tables (cpu/live) have.

#include "cpu/simd/kernels.h"
#include "cpu/tables/table_counter.h"

namespace warpmer::cpu {

/// Returns the kernels of a scheme, by the type of its tables, for an instruction set. Their source has
/// WARPMER_LIVE_IN (cpu/tables/scheme.h).
template <class Table>
const TableKernels<Table>& live_kernels(const Kernels& kernels);

}  // namespace warpmer::cpu
