// Bucketed cuckoo hashing with three hash functions, buckets of 32, 64 and 128 bytes (Awad et al. 2023).

#include "tables/gpu_word_table.cuh"

namespace warpmer::bench {
namespace {

using Family = CuckooFamily<3>;

constexpr TableEntry kTables[] = {
    entry<Family, 16, 1>("bcht", 0.99), entry<Family, 8, 2>("bcht", 0.99), entry<Family, 4, 4>("bcht", 0.99),
    entry<Family, 8, 1>("bcht", 0.98),  entry<Family, 4, 2>("bcht", 0.98), entry<Family, 2, 4>("bcht", 0.98),
    entry<Family, 1, 8>("bcht", 0.98),  entry<Family, 2, 2>("bcht", 0.97), entry<Family, 1, 4>("bcht", 0.97),
};

}  // namespace

const TableList kGpuBcht = kTables;

}  // namespace warpmer::bench
