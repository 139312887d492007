// Tests what launchers say about the processes of a job on a node, and the share of the node that one process
// then has.

#include "host/node_share.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "host/slurm_grant.h"

namespace {

using namespace warpmer::host;

/// An environment of these launchers' variables alone, until it goes.
class Launched {
 public:
  explicit Launched(const std::map<std::string, std::string>& variables) {
    std::vector<std::string> names;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string text = *variable;
      if (text.starts_with("SLURM_") || text.starts_with("OMPI_") || text.starts_with("MPI_"))
        names.push_back(text.substr(0, text.find('=')));
    }
    for (const std::string& name : names) {
      before_[name] = std::getenv(name.c_str());
      unsetenv(name.c_str());
    }
    for (const auto& [name, value] : variables) {
      setenv(name.c_str(), value.c_str(), 1);
      set_.push_back(name);
    }
  }
  ~Launched() {
    for (const std::string& name : set_) unsetenv(name.c_str());
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;

 private:
  std::map<std::string, std::string> before_;
  std::vector<std::string> set_;
};

using Environment = std::map<std::string, std::string>;

NodeShare share_in(const Environment& environment) {
  const Launched launched(environment);
  return node_share();
}

SlurmGrant grant_in(const Environment& environment) {
  const Launched launched(environment);
  return slurm_grant(node_share());
}

/// A task of a step that srun has started, on a node of the job.
Environment task(const std::string& tasks_per_node, int node, int index) {
  return {{"SLURM_STEP_ID", "0"},
          {"SLURM_STEP_TASKS_PER_NODE", tasks_per_node},
          {"SLURM_NODEID", std::to_string(node)},
          {"SLURM_LOCALID", std::to_string(index)}};
}

std::vector<int> own_ordinals(int visible, NodeShare share, const Environment& environment = {}) {
  const Launched launched(environment);
  std::vector<Gpu> gpus(static_cast<std::size_t>(visible));
  for (int i = 0; i < visible; ++i) gpus[static_cast<std::size_t>(i)].ordinal = i;
  std::vector<int> ordinals;
  for (const Gpu& gpu : own_gpus(gpus, share)) ordinals.push_back(gpu.ordinal);
  return ordinals;
}

constexpr std::uint64_t kMegabyte = 1u << 20;

}  // namespace

TEST_CASE("how many processes share a node, and which one this is") {
  const auto is = [](NodeShare share, unsigned processes, unsigned index) {
    CHECK(share.processes == processes);
    CHECK(share.index == index);
  };
  is(share_in({}), 1, 0);
  is(share_in(task("2(x2)", 0, 1)), 2, 1);
  is(share_in(task("2(x2)", 1, 0)), 2, 0);
  is(share_in(task("4(x3),1", 2, 3)), 4, 3);
  is(share_in(task("4(x3),1", 3, 0)), 1, 0);
  is(share_in(task("1,16", 1, 15)), 16, 15);
  is(share_in(task("7", 0, 6)), 7, 6);
  // A batch script is one process, whatever srun or mpirun will start in it.
  is(share_in({{"SLURM_TASKS_PER_NODE", "2(x2)"}, {"SLURM_NTASKS_PER_NODE", "2"}, {"SLURM_LOCALID", "0"}}), 1,
     0);
  // mpirun's daemons are a task a node; what they start says how many they are.
  Environment mpirun = task("1(x2)", 1, 0);
  mpirun["OMPI_COMM_WORLD_LOCAL_SIZE"] = "3";
  mpirun["OMPI_COMM_WORLD_LOCAL_RANK"] = "2";
  is(share_in(mpirun), 3, 2);
  is(share_in({{"MPI_LOCALNRANKS", "4"}, {"MPI_LOCALRANKID", "1"}}), 4, 1);
  // Nonsense gives no share.
  is(share_in(task("", 0, 0)), 1, 0);
  is(share_in(task("(x2)", 0, 0)), 1, 0);
  is(share_in(task("2", 5, 1)), 1, 0);
  is(share_in({{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "9"}}), 2, 1);
}

TEST_CASE("cores that Slurm grants") {
  CHECK(!grant_in({}).cores);
  CHECK(grant_in({{"SLURM_CPUS_PER_TASK", "6"}}).cores == 6);
  CHECK(grant_in({{"SLURM_CPUS_ON_NODE", "12"}}).cores == 12);
  CHECK(grant_in({{"SLURM_CPUS_ON_NODE", "12"}, {"SLURM_CPUS_PER_TASK", "6"}}).cores == 6);
  CHECK(grant_in({{"SLURM_CPUS_PER_TASK", "0"}}).cores == std::nullopt);
  Environment four = task("4", 0, 0);
  four["SLURM_CPUS_ON_NODE"] = "8";
  CHECK(grant_in(four).cores == 2);
  four["SLURM_CPUS_PER_TASK"] = "8";  // of the job's script: srun has divided them
  CHECK(grant_in(four).cores == 2);
  four["SLURM_CPUS_ON_NODE"] = "3";
  CHECK(grant_in(four).cores == 1);
}

TEST_CASE("memory that Slurm grants, by node, core and GPU") {
  CHECK(!grant_in({}).memory_bytes);
  CHECK(grant_in({{"SLURM_MEM_PER_NODE", "4096"}}).memory_bytes == 4096 * kMegabyte);
  for (const char* four :
       {"4G", "4g", "4GB", "4Gn", "4gc", "4096M", "4096m", "4096MB", "4194304K", "4194304kB"}) {
    CAPTURE(four);
    CHECK(grant_in({{"SLURM_MEM_PER_NODE", four}}).memory_bytes == 4096 * kMegabyte);
  }
  CHECK(grant_in({{"SLURM_MEM_PER_NODE", "2T"}}).memory_bytes == 2 * 1024 * 1024 * kMegabyte);
  CHECK(grant_in({{"SLURM_MEM_PER_NODE", "2tb"}}).memory_bytes == 2 * 1024 * 1024 * kMegabyte);
  CHECK(!grant_in({{"SLURM_MEM_PER_NODE", "G"}}).memory_bytes);
  CHECK(!grant_in({{"SLURM_MEM_PER_NODE", "0"}}).memory_bytes);  // all there is
  CHECK(grant_in({{"SLURM_MEM_PER_CPU", "500"}}).memory_bytes == 500 * kMegabyte);
  CHECK(grant_in({{"SLURM_MEM_PER_CPU", "500"}, {"SLURM_CPUS_ON_NODE", "3"}}).memory_bytes ==
        1500 * kMegabyte);
  CHECK(grant_in({{"SLURM_MEM_PER_GPU", "2048"}}).memory_bytes == 2048 * kMegabyte);
  CHECK(grant_in({{"SLURM_MEM_PER_GPU", "2048"}, {"SLURM_GPUS_ON_NODE", "4"}}).memory_bytes ==
        8192 * kMegabyte);

  Environment two = task("2", 0, 1);
  two["SLURM_CPUS_ON_NODE"] = "8";
  two["SLURM_GPUS_ON_NODE"] = "2";
  const auto with = [&](const char* name, const char* value) {
    Environment environment = two;
    environment[name] = value;
    return grant_in(environment).memory_bytes;
  };
  CHECK(with("SLURM_MEM_PER_NODE", "4096") == 2048 * kMegabyte);
  CHECK(with("SLURM_MEM_PER_CPU", "500") == 2000 * kMegabyte);
  CHECK(with("SLURM_MEM_PER_GPU", "2048") == 2048 * kMegabyte);
}

TEST_CASE("GPUs are divided among processes that see the same ones") {
  using Ordinals = std::vector<int>;
  CHECK(own_ordinals(4, {1, 0}) == Ordinals{0, 1, 2, 3});
  CHECK(own_ordinals(4, {4, 2}) == Ordinals{2});
  CHECK(own_ordinals(8, {2, 1}) == Ordinals{4, 5, 6, 7});
  CHECK(own_ordinals(5, {2, 0}) == Ordinals{0, 1});
  CHECK(own_ordinals(5, {2, 1}) == Ordinals{2, 3, 4});
  CHECK(own_ordinals(2, {4, 3}) == Ordinals{1});
  CHECK(own_ordinals(0, {4, 3}).empty());
  // Slurm has given each task its own: CUDA_VISIBLE_DEVICES leaves fewer than the job has on the node.
  CHECK(own_ordinals(1, {4, 2}, {{"SLURM_GPUS_ON_NODE", "4"}}) == Ordinals{0});
  CHECK(own_ordinals(2, {4, 2}, {{"SLURM_GPUS_ON_NODE", "8"}}) == Ordinals{0, 1});
  CHECK(own_ordinals(4, {4, 2}, {{"SLURM_GPUS_ON_NODE", "4"}}) == Ordinals{2});
}
