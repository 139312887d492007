#include "host/resident_memory.h"

#include <algorithm>

#include "system/process_memory.h"

namespace warpmer::host {
namespace {

/// Memory of the program itself when a job begins, with its libraries (10.1 MiB measured). Those of CUDA and
/// Apache Arrow are in what jobs leave for what is accounted for nowhere.
constexpr std::uint64_t kProgramBytes = std::uint64_t{10} << 20;

}  // namespace

std::uint64_t resident_bytes_with(std::uint64_t held) {
  if (const auto now = system::resident_bytes()) return *now;
  return std::min(system::peak_resident_bytes(), kProgramBytes + held);
}

}  // namespace warpmer::host
