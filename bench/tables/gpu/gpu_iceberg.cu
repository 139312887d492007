// Iceberg hashing (Awad et al. 2023): buckets of 64, 128 and 256 bytes; and primary buckets that send keys on
// earlier or later than at 80 %.

#include "tables/gpu/gpu_word_table.cuh"

namespace warpmer::bench {
namespace {

constexpr TableEntry kIcebergTables[] = {
    entry<IcebergFamily<>, 16, 1>("iceberg", 0.86),      entry<IcebergFamily<>, 8, 2>("iceberg", 0.86),
    entry<IcebergFamily<>, 4, 4>("iceberg", 0.86),       entry<IcebergFamily<>, 32, 1>("iceberg", 0.93),
    entry<IcebergFamily<>, 8, 4>("iceberg", 0.93),       entry<IcebergFamily<>, 8, 1>("iceberg", 0.76),
    entry<IcebergFamily<>, 4, 2>("iceberg", 0.76),       entry<IcebergFamily<50>, 16, 1>("iceberg-50", 0.9),
    entry<IcebergFamily<60>, 16, 1>("iceberg-60", 0.9),  entry<IcebergFamily<65>, 16, 1>("iceberg-65", 0.9),
    entry<IcebergFamily<95>, 16, 1>("iceberg-95", 0.9),  entry<IcebergFamily<50>, 32, 1>("iceberg-50", 0.95),
    entry<IcebergFamily<60>, 32, 1>("iceberg-60", 0.95), entry<IcebergFamily<65>, 32, 1>("iceberg-65", 0.95),
    entry<IcebergFamily<95>, 32, 1>("iceberg-95", 0.95),
};

}  // namespace

const TableList kGpuIceberg = kIcebergTables;

}  // namespace warpmer::bench
