#include "tiles/slab_ops_cuda.cuh"

namespace warpmer::tests {

std::vector<SlabOnTile> cuda_slab_tables() {
  return {describe_cuda<SlabCounts, Key64, 16, 1>("64-bit keys with counts, 16 lanes of 1"),
          describe_cuda<SlabCounts, Key64, 4, 4>("64-bit keys with counts, 4 lanes of 4"),
          describe_cuda<SlabCounts, Key64, 1, 10>("64-bit keys with counts, 1 lane of 10"),
          describe_cuda<SlabWords, Key64, 16, 1>("pairs, 16 lanes of 1"),
          describe_cuda<SlabWords, Key64, 8, 2>("pairs, 8 lanes of 2"),
          describe_cuda<SlabWords, table::PlainWord, 32, 1>("32-bit keys, 32 lanes of 1"),
          describe_cuda<SlabWords, table::PlainWord, 8, 4>("32-bit keys, 8 lanes of 4")};
}

}  // namespace warpmer::tests
