#include "cli/output/gpu_report.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "cli/arguments/quantity.h"
#include "cli/output/report.h"

namespace warpmer::cli {
namespace {

std::string capability_of(const host::Gpu& gpu) { return fmt::format("{}.{}", gpu.major, gpu.minor); }

const char* name_of(host::GpuLink link) {
  switch (link) {
    case host::GpuLink::nvlink:
      return "NVLink";
    case host::GpuLink::pcie:
      return "PCIe";
    case host::GpuLink::none:
      break;
  }
  return "none (through host)";
}

/// The names of the other GPUs, and of the links to them.
std::vector<std::pair<std::string, std::string>> links_of(const host::Gpu& gpu) {
  std::vector<std::pair<std::string, std::string>> links;
  for (std::size_t i = 0; i < gpu.links.size(); ++i) {
    const int other = static_cast<int>(i);
    if (other != gpu.ordinal) links.emplace_back(device_name(other), name_of(gpu.links[i]));
  }
  return links;
}

}  // namespace

std::string device_name(int ordinal) { return fmt::format("cuda:{}", ordinal); }

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json gpu_json(const host::Gpu& gpu) {
  Json links = Json::object();
  for (const auto& [other, link] : links_of(gpu)) links[other] = link;
  return {{"device", device_name(gpu.ordinal)},       {"name", gpu.name},
          {"compute_capability", capability_of(gpu)}, {"multiprocessors", gpu.multiprocessors},
          {"memory_bytes", gpu.memory_bytes},         {"free_bytes", gpu.free_bytes},
          {"pci_address", gpu.pci_address},           {"links", std::move(links)},
          {"problem", text_or_null(gpu.problem)}};
}

void print_gpu(const host::Gpu& gpu, TextOutput& output) {
  print_field(output, device_name(gpu.ordinal), gpu.name);
  print_field(output, "  capability", capability_of(gpu));
  print_field(output, "  multiprocessors", gpu.multiprocessors);
  print_field(output, "  memory", format_bytes(gpu.memory_bytes));
  print_field(output, "  free", format_bytes(gpu.free_bytes));
  print_field(output, "  PCI address", gpu.pci_address);
  for (const auto& [other, link] : links_of(gpu))
    print_field(output, fmt::format("  link to {}", other), link);
  if (!gpu.problem.empty()) print_field(output, "  problem", gpu.problem);
}

}  // namespace warpmer::cli
