#include "cli/output/counting_report.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

namespace warpmer::cli {

namespace {

/// Returns the bytes that a run has written to its temporary file.
Json spilled_json(const backend::SpillReport& spilled) {
  return {{"host_bytes", spilled.host_bytes},
          {"written_bytes", spilled.written_bytes},
          {"of_frozen_runs", spilled.run_bytes},
          {"read_bytes", spilled.read_bytes}};
}

/// Returns the memory that it has held on its GPUs; null when there was none.
Json device_memory_json(const std::optional<backend::DeviceMemoryReport>& memory) {
  if (!memory) return nullptr;
  return {{"cap_bytes", memory->cap_bytes},
          {"peak_bytes", memory->peak_bytes},
          {"beside_bytes", memory->beside_bytes}};
}

/// Returns its stages, in their order.
Json stages_json(const std::vector<backend::StageReport>& stages) {
  Json all = Json::array();
  for (const backend::StageReport& stage : stages)
    all.push_back({{"name", stage.name}, {"busy_seconds", stage.busy_seconds}, {"bytes", stage.bytes}});
  return all;
}

}  // namespace

Json counting_json(const std::string& command_line, const Json& own, const jobs::CountingReport& report,
                   double wall_seconds) {
  Json all{{"version", WARPMER_VERSION}, {"command_line", command_line}};
  all.update(own);
  all.update(Json{{"device", report.device},
                  {"device_choice", report.device_choice.note},
                  {"threads", report.resources.threads},
                  {"memory_cap_bytes", report.resources.memory_bytes},
                  {"peak_resident_bytes", report.peak_resident_bytes},
                  {"index_bytes", report.index_bytes},
                  {"early_counts", report.early_counts},
                  {"spilled", spilled_json(report.spilled)},
                  {"device_memory", device_memory_json(report.device_memory)},
                  {"wall_seconds", wall_seconds},
                  {"read_seconds", report.read_seconds},
                  {"cpu_seconds", report.cpu_seconds},
                  {"stages", stages_json(report.stages)},
                  {"totals", totals_json(report.totals)}});
  return all;
}

std::string device_text(const jobs::CountingReport& report) {
  const jobs::DeviceChoice& choice = report.device_choice;
  return choice.gpus.empty() ? report.device : fmt::format("{} ({})", report.device, choice.note);
}

}  // namespace warpmer::cli
