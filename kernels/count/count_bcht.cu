// Counting bins in bucketed cuckoo tables.

#include "kernels/count/bin_counter.cuh"
#include "kernels/count/block_buckets.cuh"
#include "table/cuckoo.h"

namespace warpmer::gpu {

namespace {
template <class Key>
using SharedBcht = BlockBuckets<table::Cuckoo<SharedBucketTile<Key>, 3>>;
}  // namespace

const CountKernels kCount_bcht = kCountKernels<SharedBcht>;

}  // namespace warpmer::gpu
