// Finds out whether this process is one of several, and how they find each other.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/environment.h"
#include "file/program_module.h"
#include "mpi/process_group.h"

namespace warpmer::mpi {

namespace {

constexpr file::ProgramModule kMpiModule{.name = "warpmer_mpi.so",
                                         .subject = "MPI",
                                         .symbol = kMakeRankLinkSymbol,
                                         .library = "MPI",
                                         .package = "warpmer-mpi",
                                         .instead = "start one process",
                                         .is_global = true};

}  // namespace

unsigned launched_ranks() {
  // Open MPI; MPICH and all that speak PMI; srun, whose PMIx does not say how many.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const auto ranks = environment_number(name)) return static_cast<unsigned>(*ranks);
  }
  if (std::getenv("PMIX_RANK") == nullptr) return 1;
  return static_cast<unsigned>(environment_number("SLURM_STEP_NUM_TASKS").value_or(1));
}

unsigned launched_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}) {
    if (const auto rank = environment_number(name)) return static_cast<unsigned>(*rank);
  }
  return 0;
}

unsigned lone_tasks() {
  const auto tasks = environment_number("SLURM_STEP_NUM_TASKS");
  if (!tasks || launched_ranks() > 1 || environment_number("SLURM_PROCID")) return 1;  // the number 0 is none
  std::string parent;
  std::ifstream(fmt::format("/proc/{}/comm", ::getppid())) >> parent;
  return parent == "slurmstepd" ? static_cast<unsigned>(*tasks) : 1;
}

std::unique_ptr<ProcessGroup> join_ranks() {
  const unsigned ranks = launched_ranks();
  if (ranks == 1) return std::make_unique<ProcessGroup>();
  // NCCL (kernels/exchange/rank_carrier.cu) needs no NVLink multicast, which has put GPUs that others shared
  // out of service. Said while there is one thread: environments are not safe for more.
  ::setenv("NCCL_NVLS_ENABLE", "0", 0);
  const auto make = reinterpret_cast<MakeRankLink>(
      file::module_function(kMpiModule, fmt::format("a job of {} processes", ranks)));
  return std::make_unique<ProcessGroup>(std::unique_ptr<RankLink>(make()), ranks);
}

}  // namespace warpmer::mpi
