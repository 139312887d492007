#include <atomic>
#include <utility>

#include "core/error.h"
#include "core/huge_pages.h"
#include "device_memory.cuh"
#include "engine/limits.h"
#include "engine/thread_team.h"
#include "growing_pages.cuh"

namespace warpmer::gpu {

namespace {

/// What each thread has cleared at once.
constexpr std::size_t kBytesAtOnce = std::size_t{4} << 20;

/// The driver would have pages cleared by one thread.
void touch(std::byte* begin, std::size_t bytes, unsigned threads) {
  const std::size_t page = system_page_bytes();
  const auto touch_part = [&](std::size_t first) {
    const std::size_t end = std::min(bytes, first + kBytesAtOnce);
    for (std::size_t at = first; at < end; at += page) {
      volatile std::byte& one = begin[at];
      one = one;
    }
  };
  const std::size_t parts = (bytes + kBytesAtOnce - 1) / kBytesAtOnce;
  threads = static_cast<unsigned>(std::min<std::size_t>({parts, engine::usable_cores(), threads}));
  std::atomic<std::size_t> next{0};
  engine::run_team(
      threads,
      [&](unsigned /*number*/) {
        for (std::size_t part; (part = next.fetch_add(1)) < parts;) touch_part(part * kBytesAtOnce);
      },
      [&] { next = parts; });
}

[[noreturn]] void throw_no_memory(std::size_t bytes) {
  throw ResourceError("the system has no " + megabytes(bytes) +
                      " of host memory left that a GPU can copy from; give warpmer more memory");
}

}  // namespace

GrowingPages::GrowingPages(std::size_t most_bytes) : most_bytes_(whole_huge_pages(most_bytes)) {
  data_ = reinterpret_cast<std::byte*>(map_huge_pages(most_bytes_));
  if (data_ == nullptr) throw_no_memory(most_bytes_);
}

GrowingPages::~GrowingPages() {
  while (!ends_.empty()) unpin_last();
  if (data_ != nullptr) unmap_huge_pages(data_, most_bytes_);
}

void GrowingPages::swap(GrowingPages& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(most_bytes_, other.most_bytes_);
  std::swap(ends_, other.ends_);
}

void GrowingPages::resize(std::size_t bytes, unsigned threads) {
  const std::size_t end = whole_huge_pages(bytes);
  if (end > this->bytes()) {
    grow(end, threads);
  } else {
    shrink(end);
  }
}

/// Whole pieces only: what is pinned may be as much larger.
void GrowingPages::shrink(std::size_t end) noexcept {
  const std::size_t before = bytes();
  while (ends_.size() > 1 && ends_[ends_.size() - 2] >= end) unpin_last();
  if (end == 0 && !ends_.empty()) unpin_last();
  if (before > bytes()) give_back_pages(data_ + bytes(), before - bytes());
}

void GrowingPages::grow(std::size_t end, unsigned threads) {
  const std::size_t before = bytes();
  try {
    touch(data_ + before, end - before, threads);
    while (bytes() < end) pin(std::min(end, bytes() + kPieceBytes));
  } catch (...) {
    while (bytes() > before) unpin_last();
    give_back_pages(data_ + before, end - before);
    throw;
  }
}

void GrowingPages::pin(std::size_t end) {
  const std::size_t more = end - bytes();
  ends_.reserve(ends_.size() + 1);
  const DriverUse use;
  const cudaError_t result = cudaHostRegister(data_ + bytes(), more, cudaHostRegisterPortable);
  if (result == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // or the next launch would seem to have failed
    throw_no_memory(more);
  }
  check(result, "pinning host memory");
  ends_.push_back(end);
}

void GrowingPages::unpin_last() noexcept {
  ends_.pop_back();
  const DriverUse use;
  cudaHostUnregister(data_ + bytes());
}

}  // namespace warpmer::gpu
