// Pages that are made ahead are there when they are wanted, and go when they are not.

#include "core/pages_ahead.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <thread>

#include "engine/count_job.h"
#include "engine/limits.h"

namespace {

using namespace warpmer;

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

// What TSan remembers of memory is a multiple of it.
#ifdef __SANITIZE_THREAD__
constexpr bool kHoldsItsMemoryOnly = false;
#else
constexpr bool kHoldsItsMemoryOnly = true;
#endif

/// Whether the process holds `more` bytes more than before, at most.
bool has_grown_by_at_most(std::size_t more, std::uint64_t before) {
  return !kHoldsItsMemoryOnly || engine::resident_bytes() < before + more + 8 * kMegabyte;
}

void wait_until_made(const PagesAhead& pages, std::size_t bytes) {
  while (pages.made() < bytes) std::this_thread::yield();
}

TEST_CASE("pages are made without anybody touching them, and are taken once") {
  constexpr std::size_t kBytes = 256 * kMegabyte, kPart = 7 * kMegabyte;
  const std::uint64_t before = engine::resident_bytes();
  PagesAhead pages(kBytes, 3);
  wait_until_made(pages, kBytes);
  pages.stop();
  REQUIRE(pages.left() == kBytes);
  CHECK(engine::resident_bytes() + 8 * kMegabyte > before + kBytes);

  char* const one = pages.take(kPart);
  char* const other = pages.take(kPart);
  REQUIRE(one != nullptr);
  REQUIRE(other != nullptr);
  CHECK(std::count(one, one + kPart, 0) == static_cast<std::ptrdiff_t>(kPart));
  std::memset(one, 1, kPart);
  CHECK(std::count(other, other + kPart, 0) == static_cast<std::ptrdiff_t>(kPart));
  CHECK(pages.left() == kBytes - 2 * kPart);
  CHECK(pages.take(kBytes) == nullptr);
  CHECK(pages.left() == kBytes - 2 * kPart);

  pages.keep(20 * kMegabyte);
  CHECK(pages.left() == 20 * kMegabyte);
  CHECK(has_grown_by_at_most(2 * kPart + 20 * kMegabyte, before));
  pages.keep(100 * kMegabyte);  // no more than there is
  CHECK(pages.left() == 20 * kMegabyte);
  CHECK(std::count(one, one + kPart, 1) == static_cast<std::ptrdiff_t>(kPart));
  unmap_huge_pages(one, kPart);
  unmap_huge_pages(other, kPart);
}

TEST_CASE("what has not been made when it is stopped goes, and the rest goes with its owner") {
  const std::uint64_t before = engine::resident_bytes();
  {
    PagesAhead pages(4096 * kMegabyte, 2);
    wait_until_made(pages, 1);
    pages.stop();
    const std::size_t left = pages.left();
    CHECK(left > 0);
    CHECK(left < 4096 * kMegabyte);
    CHECK(has_grown_by_at_most(left, before));
    char* const all = pages.take(left);
    REQUIRE(all != nullptr);
    CHECK(pages.left() == 0);
    CHECK(pages.take(system_page_bytes()) == nullptr);
    unmap_huge_pages(all, left);
    pages.stop();  // again
  }
  { PagesAhead forgotten(64 * kMegabyte, 2); }
  CHECK(has_grown_by_at_most(0, before));
}

TEST_CASE("what is made ahead is what surely leaves GPUs, and a quarter of the cap at most") {
  engine::CountOptions options;
  options.memory_bytes = 1024 * kMegabyte;
  CHECK(engine::bytes_to_make_ahead(options, 600 * kMegabyte, 200 * kMegabyte) == 100 * kMegabyte);
  CHECK(engine::bytes_to_make_ahead(options, 9000 * kMegabyte, 200 * kMegabyte) == 256 * kMegabyte);
  CHECK(engine::bytes_to_make_ahead(options, 400 * kMegabyte, 200 * kMegabyte) == 0);
  CHECK(engine::bytes_to_make_ahead(options, 0, 200 * kMegabyte) == 0);
  CHECK(engine::bytes_to_make_ahead(options, 9000 * kMegabyte, 0) == 0);
  options.k = 12;  // an array of counters, which nothing ever leaves
  CHECK(engine::bytes_to_make_ahead(options, 9000 * kMegabyte, 200 * kMegabyte) == 0);
}

TEST_CASE("where there is no such memory, there are no pages") {
  PagesAhead pages(std::size_t{1} << 50, 2);
  pages.stop();
  CHECK(pages.left() == 0);
  CHECK(pages.take(system_page_bytes()) == nullptr);
  pages.keep(0);
}

}  // namespace
