#include "system/process_memory.h"

#include <malloc.h>

#include <optional>
#include <string_view>

#include "system/linux/kernel_files.h"

namespace warpmer::system {
namespace {

std::uint64_t bytes_in_status(std::string_view field) {
  return number_behind("/proc/self/status", field).value_or(0) * 1024;
}

}  // namespace

std::optional<std::uint64_t> resident_bytes() { return bytes_in_status("VmRSS:"); }
std::uint64_t peak_resident_bytes() { return bytes_in_status("VmHWM:"); }
std::uint64_t resident_bytes_of_no_file() { return bytes_in_status("RssAnon:"); }

void return_freed_memory() noexcept {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void return_freed_memory_at_once() noexcept {
#ifdef __GLIBC__
  // Left to itself, the allocator raises both with every large block that is freed, up to 32 and 64 MB.
  constexpr int kLargeBytes = 256 << 10;
  mallopt(M_MMAP_THRESHOLD, kLargeBytes);
  mallopt(M_TRIM_THRESHOLD, kLargeBytes);
  malloc_trim(0);
#endif
}

}  // namespace warpmer::system
