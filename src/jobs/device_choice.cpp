#include "jobs/device_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/number_text.h"
#include "base/warning.h"
#include "host/node_share.h"
#include "mpi/process_group.h"
#include "mpi/rank_link.h"

namespace warpmer::jobs {

namespace {

constexpr unsigned kMostCpuDevices = 256;
/// Counting less than this takes a CPU less time than starting the CUDA driver takes.
constexpr std::uint64_t kLeastGpuInputBytes = std::uint64_t{64} << 20;

[[noreturn]] void throw_malformed(const std::string& request) {
  throw UsageError(
      fmt::format("--device {}: choose auto, cpu, cpu:N (the CPU acting as N devices, 1 to {}), cuda (all "
                  "GPUs), cuda:N (the GPU that 'warpmer devices' lists under that number), or several, as in "
                  "cuda:0,2",
                  request, kMostCpuDevices));
}

/// Takes nothing but digits, and few of them.
std::optional<unsigned> parse_number(std::string_view text) {
  const auto number = whole_number<unsigned>(text);
  return number && *number <= 9999 ? number : std::nullopt;
}

/// Returns the ordinals of `cuda:0,2`; none for `cuda`.
std::vector<int> parse_gpus(const std::string& request) {
  std::vector<int> gpus;
  std::string_view rest = std::string_view(request).substr(std::string_view("cuda").size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::optional<unsigned> ordinal = parse_number(rest.substr(0, end));
    if (!ordinal) throw_malformed(request);
    const int gpu = static_cast<int>(*ordinal);
    if (std::find(gpus.begin(), gpus.end(), gpu) != gpus.end())
      throw UsageError(fmt::format("--device {}: GPU {} is named twice", request, gpu));
    gpus.push_back(gpu);
    rest.remove_prefix(end);
  }
  return gpus;
}

std::string name_of(const host::Gpu& gpu) { return fmt::format("cuda:{} ({})", gpu.ordinal, gpu.name); }

/// Returns the usable GPU with the most free memory, the first of equals, of those that are this process's
/// own.
std::optional<host::Gpu> most_free(const std::vector<host::Gpu>& gpus) {
  std::optional<host::Gpu> best;
  for (const host::Gpu& gpu : host::own_gpus(gpus, host::node_share())) {
    if (gpu.problem.empty() && (!best || gpu.free_bytes > best->free_bytes)) best = gpu;
  }
  return best;
}

/// Says why no GPU can be used.
std::string problem_of(const host::GpuSurvey& survey) {
  std::string problem;
  for (const host::Gpu& gpu : survey.gpus) {
    if (gpu.problem.empty()) continue;  // usable, but another process's
    problem += fmt::format("{}{}: {}", problem.empty() ? "" : "; ", name_of(gpu), gpu.problem);
  }
  if (!problem.empty()) return problem;
  return survey.problem.empty() ? "this machine has no GPU" : survey.problem;
}

/// Names the first two GPUs of a choice between which there is no link, if there are any.
std::string slow_way_between(const std::vector<int>& chosen, const std::vector<host::Gpu>& gpus) {
  for (const int from : chosen) {
    for (const int to : chosen) {
      const auto& links = gpus[static_cast<std::size_t>(from)].links;
      if (from == to || static_cast<std::size_t>(to) >= links.size()) continue;
      if (links[static_cast<std::size_t>(to)] == host::GpuLink::none) {
        return fmt::format(
            "cuda:{} does not reach the memory of cuda:{}: what they exchange goes through the "
            "host's",
            from, to);
      }
    }
  }
  return "";
}

/// Measures the GPUs that are this process's own. On others it leaves nothing.
void measure_own(host::GpuSurvey& survey) {
  std::vector<int> own;
  for (const host::Gpu& gpu : host::own_gpus(survey.gpus, host::node_share())) own.push_back(gpu.ordinal);
  host::measure_gpus(survey, own);
}

/// Returns all GPUs that can be used, of those that are this process's own.
std::vector<int> usable_own(const host::GpuSurvey& survey) {
  std::vector<int> usable;
  for (const host::Gpu& gpu : host::own_gpus(survey.gpus, host::node_share())) {
    if (gpu.problem.empty()) usable.push_back(gpu.ordinal);
  }
  return usable;
}

/// Returns the usable ones of GPUs that were granted, where they reach each other's memory; else none.
std::vector<int> granted(const host::GpuSurvey& survey) {
  if (!host::are_gpus_granted()) return {};
  std::vector<int> gpus = usable_own(survey);
  return slow_way_between(gpus, survey.gpus).empty() ? gpus : std::vector<int>();
}

DeviceChoice choose_automatically(std::uint64_t input_bytes,
                                  const std::function<host::GpuSurvey()>& survey_now) {
  DeviceChoice choice;
  choice.automatic = true;
  if (input_bytes > 0 && input_bytes < kLeastGpuInputBytes) {
    choice.note = "the input is too small for a GPU to be worth starting";
    return choice;
  }
  host::GpuSurvey survey = survey_now();
  if (host::are_gpus_shared(survey.gpus, host::node_share()) && !survey.gpus.empty()) {
    choice.note = "this node has more processes of the job than GPUs";
    return choice;
  }
  measure_own(survey);
  if (const std::vector<int> gpus = granted(survey); gpus.size() > 1) {
    choice.gpus = gpus;
    choice.note = "all GPUs that this job was given";
    return choice;
  }
  if (const std::optional<host::Gpu> gpu = most_free(survey.gpus)) {
    choice.gpus = {gpu->ordinal};
    choice.note = survey.gpus.size() == 1 ? "there is a GPU" : "the GPU with the most free memory";
    return choice;
  }
  choice.note = problem_of(survey);
  if (!survey.gpus.empty()) choice.warning = "running on the CPU: " + problem_of(survey);
  return choice;
}

/// Returns what tells a rank's GPUs from all others: a line each, of this machine and a place in it.
std::string places_of(const std::vector<int>& gpus, const host::GpuSurvey& survey) {
  std::string places;
  for (const host::Gpu& gpu : survey.gpus) {
    if (std::find(gpus.begin(), gpus.end(), gpu.ordinal) != gpus.end())
      places += fmt::format("{} {}\n", host::machine_name(), gpu.pci_address);
  }
  return places;
}

/// Says why ranks whose GPUs are at these places cannot use them together; else empty.
std::string problem_of_places(const std::vector<mpi::Message>& places) {
  std::set<std::string> all;
  for (const mpi::Message& of_rank : places) {
    std::string_view rest(of_rank.data(), of_rank.size());
    if (rest.empty()) return "a rank has no GPU of its own";
    for (; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1)) {
      if (!all.emplace(rest.substr(0, rest.find('\n'))).second) return "two ranks have the same GPU";
    }
  }
  return "";
}

/// Returns all that can be used; ResourceError where there is none.
std::vector<int> all_usable(const std::string& request, const host::GpuSurvey& survey) {
  std::vector<int> usable = usable_own(survey);
  if (usable.empty())
    throw ResourceError(fmt::format("--device {}: {}; use --device cpu", request, problem_of(survey)));
  return usable;
}

void check_usable(int ordinal, const std::string& request, const host::GpuSurvey& survey) {
  for (const host::Gpu& gpu : survey.gpus) {
    if (gpu.ordinal != ordinal) continue;
    if (gpu.problem.empty()) return;
    throw ResourceError(fmt::format("--device {}: {}; use --device cpu", request, gpu.problem));
  }
  const std::string problem = survey.gpus.empty() ? problem_of(survey) + "; use --device cpu"
                                                  : "there is no such GPU; 'warpmer devices' lists all";
  throw ResourceError(fmt::format("--device {}: {}", request, problem));
}

DeviceChoice choose_gpus(const std::string& request, const std::function<host::GpuSurvey()>& survey_now) {
  const std::vector<int> asked = parse_gpus(request);
  host::GpuSurvey survey = survey_now();
  if (asked.empty()) {
    measure_own(survey);
  } else {
    host::measure_gpus(survey, asked);
  }
  DeviceChoice choice;
  for (const int gpu : asked) check_usable(gpu, request, survey);
  choice.gpus = asked.empty() ? all_usable(request, survey) : asked;
  choice.note = asked.empty() ? "all GPUs that can be used" : "asked for";
  choice.warning = slow_way_between(choice.gpus, survey.gpus);
  return choice;
}

}  // namespace

DeviceChoice choose_device(const std::string& request, std::uint64_t input_bytes,
                           const std::function<host::GpuSurvey()>& survey) {
  if (request == "auto") return choose_automatically(input_bytes, survey);
  if (request == "cuda" || request.starts_with("cuda:")) return choose_gpus(request, survey);
  DeviceChoice choice;
  choice.note = "asked for";
  if (request == "cpu") return choice;
  if (!request.starts_with("cpu:")) throw_malformed(request);
  choice.cpu_devices = parse_number(std::string_view(request).substr(4)).value_or(0);
  if (choice.cpu_devices < 1 || choice.cpu_devices > kMostCpuDevices) throw_malformed(request);
  return choice;
}

DeviceChoice choose_device_together(mpi::ProcessGroup& ranks, std::uint64_t input_bytes,
                                    const std::function<host::GpuSurvey()>& survey_now,
                                    const std::function<std::string()>& problem_of_ranks) {
  host::GpuSurvey survey;
  DeviceChoice choice = choose_automatically(input_bytes, [&] { return survey = survey_now(); });
  choice.automatic = false;  // one rank alone cannot choose otherwise
  if (!choice.gpus.empty()) {
    if (std::string problem = problem_of_ranks(); !problem.empty()) {
      choice.gpus.clear();
      choice.note = std::move(problem);
    }
  }
  const std::string own = places_of(choice.gpus, survey);
  const std::vector<mpi::Message> all = ranks.gather({own.begin(), own.end()});
  const std::string verdict = ranks.is_first() ? problem_of_places(all) : "";
  const mpi::Message problem = ranks.broadcast({verdict.begin(), verdict.end()});
  if (!problem.empty() && !choice.gpus.empty()) {
    choice.gpus.clear();
    choice.note.assign(problem.begin(), problem.end());
  }
  return choice;
}

void warn_of(const DeviceChoice& choice) {
  if (!choice.warning.empty()) warn(choice.warning);
}

void fall_back(DeviceChoice& choice, const ResourceError& error) {
  choice.gpus.clear();
  choice.note = error.what();
  choice.warning = "running on the CPU: " + choice.note;
  warn_of(choice);
}

std::unique_ptr<backend::Backend> make_backend(const DeviceChoice& choice) {
  return choice.gpus.empty() ? backend::make_cpu_backend() : backend::make_cuda_backend(choice.gpus);
}

std::unique_ptr<backend::LiveTable> make_live_table(const backend::LiveTablePlan& plan,
                                                    const DeviceChoice& choice) {
  if (choice.gpus.empty()) return backend::make_cpu_live_table(plan);
  return backend::make_cuda_live_table(plan, choice);
}

std::unique_ptr<backend::Lookup> make_lookup(const index::IndexFile& index, backend::LookupOptions options,
                                             DeviceChoice& choice) {
  // Paging moves all of the index, again and again: on a GPU that was not asked for, the CPU is ahead.
  options.may_page = !choice.automatic;
  return with_fallback(choice, [&] {
    return choice.gpus.empty() ? backend::make_cpu_lookup(index, options)
                               : backend::make_cuda_lookup(index, options, choice);
  });
}

}  // namespace warpmer::jobs
