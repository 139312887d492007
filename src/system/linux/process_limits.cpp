#include "system/process_limits.h"

#include <sched.h>

#include <cerrno>
#include <cstddef>
#include <memory>

#include "system/linux/cgroup_limits.h"

namespace warpmer::system {
namespace {

struct FreeCpuSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

}  // namespace

std::optional<unsigned> affinity_cores() {
  // The kernel refuses a set that is smaller than its own, which may be larger than a cpu_set_t (1024 CPUs).
  constexpr unsigned kMostCpus = 1u << 20;
  for (unsigned cpus = CPU_SETSIZE; cpus <= kMostCpus; cpus *= 2) {
    const std::unique_ptr<cpu_set_t, FreeCpuSet> set(CPU_ALLOC(cpus));
    const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
    if (set == nullptr) break;
    if (sched_getaffinity(0, bytes, set.get()) == 0)
      return static_cast<unsigned>(CPU_COUNT_S(bytes, set.get()));
    if (errno != EINVAL) break;
  }
  return std::nullopt;
}

std::optional<double> quota_cores() { return cgroup_cores(""); }
MemoryRoom memory_room() { return cgroup_memory(""); }

}  // namespace warpmer::system
