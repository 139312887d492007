#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "base/thread_team.h"
#include "host/limits.h"
#include "kernels/memory/pinned_pages.cuh"
#include "system/huge_pages.h"

namespace warpmer::gpu::detail {

namespace {

/// The bytes that each thread is given at once.
constexpr std::size_t kBytesAtOnce = std::size_t{4} << 20;

}  // namespace

PinnedPages pin_pages(std::size_t bytes) {
  char* const memory = system::map_huge_pages(system::whole_huge_pages(bytes));
  if (memory == nullptr) throw_no_pages(bytes);
  try {
    touch_pages(memory, bytes, 1);
    register_pages(memory, bytes);
  } catch (...) {
    system::unmap_huge_pages(memory, system::whole_huge_pages(bytes));
    throw;
  }
  return PinnedPages(memory, UnpinPages{bytes});
}

void UnpinPages::operator()(void* memory) const noexcept {
  {
    const DriverLock::Shared use;
    cudaHostUnregister(memory);
  }
  system::unmap_huge_pages(memory, system::whole_huge_pages(bytes));
}

void touch_pages(void* begin, std::size_t bytes, unsigned threads) {
  const std::size_t page = system::page_bytes();
  const auto touch_part = [&](std::size_t first) {
    const std::size_t end = std::min(bytes, first + kBytesAtOnce);
    for (std::size_t at = first; at < end; at += page) {
      volatile char& one = static_cast<char*>(begin)[at];
      one = one;
    }
  };
  const std::size_t parts = (bytes + kBytesAtOnce - 1) / kBytesAtOnce;
  // To find out how many cores there are takes longer than to touch a part.
  if (threads > 1)
    threads = static_cast<unsigned>(std::min<std::size_t>({parts, host::usable_cores(), threads}));
  std::atomic<std::size_t> next{0};
  run_team(
      threads,
      [&](unsigned /*number*/) {
        for (std::size_t part; (part = next.fetch_add(1)) < parts;) touch_part(part * kBytesAtOnce);
      },
      [&] { next = parts; });
}

void register_pages(void* begin, std::size_t bytes) {
  const DriverLock::Shared use;
  if (cudaHostRegister(begin, bytes, cudaHostRegisterPortable) == cudaSuccess) return;
  throw_no_pages(bytes);
}

void throw_no_pages(std::size_t bytes) {
  cudaGetLastError();  // or the next launch would seem to have failed
  throw ResourceError("the system has no " + megabytes_up(bytes) +
                      " of host memory left that a GPU can copy from; give warpmer more memory, or lower -t "
                      "if it is above 1");
}

}  // namespace warpmer::gpu::detail
