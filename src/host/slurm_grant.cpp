#include "host/slurm_grant.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/environment.h"

namespace warpmer::host {

namespace {

std::optional<std::uint64_t> granted_cores(const NodeShare& share) {
  const auto task = environment_number("SLURM_CPUS_PER_TASK"),
             node = environment_number("SLURM_CPUS_ON_NODE");
  if (!node) return task;
  return std::min(task.value_or(*node), part_of(*node, share));
}

/// Slurm gives memory as a number of MB; users who set the variable themselves may give it a unit, as they
/// give it to --mem: "64G", "64g", "64GB".
std::optional<std::uint64_t> bytes_in(const char* name) {
  const auto number = environment_number(name);
  if (!number) return std::nullopt;
  const std::string_view text = std::getenv(name);
  const auto unit = text.find_first_not_of("0123456789");
  switch (unit == std::string_view::npos ? 'M' : text[unit]) {
    case 'K':
    case 'k':
      return *number << 10;
    case 'G':
    case 'g':
      return *number << 30;
    case 'T':
    case 't':
      return *number << 40;
    default:
      return *number << 20;
  }
}

}  // namespace

SlurmGrant slurm_grant(const NodeShare& share) {
  SlurmGrant grant;
  grant.cores = granted_cores(share);
  const auto consider = [&](std::uint64_t bytes) {
    grant.memory_bytes = std::min(grant.memory_bytes.value_or(bytes), bytes);
  };
  if (const auto node = bytes_in("SLURM_MEM_PER_NODE")) consider(part_of(*node, share));
  if (const auto core = bytes_in("SLURM_MEM_PER_CPU")) consider(*core * grant.cores.value_or(1));
  if (const auto gpu = bytes_in("SLURM_MEM_PER_GPU"))
    consider(part_of(*gpu * environment_number("SLURM_GPUS_ON_NODE").value_or(1), share));
  return grant;
}

}  // namespace warpmer::host
