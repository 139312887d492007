// Counting in bucketed cuckoo tables.

#include "cpu/tables/bucket_table.h"
#include "table/cuckoo.h"

namespace warpmer::cpu {
namespace {

template <class Key>
class Bcht : public InBuckets<table::Cuckoo<BucketTile<Key>, 3>> {
 public:
  using InBuckets<table::Cuckoo<BucketTile<Key>, 3>>::InBuckets;
  static constexpr double kLoad = 0.9;
  static constexpr std::uint32_t kSeeds = 3;
};

}  // namespace

WARPMER_KERNELS_IN(bcht, Bcht)
WARPMER_COUNT_IN(bcht, Bcht)

}  // namespace warpmer::cpu
