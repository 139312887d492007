// Cuckoo hashing with buckets of one slot (1CHT), and with two hash functions (as in Mega-KV).

#include "tables/gpu_word_table.cuh"

namespace warpmer::bench {
namespace {

constexpr TableEntry kTables[] = {
    entry<CuckooFamily<4>, 1, 1>("1cht", 0.9),    entry<CuckooFamily<2>, 8, 1>("megakv", 0.97),
    entry<CuckooFamily<2>, 4, 2>("megakv", 0.97), entry<CuckooFamily<2>, 2, 4>("megakv", 0.97),
    entry<CuckooFamily<2>, 1, 8>("megakv", 0.97), entry<CuckooFamily<2>, 4, 4>("megakv", 0.98),
};

}  // namespace

const TableList kGpuCuckoo = kTables;

}  // namespace warpmer::bench
