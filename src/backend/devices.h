#pragma once
/// Says where a process does its part of a job.

#include <cstdint>
#include <vector>

namespace warpmer::backend {

struct Devices {
  std::vector<int> gpus;           ///< ordinals, as `survey_gpus` (host/gpus.h) numbers them; none: the CPU
  std::uint64_t memory_bytes = 0;  ///< cap on what is held on each GPU; 0: what is free
  unsigned cpu_devices = 1;        ///< number of devices that the CPU acts as
};

}  // namespace warpmer::backend
