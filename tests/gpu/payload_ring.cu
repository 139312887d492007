#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "gpu/device.h"
#include "kernels/freeze/payload_ring.cuh"
#include "kernels/memory/ring_places.cuh"

namespace {

using namespace warpmer;
using namespace warpmer::gpu;

TEST_CASE("places are taken and given back round and round") {
  RingPlaces places(100);
  CHECK_FALSE(places.take(101));
  CHECK(places.take(40) == 0);
  CHECK(places.take(40) == 40);
  CHECK_FALSE(places.take(40));
  places.give_back();
  CHECK(places.take(40) == 0);
  CHECK_FALSE(places.take(20));  // the end is free, but behind the last one another is in the way
  places.give_back();
  CHECK(places.take(60) == 40);
  places.give_back();
  places.give_back();
  CHECK(places.is_empty());
  CHECK(places.take(100) == 0);
}

/// Has no use for any chunk.
class NoReader : public ChunkSink {
 public:
  void put(FrozenChunk&& /*chunk*/) override {}
  void wait_for(std::uint32_t first_shard) override { waited_for.push_back(first_shard); }

  std::vector<std::uint32_t> waited_for;
};

TEST_CASE("payloads wait for the earliest ones") {
  REQUIRE(cudaSetDevice(tests::gpu_under_test().ordinal) == cudaSuccess);
  PayloadRing ring;
  NoReader chunks;
  const PayloadRing::Room first = ring.take(1, 100, 200, chunks);
  CHECK(ring.take(2, 100, 200, chunks).words == first.words + 100);
  CHECK(chunks.waited_for.empty());
  CHECK(ring.take(3, 50, 200, chunks).words == first.words);
  CHECK(chunks.waited_for == std::vector<std::uint32_t>{1});
  CHECK(ring.take(4, 120, 200, chunks).words == first.words + 50);
  CHECK(chunks.waited_for == std::vector<std::uint32_t>{1, 2});
  CHECK(ring.take(5, 1000, 200, chunks).words != nullptr);  // more than there was
  CHECK(chunks.waited_for == std::vector<std::uint32_t>{1, 2, 3, 4});
}

}  // namespace
