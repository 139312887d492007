/// `warpmer devices`: what this machine can count on.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/output/gpu_report.h"
#include "cli/output/report.h"
#include "host/gpus.h"
#include "host/limits.h"
#include "jobs/device_choice.h"
#include "mpi/process_group.h"

namespace warpmer::cli {
namespace {

host::GpuSurvey measured_gpus() {
  host::GpuSurvey survey = host::survey_gpus();
  std::vector<int> all;
  for (const host::Gpu& gpu : survey.gpus) all.push_back(gpu.ordinal);
  host::measure_gpus(survey, all);
  survey.measure = nullptr;
  return survey;
}

struct DeviceReport {
  host::GpuSurvey survey = measured_gpus();
  jobs::DeviceChoice automatic = jobs::choose_device("auto", 0, [this] { return survey; });

  [[nodiscard]] std::string automatic_name() const {
    return automatic.gpus.empty() ? "cpu" : fmt::format("cuda:{}", fmt::join(automatic.gpus, ","));
  }
};

Json devices_json(const DeviceReport& report) {
  Json gpus = Json::array();
  for (const host::Gpu& gpu : report.survey.gpus) gpus.push_back(gpu_json(gpu));
  return {{"version", WARPMER_VERSION},
          {"cpu",
           {{"instruction_set", backend::cpu_instruction_set()},
            {"cores", host::usable_cores()},
            {"memory_bytes", host::usable_memory_bytes()}}},
          {"gpus", std::move(gpus)},
          {"cuda_driver", text_or_null(report.survey.driver)},
          {"problem", text_or_null(report.survey.problem)},
          {"auto", {{"device", report.automatic_name()}, {"why", report.automatic.note}}}};
}

void print_devices(const DeviceReport& report, TextOutput& output) {
  output.write("cpu\n");
  print_field(output, "  instruction set", backend::cpu_instruction_set());
  print_field(output, "  cores", host::usable_cores());
  print_field(output, "  memory", format_bytes(host::usable_memory_bytes()));
  for (const host::Gpu& gpu : report.survey.gpus) print_gpu(gpu, output);
  if (!report.survey.driver.empty()) print_field(output, "CUDA driver", report.survey.driver);
  if (!report.survey.problem.empty()) print_field(output, "no GPU", report.survey.problem);
  print_field(output, "auto", fmt::format("{} ({})", report.automatic_name(), report.automatic.note));
}

}  // namespace

void add_devices_command(Application& application) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App& command = application.add_command(
      "devices",
      "List the CPU and the GPUs of this machine.\n"
      "GPUs are named as --device takes them: cuda:0, cuda:1 and so on, of those that CUDA_VISIBLE_DEVICES "
      "leaves, with the link from each to each other. The CPU's cores and memory are what warpmer may use of "
      "them. The last line is what --device auto chooses for large inputs, and why.",
      R"(Examples:
  warpmer devices
  warpmer devices --json
)");
  add_report_flags(command, *flags);
  // Started as a job's other steps are, it shows what the first rank has got.
  application.allow_ranks(command);
  application.on_run(command, [flags, is_first = application.ranks().is_first()] {
    check_ending(*flags);
    if (!is_first) return static_cast<int>(kDone);
    const DeviceReport report;
    write_report(
        *flags, [&] { return devices_json(report); },
        [&](TextOutput& output) { print_devices(report, output); });
    return static_cast<int>(kDone);
  });
}

}  // namespace warpmer::cli
