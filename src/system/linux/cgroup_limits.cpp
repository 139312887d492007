#include "system/linux/cgroup_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "base/number_text.h"
#include "system/linux/kernel_files.h"

namespace warpmer::system {

namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Calls `visit(directory)` for a cgroup and each of those above it, up to the root of its hierarchy.
template <class Visit>
void for_each_above(const std::string& hierarchy, std::string path, Visit&& visit) {
  for (;; path.resize(path.rfind('/'))) {
    if (path.find('/') == std::string::npos || path == "/") path.clear();
    visit(hierarchy + path);
    if (path.empty()) return;
  }
}

/// Calls `visit(directory)` for this process's cgroups and those above them. Version 2 has one hierarchy,
/// mounted in a folder of its own where version 1 is there, too; in version 1 `controller` names the one
/// asked for.
template <class Visit>
void for_each_cgroup(const std::string& root, const std::string& controller, Visit&& visit) {
  const std::string mounts = root + "/sys/fs/cgroup";
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") {
      for_each_above(mounts, path, visit);
      for_each_above(mounts + "/unified", path, visit);
    } else if (controllers.find(fmt::format(",{},", controller)) != std::string::npos) {
      for_each_above(fmt::format("{}/{}", mounts, controller), path, visit);
    }
  }
}

/// Returns the bytes that the processes in a cgroup, and below it, hold and that do not give way; nothing
/// where its files do not say.
std::optional<std::uint64_t> held_bytes(const std::string& directory) {
  auto used = number_in(first_line(directory + "/memory.current"));
  if (!used) used = number_in(first_line(directory + "/memory.usage_in_bytes"));
  const auto counted = [&](const std::string& name) {
    const std::string path = directory + "/memory.stat";
    const auto all = number_behind(path, "total_" + name);  // version 1 leaves those below out of the other
    return all ? all : number_behind(path, name);
  };
  const auto inactive = counted("inactive_file"), active = counted("active_file");
  if (!used || !inactive || !active) return std::nullopt;
  return *used - std::min(*used, *inactive + *active);
}

}  // namespace

std::optional<double> cgroup_cores(const std::string& root) {
  std::optional<double> cores;
  const auto consider = [&](std::optional<std::uint64_t> quota, std::optional<std::uint64_t> period) {
    if (quota.value_or(0) == 0 || period.value_or(0) == 0) return;
    const double of_both = static_cast<double>(*quota) / static_cast<double>(*period);
    cores = std::min(cores.value_or(of_both), of_both);
  };
  for_each_cgroup(root, "cpu", [&](const std::string& directory) {
    const std::string both = first_line(directory + "/cpu.max");  // "max 100000" or "150000 100000"
    if (const auto space = both.find(' '); space != std::string::npos)
      consider(number_in(both), number_in(std::string_view(both).substr(space + 1)));
    consider(number_in(first_line(directory + "/cpu.cfs_quota_us")),
             number_in(first_line(directory + "/cpu.cfs_period_us")));
  });
  return cores;
}

MemoryRoom cgroup_memory(const std::string& root) {
  MemoryRoom room;
  if (const auto kilobytes = number_behind(root + "/proc/meminfo", "MemAvailable:"))
    room.free_bytes = *kilobytes * 1024;
  for_each_cgroup(root, "memory", [&](const std::string& directory) {
    for (const char* file : {"/memory.max", "/memory.high", "/memory.limit_in_bytes"}) {
      const auto limit = number_in(first_line(directory + file));
      if (limit.value_or(0) == 0) continue;
      room.limit_bytes = std::min(room.limit_bytes, *limit);
      if (const auto held = held_bytes(directory))
        room.free_bytes = std::min(room.free_bytes, *limit - std::min(*limit, *held));
    }
  });
  return room;
}

}  // namespace warpmer::system
