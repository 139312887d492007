// WarpDrive with the windows of the paper, walked by groups of every width (Juenger et al. 2018, Fig. 7).

#include "tables/gpu/gpu_word_table.cuh"

namespace warpmer::bench {
namespace {

using Family = WarpDriveFamily<32>;

constexpr TableEntry kWarpDriveTables[] = {
    entry<Family, 1, 1>("warpdrive", 0.99),  entry<Family, 2, 1>("warpdrive", 0.99),
    entry<Family, 4, 1>("warpdrive", 0.99),  entry<Family, 8, 1>("warpdrive", 0.99),
    entry<Family, 16, 1>("warpdrive", 0.99), entry<Family, 32, 1>("warpdrive", 0.99),
    entry<Family, 1, 4>("warpdrive", 0.99),  entry<Family, 2, 2>("warpdrive", 0.99),
    entry<Family, 2, 4>("warpdrive", 0.99),
};

}  // namespace

const TableList kGpuWarpDrive = kWarpDriveTables;

}  // namespace warpmer::bench
