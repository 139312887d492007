#include "host/limits.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/environment.h"
#include "base/error.h"
#include "base/memory_text.h"
#include "host/cgroup_limits.h"
#include "host/node_share.h"
#include "host/slurm_grant.h"

namespace warpmer::host {

namespace {

std::uint64_t bytes_in_status(std::string_view field) {
  return number_behind("/proc/self/status", field).value_or(0) * 1024;
}

struct FreeCpuSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

/// Cores in this process's affinity mask, if it can be read.
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

/// Returns the number of cores of the machine, whichever process may use them.
unsigned online_cores() { return static_cast<unsigned>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L)); }

std::uint64_t allowed_bytes(const MemoryRoom& room, const NodeShare& share) {
  const auto pages = static_cast<std::uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L));
  const std::uint64_t machine = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t bytes = part_of(std::min(machine, room.limit_bytes), share);
  return std::min(bytes, slurm_grant(share).memory_bytes.value_or(bytes));
}

}  // namespace

unsigned usable_cores() {
  const NodeShare share = node_share();
  std::uint64_t cores = affinity_cores().value_or(online_cores());
  // Processes that were not bound to cores of their own all have the same mask.
  if (share.processes > 1) cores = std::min(cores, part_of(online_cores(), share));
  if (const auto quota = cgroup_cores())
    cores = std::min(cores, part_of(static_cast<std::uint64_t>(std::ceil(*quota)), share));
  cores = std::min(cores, slurm_grant(share).cores.value_or(cores));
  return static_cast<unsigned>(std::max<std::uint64_t>(cores, 1));
}

std::uint64_t allowed_memory_bytes() { return allowed_bytes(memory_room(), node_share()); }

std::uint64_t usable_memory_bytes() {
  const NodeShare share = node_share();
  const MemoryRoom room = memory_room();
  const std::uint64_t allowed = allowed_bytes(room, share);
  // Pages of files that this process has mapped are among the free ones.
  const std::uint64_t own = bytes_in_status("RssAnon:"), free = part_of(room.free_bytes, share);
  return free < allowed ? std::min(allowed, free + own) : allowed;
}

unsigned threads_or_all(unsigned threads) { return threads > 0 ? threads : usable_cores(); }

Resources settled(const Resources& resources) {
  return {threads_or_all(resources.threads),
          resources.memory_bytes > 0 ? resources.memory_bytes : usable_memory_bytes() / 10 * 9};
}

std::uint64_t memory_left(std::uint64_t cap) {
  return cap - std::min(cap, resident_bytes() + kResidentVariation);
}

std::string memory_refusal(std::uint64_t cap, std::string_view doing, unsigned threads,
                           std::uint64_t enough) {
  return fmt::format("-m {} is too little for {} with {}: {} would do; {}", mebibytes(cap), doing,
                     number_of_threads(threads), mebibytes_needed(enough + kResidentVariation),
                     memory_advice(threads));
}

void check_memory(std::uint64_t cap, std::uint64_t spoken_for, unsigned threads, std::string_view and_more) {
  if (cap > spoken_for) return;
  throw ResourceError(fmt::format("-m {} is too little for {}{}: reading and writing alone need {}; {}",
                                  mebibytes(cap), number_of_threads(threads), and_more,
                                  mebibytes_needed(spoken_for + kResidentVariation), memory_advice(threads)));
}

std::size_t longest_record_bytes(std::uint64_t cap, unsigned threads) {
  constexpr std::uint64_t kShare = 8;
  constexpr unsigned kFewThreads = 4;
  constexpr std::uint64_t kAlways = std::uint64_t{4} << 20;  // the text of a batch, which is planned with
  return std::max(cap / kShare / std::max(threads, kFewThreads), kAlways);
}

std::uint64_t resident_bytes() { return bytes_in_status("VmRSS:"); }
std::uint64_t peak_resident_bytes() { return bytes_in_status("VmHWM:"); }

void return_freed_memory_at_once() noexcept {
#ifdef __GLIBC__
  // Left to itself, the allocator raises both with every large block that is freed, up to 32 and 64 MB.
  constexpr int kLargeBytes = 256 << 10;
  mallopt(M_MMAP_THRESHOLD, kLargeBytes);
  mallopt(M_TRIM_THRESHOLD, kLargeBytes);
  malloc_trim(0);
#endif
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace warpmer::host
