// Counting bins in iceberg tables.

#include "kernels/count/bin_counter.cuh"
#include "kernels/count/block_buckets.cuh"
#include "table/iceberg.h"

namespace warpmer::gpu {

namespace {
template <class Key>
using SharedIceberg = BlockBuckets<table::Iceberg<SharedBucketTile<Key>>>;
}  // namespace

const CountKernels kCount_iceberg = kCountKernels<SharedIceberg>;

}  // namespace warpmer::gpu
