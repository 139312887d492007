// Counting lists in iceberg tables.

#include "list_counter.cuh"
#include "shared_buckets.cuh"

namespace warpmer::gpu {

namespace {
template <class Key>
using SharedIceberg = SharedBuckets<table::Iceberg<SharedBucketTile<Key>>>;
}  // namespace

const CountKernels kCountIceberg = kCountKernels<SharedIceberg>;

}  // namespace warpmer::gpu
