// Tests that a live table of which a change was left half made is of no use any more.

#include "backend/live/table_loss.h"

#include <doctest/doctest.h>

#include <new>
#include <stdexcept>

using namespace warpmer;

TEST_CASE("a live table whose change was left half made says so from then on") {
  backend::TableLoss loss;
  unsigned changes = 0;
  loss.guard([&] { ++changes; });
  CHECK_NOTHROW(loss.check());

  constexpr const char* kWhy =
      "the live table is lost, because a change of it was left half made: no pinned memory";
  CHECK_THROWS_WITH_AS(loss.guard([] { throw std::runtime_error("no pinned memory"); }), kWhy, ResourceError);
  CHECK_THROWS_WITH_AS(loss.check(), kWhy, ResourceError);
  // No other change is begun, and the first reason stays.
  CHECK_THROWS_WITH_AS(loss.guard([&] { ++changes; }), kWhy, ResourceError);
  CHECK_THROWS_WITH_AS(loss.lose(std::bad_alloc()), kWhy, ResourceError);
  CHECK(changes == 1);
}
