// Threads that share a counter (the rest is tests/unit/base/flat_combining.cpp).

#include <doctest/doctest.h>

#include "kernels/count/counter_queue.cuh"

using namespace warpmer;
using namespace warpmer::gpu;

namespace {

struct RoomMaker : KmerCounter {
  [[nodiscard]] cudaStream_t stream() const override { return nullptr; }
  void add(const char*, std::uint32_t, const std::uint32_t*, std::uint32_t, std::uint32_t*,
           CutStatus*) override {}
  void make_room() override { ++rooms; }
  [[nodiscard]] bool wants_room(std::uint32_t) const override { return false; }

  unsigned rooms = 0;
};

}  // namespace

TEST_CASE("shared counter: room is made once for all who found none at the same time") {
  RoomMaker counter;
  CounterQueue shared(counter);
  const std::uint64_t before = shared.rooms_made();
  for (int i = 0; i < 3; ++i) shared.alone([&] { shared.make_room(before); });
  CHECK(counter.rooms == 1);
  const std::uint64_t later = shared.rooms_made();
  shared.alone([&] { shared.make_room(later); });
  CHECK(counter.rooms == 2);
}
