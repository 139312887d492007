// A paged table holds what a map holds, whatever fits in memory at once; and moves no more than it must.
// ctest: one thread

#include "table/paged_table.h"

#include "bench/starfish/host_children.h"
#include "paging/paged_kmer_suite.h"
#include "paging/paged_table_suite.h"

namespace {

using namespace warpmer;
using namespace warpmer::tests;
using Table = table::PagedTable<bench::HostChildren<table::Key32>>;

TEST_CASE("random operations, from one child in memory to all") { check_random_operations<Table>(); }
TEST_CASE("children grow and are halved") { check_growth<Table>(); }
TEST_CASE("batches of one key and of none") { check_skewed<Table>(); }
TEST_CASE("a child that fails is built anew, alone") { check_forced_failures<Table>(); }
TEST_CASE("a full child in which keys were erased") { check_erased_and_full<Table>(); }
TEST_CASE("children in the order of arrival") { check_by_arrival<Table>(); }
TEST_CASE("a batch smaller than the frames are many") { check_tiny_batch<Table>(); }
TEST_CASE("queries with locality") { check_locality<Table>(); }
TEST_CASE("swaps are as many as they must be") { check_swaps<Table>(); }

TEST_CASE("k-mers") { check_kmers_of_all_lengths<bench::HostChildren>(true); }
TEST_CASE("no more children than there may be") { check_most_children<bench::HostChildren>(); }
TEST_CASE("two shards as large as a child, told apart by one bit") {
  check_crowded_neighbours<bench::HostChildren>();
}
TEST_CASE("children by what is known to come") { check_weights<bench::HostChildren>(); }

}  // namespace
