// Counting in iceberg tables.

#include "table/iceberg.h"

#include "cpu/tables/bucket_table.h"

namespace warpmer::cpu {
namespace {

template <class Key>
class Iht : public InBuckets<table::Iceberg<BucketTile<Key>>> {
 public:
  using InBuckets<table::Iceberg<BucketTile<Key>>>::InBuckets;
  static constexpr double kLoad = 0.78;
  static constexpr std::uint32_t kSeeds = 3;
};

}  // namespace

WARPMER_KERNELS_IN(iceberg, Iht)
WARPMER_COUNT_IN(iceberg, Iht)

}  // namespace warpmer::cpu
