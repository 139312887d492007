// Bucketed cuckoo hashing with three hash functions, buckets of 32 to 256 bytes (Awad et al. 2023).

#include "tables/gpu/gpu_word_table.cuh"

namespace warpmer::bench {
namespace {

using BchtFamily = CuckooFamily<3>;

constexpr TableEntry kBchtTables[] = {
    entry<BchtFamily, 16, 1>("bcht", 0.99), entry<BchtFamily, 8, 2>("bcht", 0.99),
    entry<BchtFamily, 4, 4>("bcht", 0.99),  entry<BchtFamily, 8, 1>("bcht", 0.98),
    entry<BchtFamily, 4, 2>("bcht", 0.98),  entry<BchtFamily, 2, 4>("bcht", 0.98),
    entry<BchtFamily, 1, 8>("bcht", 0.98),  entry<BchtFamily, 2, 2>("bcht", 0.97),
    entry<BchtFamily, 1, 4>("bcht", 0.97),  entry<BchtFamily, 32, 1>("bcht", 0.995),
    entry<BchtFamily, 8, 4>("bcht", 0.995),
};

}  // namespace

const TableList kGpuBcht = kBchtTables;

}  // namespace warpmer::bench
