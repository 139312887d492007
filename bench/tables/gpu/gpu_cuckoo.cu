// Cuckoo hashing with buckets of one slot (1CHT), with two hash functions (as in Mega-KV), and with evictions
// as the last resort.

#include "tables/gpu/gpu_word_table.cuh"

namespace warpmer::bench {
namespace {

using Late = CuckooFamily<3, table::Eviction::last>;
using LateOfTwo = CuckooFamily<2, table::Eviction::last>;

constexpr TableEntry kCuckooTables[] = {
    entry<CuckooFamily<4>, 1, 1>("1cht", 0.9),     entry<CuckooFamily<2>, 8, 1>("megakv", 0.97),
    entry<CuckooFamily<2>, 4, 2>("megakv", 0.97),  entry<CuckooFamily<2>, 2, 4>("megakv", 0.97),
    entry<CuckooFamily<2>, 1, 8>("megakv", 0.97),  entry<CuckooFamily<2>, 4, 4>("megakv", 0.98),
    entry<Late, 2, 4>("cuckoo-late", 0.98),        entry<Late, 4, 4>("cuckoo-late", 0.99),
    entry<LateOfTwo, 2, 4>("cuckoo-late-2", 0.97), entry<LateOfTwo, 4, 4>("cuckoo-late-2", 0.98),
};

}  // namespace

const TableList kGpuCuckoo = kCuckooTables;

}  // namespace warpmer::bench
