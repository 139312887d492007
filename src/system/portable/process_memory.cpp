#include "system/process_memory.h"

#include <sys/resource.h>

namespace warpmer::system {

std::uint64_t resident_bytes() { return peak_resident_bytes(); }

std::uint64_t peak_resident_bytes() {
#ifdef __APPLE__
  constexpr std::uint64_t kUnit = 1;
#else
  constexpr std::uint64_t kUnit = 1024;
#endif
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * kUnit;
}

std::uint64_t resident_bytes_of_no_file() { return 0; }

void return_freed_memory_at_once() noexcept {}

}  // namespace warpmer::system
