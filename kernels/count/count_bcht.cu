// Counting lists in bucketed cuckoo tables.

#include "kernels/count/list_counter.cuh"
#include "kernels/count/shared_buckets.cuh"

namespace warpmer::gpu {

namespace {
template <class Key>
using SharedBcht = SharedBuckets<table::Cuckoo<SharedBucketTile<Key>, 3>>;
}  // namespace

const CountKernels kCountBcht = kCountKernels<SharedBcht>;

}  // namespace warpmer::gpu
