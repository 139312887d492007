// Counting lists in iceberg tables.

#include "kernels/count/list_counter.cuh"
#include "kernels/count/shared_buckets.cuh"

namespace warpmer::gpu {

namespace {
template <class Key>
using SharedIceberg = SharedBuckets<table::Iceberg<SharedBucketTile<Key>>>;
}  // namespace

const CountKernels kCountIceberg = kCountKernels<SharedIceberg>;

}  // namespace warpmer::gpu
