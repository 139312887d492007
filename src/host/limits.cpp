#include "host/limits.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/memory_text.h"
#include "base/warning.h"
#include "host/node_share.h"
#include "host/resident_memory.h"
#include "host/slurm_grant.h"
#include "system/process_limits.h"
#include "system/process_memory.h"

namespace warpmer::host {

namespace {

/// Returns the number of cores of the machine, whichever process may use them.
unsigned online_cores() { return static_cast<unsigned>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L)); }

/// Returns the least of the limits that hold for this process alone, as `ulimit` sets them.
std::uint64_t own_limit_bytes() {
  std::uint64_t least = system::MemoryRoom::kNoLimit;
  for (const auto kind : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (::getrlimit(kind, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      least = std::min<std::uint64_t>(least, limit.rlim_cur);
  }
  return least;
}

std::optional<std::uint64_t> granted_bytes(const system::MemoryRoom& room, const NodeShare& share) {
  constexpr std::uint64_t kNoLimit = system::MemoryRoom::kNoLimit;
  std::uint64_t limit = own_limit_bytes();
  if (room.limit_bytes != kNoLimit) limit = std::min(limit, part_of(room.limit_bytes, share));
  limit = std::min(limit, slurm_grant(share).memory_bytes.value_or(kNoLimit));
  if (limit == kNoLimit) return std::nullopt;
  return limit;
}

std::uint64_t allowed_bytes(const system::MemoryRoom& room, const NodeShare& share) {
  const auto pages = static_cast<std::uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L));
  const std::uint64_t machine = part_of(pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)), share);
  return std::min(machine, granted_bytes(room, share).value_or(machine));
}

}  // namespace

unsigned usable_cores() {
  const NodeShare share = node_share();
  std::uint64_t cores = system::affinity_cores().value_or(online_cores());
  // Processes that were not bound to cores of their own all have the same mask.
  if (share.processes > 1) cores = std::min(cores, part_of(online_cores(), share));
  if (const auto quota = system::quota_cores())
    cores = std::min(cores, part_of(static_cast<std::uint64_t>(std::ceil(*quota)), share));
  cores = std::min(cores, slurm_grant(share).cores.value_or(cores));
  return static_cast<unsigned>(std::max<std::uint64_t>(cores, 1));
}

std::uint64_t allowed_memory_bytes() { return allowed_bytes(system::memory_room(), node_share()); }

void warn_above_grant(std::uint64_t cap) {
  const std::uint64_t granted = granted_bytes(system::memory_room(), node_share()).value_or(cap);
  if (cap <= granted) return;
  warn(
      fmt::format("-m {} is more than the {} that this process is granted (by its cgroup, Slurm or ulimit), "
                  "and it may be killed for it; lower -m, or ask for more",
                  mebibytes(cap), mebibytes(granted)));
}

std::uint64_t usable_memory_bytes() {
  const NodeShare share = node_share();
  const system::MemoryRoom room = system::memory_room();
  const std::uint64_t allowed = allowed_bytes(room, share);
  // Pages of files that this process has mapped are among the free ones.
  const std::uint64_t own = system::resident_bytes_of_no_file(), free = part_of(room.free_bytes, share);
  return free < allowed ? std::min(allowed, free + own) : allowed;
}

unsigned threads_or_all(unsigned threads) { return threads > 0 ? threads : usable_cores(); }

Resources settled(const Resources& resources, bool warns) {
  if (resources.are_settled) return resources;
  if (warns) warn_above_grant(resources.memory_bytes);
  return {threads_or_all(resources.threads),
          resources.memory_bytes > 0 ? resources.memory_bytes : usable_memory_bytes() / 10 * 9, true};
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

void check_memory(std::uint64_t cap, std::uint64_t spoken_for, unsigned threads) {
  if (cap > spoken_for) return;
  throw ResourceError(fmt::format("-m {} is too little for {}: reading and writing alone need {}; {}",
                                  mebibytes(cap), number_of_threads(threads),
                                  mebibytes_needed(spoken_for + kResidentVariation), memory_advice(threads)));
}

std::size_t longest_record_bytes(std::uint64_t cap, unsigned threads) {
  constexpr std::uint64_t kShare = 8;
  constexpr unsigned kFewThreads = 4;
  constexpr std::uint64_t kAlways = std::uint64_t{4} << 20;  // the text of a batch, which is planned with
  return std::max(cap / kShare / std::max(threads, kFewThreads), kAlways);
}

std::uint64_t resident_bytes() { return resident_bytes_with(0); }
std::uint64_t peak_resident_bytes() { return system::peak_resident_bytes(); }

void return_freed_memory_at_once() noexcept { system::return_freed_memory_at_once(); }

void return_freed_memory() noexcept { system::return_freed_memory(); }

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace warpmer::host
