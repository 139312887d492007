#include "system/process_memory.h"

#include <sys/resource.h>
#ifdef __APPLE__
#include <mach/mach.h>
#endif

namespace warpmer::system {

std::optional<std::uint64_t> resident_bytes() {
#ifdef __APPLE__
  mach_task_basic_info info{};
  mach_msg_type_number_t words = MACH_TASK_BASIC_INFO_COUNT;
  if (::task_info(::mach_task_self(), MACH_TASK_BASIC_INFO, reinterpret_cast<task_info_t>(&info), &words) ==
      KERN_SUCCESS)
    return info.resident_size;
#endif
  return std::nullopt;
}

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

void return_freed_memory() noexcept {}
void return_freed_memory_at_once() noexcept {}

}  // namespace warpmer::system
