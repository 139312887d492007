// Counting bins in bucketed cuckoo tables.

#include "kernels/count/bin_counter.cuh"
#include "kernels/count/block_buckets.cuh"

namespace warpmer::gpu {

namespace {
template <class Key>
using SharedBcht = BlockBuckets<table::Cuckoo<SharedBucketTile<Key>, 3>>;
}  // namespace

const CountKernels kCountBcht = kCountKernels<SharedBcht>;

}  // namespace warpmer::gpu
