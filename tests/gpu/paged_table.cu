// A paged table whose children take turns on a GPU is what one in host memory is.

#include "gpu/device.h"
#include "kernels/live/device_children.cuh"
#include "paging/paged_kmer_suite.h"
#include "paging/paged_table_suite.h"

namespace {

using namespace warpmer;
using namespace warpmer::tests;
using Table = gpu::PagedPairTable;

TEST_CASE("random operations, from one child on the GPU to all") { check_random_operations<Table>(); }
TEST_CASE("children grow and are halved") { check_growth<Table>(); }
TEST_CASE("batches of one key and of none") { check_skewed<Table>(); }
TEST_CASE("a child that fails is built anew, alone") { check_forced_failures<Table>(); }
TEST_CASE("a full child in which keys were erased") { check_erased_and_full<Table>(); }
TEST_CASE("children in the order of arrival") { check_by_arrival<Table>(); }
TEST_CASE("a batch smaller than the frames are many") { check_tiny_batch<Table>(); }
TEST_CASE("queries with locality") { check_locality<Table>(); }
TEST_CASE("swaps are as many as they must be") { check_swaps<Table>(); }

TEST_CASE("k-mers") { check_kmers_of_all_lengths<gpu::DeviceChildren>(can_count(64)); }
TEST_CASE("no more children than there may be") { check_most_children<gpu::DeviceChildren>(); }
TEST_CASE("two shards as large as a child, told apart by one bit") {
  check_crowded_neighbours<gpu::DeviceChildren>();
}
TEST_CASE("children by what is known to come") { check_weights<gpu::DeviceChildren>(); }

/// More than a few of everything: frames are swapped while others are worked on.
TEST_CASE("large children, large batches") {
  for (const table::Placement placement : {table::Placement::by_key, table::Placement::by_arrival}) {
    table::PagedTablePlan plan;
    plan.frames = 3;
    plan.frame_buckets = 20000;
    plan.children = 8;
    plan.placement = placement;
    plan.batch = 1500000;
    PagedLedger<Table> ledger(plan, 11);
    for (int i = 0; i < 3; ++i) {
      ledger.insert_next(1200000);
      ledger.check(100000, 6000000);
    }
    ledger.check_all();
    CHECK(ledger.table.paging().fetches > 0);
  }
}

}  // namespace
