#include "host/node_share.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/environment.h"
#include "base/number_text.h"

namespace warpmer::host {

namespace {

/// Returns the entry of a node in Slurm's lists of numbers, one a node: "2(x3),1" is 2, 2, 2, 1.
std::optional<std::uint64_t> entry_of_node(std::string_view list, std::uint64_t node) {
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(','));
    list.remove_prefix(std::min(entry.size() + 1, list.size()));
    const std::size_t repeated = entry.find("(x");
    const std::uint64_t nodes =
        repeated == std::string_view::npos ? 1 : number_in(entry.substr(repeated + 2)).value_or(1);
    if (node < nodes) return number_in(entry);
    node -= nodes;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> tasks_of_step_here() {
  const char* tasks = std::getenv("SLURM_STEP_TASKS_PER_NODE");
  if (tasks == nullptr || std::getenv("SLURM_STEP_ID") == nullptr) return std::nullopt;
  return entry_of_node(tasks, environment_number("SLURM_NODEID").value_or(0));
}

}  // namespace

std::string machine_name() {
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "";
}

NodeShare node_share() {
  const auto share = [](std::optional<std::uint64_t> processes, const char* index) {
    NodeShare result;
    result.processes = static_cast<unsigned>(std::clamp<std::uint64_t>(processes.value_or(1), 1, 1u << 16));
    result.index = static_cast<unsigned>(environment_number(index).value_or(0) % result.processes);
    return result;
  };
  // Under mpirun, Slurm's step is the one that launches, with a task a node.
  if (const auto open_mpi = environment_number("OMPI_COMM_WORLD_LOCAL_SIZE"))
    return share(open_mpi, "OMPI_COMM_WORLD_LOCAL_RANK");
  if (const auto hydra = environment_number("MPI_LOCALNRANKS")) return share(hydra, "MPI_LOCALRANKID");
  return share(tasks_of_step_here(), "SLURM_LOCALID");
}

std::uint64_t part_of(std::uint64_t all, const NodeShare& share) {
  return all == 0 ? 0 : std::max<std::uint64_t>(all / share.processes, 1);
}

namespace {

/// True when the launcher has given each process GPUs of its own.
bool are_gpus_bound(const std::vector<Gpu>& visible) {
  const auto on_node = environment_number("SLURM_GPUS_ON_NODE");
  return on_node && visible.size() < *on_node;
}

bool is_set(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0';
}

}  // namespace

std::vector<Gpu> own_gpus(const std::vector<Gpu>& visible, const NodeShare& share) {
  if (are_gpus_bound(visible) || share.processes == 1 || visible.empty()) return visible;
  if (visible.size() <= share.processes) return {visible[share.index % visible.size()]};
  const auto first_of = [&](unsigned index) {
    return visible.begin() + static_cast<std::ptrdiff_t>(visible.size() * index / share.processes);
  };
  return {first_of(share.index), first_of(share.index + 1)};
}

bool are_gpus_shared(const std::vector<Gpu>& visible, const NodeShare& share) {
  return !are_gpus_bound(visible) && visible.size() < share.processes;
}

bool are_gpus_granted() {
  return is_set("CUDA_VISIBLE_DEVICES") || is_set("SLURM_JOB_GPUS") || is_set("SLURM_STEP_GPUS") ||
         environment_number("SLURM_GPUS_ON_NODE").has_value();
}

}  // namespace warpmer::host
