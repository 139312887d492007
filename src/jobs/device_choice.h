#pragma once
/// Chooses the device that a job runs on: what `--device` asks for, of what this machine has.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backend/backend.h"
#include "backend/live/live_table.h"
#include "backend/lookup/lookup.h"
#include "base/error.h"
#include "host/gpus.h"

namespace warpmer::mpi {
class ProcessGroup;  // mpi/process_group.h
}  // namespace warpmer::mpi

namespace warpmer::jobs {

struct DeviceChoice : backend::Devices {
  bool automatic = false;  ///< `auto` made it, and may make another
  std::string note;        ///< why this device, in a few words
  std::string warning;     ///< why a GPU is not used, or not well; else empty
};

/// Decides on `auto`, `cpu`, `cpu:N` (the CPU acting as N devices), `cuda` (all GPUs that can be used) or
/// `cuda:N,...`. UsageError, which lists these, for anything else. `cuda` never falls back to the CPU:
/// ResourceError when a GPU that was named, or every one, cannot be used. `auto` is all usable GPUs where
/// they were granted to this process and reach each other's memory, else the one with the most free memory,
/// else the CPU; and the CPU for an input so small that starting the driver would take longer than counting,
/// and where other processes of the job use the same GPU. `input_bytes`: 0 when unknown. `survey` is called
/// only when the answer depends on it.
DeviceChoice choose_device(const std::string& request, std::uint64_t input_bytes,
                           const std::function<host::GpuSurvey()>& survey = host::survey_gpus);

/// Decides on `auto` for all processes of a job that exchanges what they count, together: each its own GPUs,
/// or all the CPU.
DeviceChoice choose_device_together(
    mpi::ProcessGroup& ranks, std::uint64_t input_bytes,
    const std::function<host::GpuSurvey()>& survey = host::survey_gpus,
    const std::function<std::string()>& problem_of_ranks = host::problem_of_ranks_on_gpus);

/// Warns when a GPU is passed over, or is used by a slow way.
void warn_of(const DeviceChoice& choice);

/// A choice that `auto` made becomes the CPU, and its warning, which is told at once (base/warning.h), says
/// why.
void fall_back(DeviceChoice& choice, const ResourceError& error);

/// Calls `make`. Should it end with a ResourceError on a GPU that `auto` chose, the choice becomes the CPU,
/// with a warning that says why, and `make` is called again.
template <class Make>
auto with_fallback(DeviceChoice& choice, Make&& make) {
  try {
    return make();
  } catch (const ResourceError& error) {
    if (!choice.automatic || choice.gpus.empty()) throw;
    fall_back(choice, error);
  }
  return make();
}

/// Returns the backend for a choice.
std::unique_ptr<backend::Backend> make_backend(const DeviceChoice& choice);

/// Returns the live table for a choice.
std::unique_ptr<backend::LiveTable> make_live_table(const backend::LiveTablePlan& plan,
                                                    const DeviceChoice& choice);

/// Returns the lookup for a choice, which may become another (`with_fallback`); `index` must outlive it.
std::unique_ptr<backend::Lookup> make_lookup(const index::IndexFile& index, backend::LookupOptions options,
                                             DeviceChoice& choice);

}  // namespace warpmer::jobs
