// WarpDrive with windows of as many slots as a group looks at: double hashing between buckets of 32, 64 and
// 128 bytes.

#include "tables/gpu/gpu_word_table.cuh"

namespace warpmer::bench {
namespace {

constexpr TableEntry kBucketedWarpDriveTables[] = {
    entry<WarpDriveFamily<4>, 1, 4>("warpdrive", 0.98),  entry<WarpDriveFamily<4>, 2, 2>("warpdrive", 0.98),
    entry<WarpDriveFamily<8>, 1, 8>("warpdrive", 0.98),  entry<WarpDriveFamily<8>, 2, 4>("warpdrive", 0.98),
    entry<WarpDriveFamily<8>, 4, 2>("warpdrive", 0.98),  entry<WarpDriveFamily<8>, 8, 1>("warpdrive", 0.98),
    entry<WarpDriveFamily<16>, 4, 4>("warpdrive", 0.99), entry<WarpDriveFamily<16>, 8, 2>("warpdrive", 0.99),
};

}  // namespace

const TableList kGpuBucketedWarpDrive = kBucketedWarpDriveTables;

}  // namespace warpmer::bench
