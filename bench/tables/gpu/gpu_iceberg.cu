// Iceberg hashing (Awad et al. 2023): buckets of 128 and 256 bytes.

#include "tables/gpu/gpu_word_table.cuh"

namespace warpmer::bench {
namespace {

constexpr TableEntry kIcebergTables[] = {
    entry<IcebergFamily, 16, 1>("iceberg", 0.86), entry<IcebergFamily, 8, 2>("iceberg", 0.86),
    entry<IcebergFamily, 4, 4>("iceberg", 0.86),  entry<IcebergFamily, 32, 1>("iceberg", 0.93),
    entry<IcebergFamily, 8, 4>("iceberg", 0.93),
};

}  // namespace

const TableList kGpuIceberg = kIcebergTables;

}  // namespace warpmer::bench
