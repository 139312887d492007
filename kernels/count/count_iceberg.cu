// Counting bins in iceberg tables.

#include "kernels/count/bin_counter.cuh"
#include "kernels/count/block_buckets.cuh"

namespace warpmer::gpu {

namespace {
template <class Key>
using SharedIceberg = BlockBuckets<table::Iceberg<SharedBucketTile<Key>>>;
}  // namespace

const CountKernels kCountIceberg = kCountKernels<SharedIceberg>;

}  // namespace warpmer::gpu
