// Pinned memory that grows and shrinks in place, and what it holds.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/error.h"
#include "gpu/device.h"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/growing_pages.cuh"
#include "system/huge_pages.h"

namespace {

using namespace warpmer;
using gpu::GrowingPages;

constexpr std::size_t kPiece = GrowingPages::kPieceBytes;

std::byte value_at(std::size_t i) { return static_cast<std::byte>(i / system::kHugePageBytes * 7 + i % 251); }

/// Writes the bytes [begin, end) by the GPU, part by part.
void write(const GrowingPages& pages, std::size_t begin, std::size_t end) {
  std::vector<std::byte> bytes(end);
  for (std::size_t i = begin; i < end; ++i) bytes[i] = value_at(i);
  const gpu::DeviceArray<std::byte> there(end);
  const gpu::Stream stream;
  gpu::copy_to_device(there.data(), bytes.data(), end, stream);
  pages.for_each_part(end, [&](std::size_t first, std::size_t last) {
    first = std::max(first, begin);
    if (first < last) gpu::copy_to_host(pages.data() + first, there.data() + first, last - first, stream);
  });
  stream.wait();
}

/// True when the first `end` bytes are those that were written.
bool holds(const GrowingPages& pages, std::size_t end) {
  for (std::size_t i = 0; i < end; ++i) {
    if (pages.data()[i] != value_at(i)) return false;
  }
  return true;
}

TEST_CASE("pages grow, shrink and grow again, and hold what they held") {
  REQUIRE(cudaSetDevice(tests::gpu_under_test().ordinal) == cudaSuccess);
  for (const unsigned threads : {1u, 8u}) {
    CAPTURE(threads);
    GrowingPages pages(5 * kPiece);
    CHECK(pages.bytes() == 0);
    std::byte* const data = pages.data();
    pages.resize(1000, threads);
    CHECK(pages.bytes() == system::kHugePageBytes);
    write(pages, 0, 1000);
    pages.resize(2 * kPiece + 5, threads);
    CHECK(pages.bytes() == system::whole_huge_pages(2 * kPiece + 5));
    CHECK(holds(pages, 1000));
    write(pages, 1000, 2 * kPiece + 5);
    pages.resize(4 * kPiece, threads);
    CHECK(holds(pages, 2 * kPiece + 5));
    pages.resize(kPiece, threads);
    // Whole pieces go, which begin where what there was before ended.
    CHECK(pages.bytes() >= kPiece);
    CHECK(pages.bytes() < 2 * kPiece + system::kHugePageBytes);
    CHECK(holds(pages, kPiece));
    pages.resize(5 * kPiece, threads);
    CHECK(pages.bytes() == 5 * kPiece);
    CHECK(holds(pages, kPiece));
    write(pages, kPiece, 5 * kPiece);
    CHECK(holds(pages, 5 * kPiece));
    CHECK(pages.data() == data);
    pages.resize(0, threads);
    CHECK(pages.bytes() == 0);
    pages.resize(1, threads);
    CHECK(pages.bytes() == system::kHugePageBytes);
  }
}

TEST_CASE("parts of pages cover what is asked for, and no more than there is") {
  REQUIRE(cudaSetDevice(tests::gpu_under_test().ordinal) == cudaSuccess);
  GrowingPages pages(3 * kPiece);
  pages.resize(system::kHugePageBytes);
  pages.resize(2 * kPiece);
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, system::kHugePageBytes, kPiece, 2 * kPiece}) {
    std::size_t covered = 0;
    pages.for_each_part(bytes, [&](std::size_t begin, std::size_t end) {
      CHECK(begin == covered);
      CHECK(end > begin);
      covered = end;
    });
    CHECK(covered == bytes);
  }
  CHECK_THROWS_AS(pages.for_each_part(2 * kPiece + 1, [](std::size_t, std::size_t) {}), InternalError);
  GrowingPages moved(std::move(pages));
  CHECK(moved.bytes() == 2 * kPiece);
}

}  // namespace
