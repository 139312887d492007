#include "tiles/slab_ops_cuda.cuh"

namespace warpmer::tests {

std::vector<SlabOnTile> cuda_wide_slab_tables() {
  return {describe_cuda<SlabCounts, Key128, 8, 1>("128-bit keys with counts, 8 lanes of 1"),
          describe_cuda<SlabCounts, Key128, 2, 3>("128-bit keys with counts, 2 lanes of 3")};
}

}  // namespace warpmer::tests
