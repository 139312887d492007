// Tests the meaning of `--device` on machines with and without GPUs, none of which need be there.
// ctest: one thread

#include "jobs/device_choice.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "mpi/process_group.h"
#include "refusal.h"
#include "unit/mpi/rank_threads.h"

namespace {

using namespace warpmer;
using host::Gpu;
using host::GpuSurvey;
using jobs::DeviceChoice;

Gpu gpu(int ordinal, std::uint64_t free_gigabytes, std::string problem = "") {
  Gpu result;
  result.ordinal = ordinal;
  result.name = "Some GPU";
  result.free_bytes = free_gigabytes << 30;
  result.problem = std::move(problem);
  return result;
}

GpuSurvey machine(std::vector<Gpu> gpus) { return {std::move(gpus), "13.0", ""}; }
GpuSurvey no_driver() { return {{}, "", "there is no NVIDIA driver"}; }

/// Tests say themselves what was granted.
[[maybe_unused]] const bool kForgotten = [] {
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE"})
    unsetenv(name);
  return true;
}();

DeviceChoice choose(const std::string& request, const GpuSurvey& survey, std::uint64_t input_bytes = 0) {
  return jobs::choose_device(request, input_bytes, [&] { return survey; });
}

/// Sets a variable for as long as this lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

std::vector<int> measured;

/// Returns the ordinals of the GPUs whose free memory is measured, of four, when a device is chosen.
std::vector<int> measured_for(const std::string& request) {
  GpuSurvey survey = machine({gpu(0, 80), gpu(1, 80), gpu(2, 80, "too old"), gpu(3, 80)});
  survey.measure = [](Gpu& gpu) { measured.push_back(gpu.ordinal); };
  measured.clear();
  choose(request, survey);
  return measured;
}

/// The message of the error of type E; empty when there is none.
template <class E>
std::string error_of(const std::string& request, const GpuSurvey& survey) {
  return tests::refusal<E>([&] { choose(request, survey); });
}

/// For what must not look at the machine.
GpuSurvey never() {
  FAIL("surveyed");
  return {};
}

TEST_CASE("the CPU, as one device or several, without a look at GPUs") {
  CHECK(jobs::choose_device("cpu", 0, never).gpus.empty());
  CHECK(jobs::choose_device("cpu", 0, never).cpu_devices == 1);
  CHECK(jobs::choose_device("cpu:3", 0, never).cpu_devices == 3);
  CHECK(jobs::choose_device("cpu:256", 0, never).cpu_devices == 256);
}

TEST_CASE("malformed requests are usage errors that list the choices, without a look at GPUs") {
  for (const char* request :
       {"",          "gpu",     "CPU",    "cpu:",  "cpu:0",  "cpu:257",  "cpu:-1",    "cpu:1x",
        "cpu:99999", "cpu: 1",  "cpux",   "cuda:", "cuda:x", "cuda:-1",  "cuda:0,",   "cuda:,0",
        "cuda:0,,1", "cuda:0 ", "cuda 0", "cuda0", "auto:1", "cuda:0;1", "cuda:12345"}) {
    CAPTURE(request);
    const std::string message = tests::refusal<UsageError>([&] { jobs::choose_device(request, 0, never); });
    for (const char* part : {"auto", "cpu:N", "cuda:N", request})
      CHECK(message.find(part) != std::string::npos);
  }
}

TEST_CASE("a GPU that is named twice is a usage error, without a look at GPUs") {
  for (const char* request : {"cuda:0,0", "cuda:1,0,1"})
    CHECK_THROWS_AS(jobs::choose_device(request, 0, never), UsageError);
}

TEST_CASE("auto takes the usable GPU with the most free memory") {
  const DeviceChoice one = choose("auto", machine({gpu(0, 80)}));
  CHECK(one.gpus == std::vector<int>{0});
  CHECK(one.note == "there is a GPU");
  CHECK(one.warning.empty());
  const GpuSurvey four = machine({gpu(0, 90, "it is too old"), gpu(1, 40), gpu(2, 80), gpu(3, 80)});
  CHECK(choose("auto", four).gpus == std::vector<int>{2});
  CHECK(choose("auto", four).warning.empty());
}

TEST_CASE("auto is the CPU, and says why, where no GPU can be used") {
  const DeviceChoice none = choose("auto", no_driver());
  CHECK(none.gpus.empty());
  CHECK(none.cpu_devices == 1);
  CHECK(none.note == "there is no NVIDIA driver");
  CHECK(none.warning.empty());
  const DeviceChoice broken =
      choose("auto", machine({gpu(0, 80, "it is occupied"), gpu(1, 80, "it is too old")}));
  CHECK(broken.gpus.empty());
  for (const char* part : {"CPU", "cuda:0 (Some GPU): it is occupied", "cuda:1 (Some GPU): it is too old"})
    CHECK(broken.warning.find(part) != std::string::npos);
}

TEST_CASE("auto looks at GPUs only for inputs that are large, or of unknown size") {
  CHECK(jobs::choose_device("auto", 1 << 20, never).gpus.empty());
  CHECK(choose("auto", machine({gpu(0, 80)}), std::uint64_t{1} << 30).gpus == std::vector<int>{0});
}

TEST_CASE("auto goes to the CPU when the GPU turns out not to do; what was asked for does not") {
  const auto start = [](const DeviceChoice& choice) {
    if (!choice.gpus.empty()) throw ResourceError("the GPU is full");
    return 7;
  };
  DeviceChoice automatic = choose("auto", machine({gpu(0, 80)}));
  CHECK(jobs::with_fallback(automatic, [&] { return start(automatic); }) == 7);
  CHECK(automatic.gpus.empty());
  CHECK(automatic.note == "the GPU is full");
  CHECK(automatic.warning == "running on the CPU: the GPU is full");
  DeviceChoice asked = choose("cuda:0", machine({gpu(0, 80)}));
  CHECK_THROWS_AS(jobs::with_fallback(asked, [&] { return start(asked); }), ResourceError);
}

/// GPUs of which every two have such a link.
GpuSurvey linked(std::vector<Gpu> gpus, host::GpuLink link) {
  for (Gpu& one : gpus) one.links.assign(gpus.size(), link);
  return machine(std::move(gpus));
}

TEST_CASE("cuda takes all GPUs that can be used, or none at all") {
  CHECK(choose("cuda", machine({gpu(0, 10), gpu(1, 20), gpu(2, 30, "it is too old")})).gpus ==
        std::vector<int>{0, 1});
  CHECK(choose("cuda", machine({gpu(0, 10)}), 1).gpus == std::vector<int>{0});  // however small the input
  CHECK(error_of<ResourceError>("cuda", no_driver()) ==
        "--device cuda: there is no NVIDIA driver; use --device cpu");
  CHECK(error_of<ResourceError>("cuda", machine({gpu(0, 80, "it is occupied")})) ==
        "--device cuda: cuda:0 (Some GPU): it is occupied; use --device cpu");
  CHECK(error_of<ResourceError>("cuda", GpuSurvey{}) ==
        "--device cuda: this machine has no GPU; use --device cpu");
}

TEST_CASE("GPUs that do not reach each other's memory are used, with a warning") {
  const std::vector<Gpu> two = {gpu(0, 10), gpu(1, 20)};
  CHECK(choose("cuda", linked(two, host::GpuLink::nvlink)).warning.empty());
  CHECK(choose("cuda:1,0", linked(two, host::GpuLink::pcie)).warning.empty());
  CHECK(choose("cuda:1", linked(two, host::GpuLink::none)).warning.empty());
  CHECK(choose("cuda:1,0", linked(two, host::GpuLink::none)).warning ==
        "cuda:1 does not reach the memory of cuda:0: what they exchange goes through the host's");
}

TEST_CASE("processes of one job on a node take different GPUs") {
  const GpuSurvey four = machine({gpu(0, 80), gpu(1, 10), gpu(2, 80), gpu(3, 80, "it is too old")});
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4", 1);
  for (const int rank : {0, 1, 2}) {
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(rank).c_str(), 1);
    CHECK(choose("cuda", four).gpus == std::vector<int>{rank});
    CHECK(choose("auto", four).gpus == std::vector<int>{rank});
    CHECK(choose("cuda:2", four).gpus == std::vector<int>{2});  // asked for
  }
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "3", 1);
  CHECK(error_of<ResourceError>("cuda", four) ==
        "--device cuda: cuda:3 (Some GPU): it is too old; use --device cpu");
  unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
}

TEST_CASE("auto takes all GPUs that were granted, if they reach each other's memory") {
  const std::vector<Gpu> four = {gpu(0, 10), gpu(1, 80), gpu(2, 20, "it is too old"), gpu(3, 30)};
  const GpuSurvey joined = linked(four, host::GpuLink::nvlink);
  for (const char* name :
       {"CUDA_VISIBLE_DEVICES", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE"}) {
    CAPTURE(name);
    const Variable granted(name, "4");
    CHECK(choose("auto", joined).gpus == std::vector<int>{0, 1, 3});
    CHECK(choose("auto", joined).note == "all GPUs that this job was given");
    CHECK(choose("auto", joined).automatic);
    CHECK(choose("auto", linked(four, host::GpuLink::none)).gpus == std::vector<int>{1});
    CHECK(choose("auto", linked({gpu(0, 10)}, host::GpuLink::none)).gpus == std::vector<int>{0});
    CHECK(jobs::choose_device("auto", 1 << 20, never).gpus.empty());
  }
  CHECK(choose("auto", joined).gpus == std::vector<int>{1});
  const Variable none("CUDA_VISIBLE_DEVICES", "");
  CHECK(choose("auto", joined).gpus == std::vector<int>{1});
}

TEST_CASE("auto leaves a GPU alone that several processes of a job would share") {
  const Variable size("OMPI_COMM_WORLD_LOCAL_SIZE", "3"), rank("OMPI_COMM_WORLD_LOCAL_RANK", "1");
  CHECK(choose("auto", machine({gpu(0, 80), gpu(1, 80)})).gpus.empty());
  CHECK(choose("auto", machine({gpu(0, 80), gpu(1, 80)})).note ==
        "this node has more processes of the job than GPUs");
  CHECK(choose("auto", machine({gpu(0, 80), gpu(1, 80), gpu(2, 80)})).gpus == std::vector<int>{1});
}

/// The choices of ranks that see GPUs at these places of one machine.
std::vector<DeviceChoice> choose_together(const std::vector<std::vector<std::string>>& places,
                                          const std::string& problem = "") {
  std::vector<DeviceChoice> choices(places.size());
  const auto choose_one = [&](mpi::ProcessGroup& ranks) {
    std::vector<Gpu> gpus;
    for (const std::string& place : places[ranks.rank()]) {
      gpus.push_back(gpu(static_cast<int>(gpus.size()), 80));
      gpus.back().pci_address = place;
    }
    choices[ranks.rank()] = jobs::choose_device_together(
        ranks, 0, [&] { return machine(gpus); }, [&] { return problem; });
  };
  for (const std::string& error : test::on_ranks(static_cast<unsigned>(places.size()), choose_one))
    CHECK(error.empty());
  return choices;
}

TEST_CASE("ranks all take GPUs of their own, or all the CPU") {
  for (const DeviceChoice& choice : choose_together({{"1:0"}, {"2:0"}, {"3:0"}})) {
    CHECK(choice.gpus == std::vector<int>{0});
    CHECK(!choice.automatic);
  }
  for (const auto& places : std::vector<std::vector<std::vector<std::string>>>{
           {{"1:0"}, {}}, {{}, {"1:0"}}, {{"1:0"}, {"2:0"}, {"1:0"}}}) {
    for (const DeviceChoice& choice : choose_together(places)) {
      CHECK(choice.gpus.empty());
      CHECK(choice.cpu_devices == 1);
      CHECK(!choice.note.empty());
    }
  }
  CHECK(choose_together({{"1:0"}, {}})[0].note == "a rank has no GPU of its own");
  CHECK(choose_together({{"1:0"}, {"1:0"}})[1].note == "two ranks have the same GPU");
  CHECK(choose_together({{"1:0"}, {"2:0"}}, "there is no NCCL")[0].note == "there is no NCCL");
}

TEST_CASE("cuda:N,... are those GPUs and no others") {
  const GpuSurvey survey = machine({gpu(0, 80), gpu(1, 10), gpu(2, 80, "it is too old")});
  CHECK(choose("cuda:1", survey).gpus == std::vector<int>{1});
  CHECK(choose("cuda:1,0", survey).gpus == std::vector<int>{1, 0});
  CHECK(error_of<ResourceError>("cuda:0,2", survey) == "--device cuda:0,2: it is too old; use --device cpu");
  CHECK(error_of<ResourceError>("cuda:2", survey) == "--device cuda:2: it is too old; use --device cpu");
  CHECK(error_of<ResourceError>("cuda:3", survey).find("no such GPU") != std::string::npos);
  CHECK(error_of<ResourceError>("cuda:0", no_driver()) ==
        "--device cuda:0: there is no NVIDIA driver; use --device cpu");
}

TEST_CASE("nothing is made on GPUs that nobody asked for, or that are other processes'") {
  using Ordinals = std::vector<int>;
  CHECK(measured_for("cpu").empty());
  CHECK(measured_for("cuda:1") == Ordinals{1});
  CHECK(measured_for("cuda:3,0") == Ordinals{0, 3});
  CHECK(measured_for("cuda") == Ordinals{0, 1, 3});
  const Variable ranks("OMPI_COMM_WORLD_LOCAL_SIZE", "2"), rank("OMPI_COMM_WORLD_LOCAL_RANK", "1");
  CHECK(measured_for("cuda") == Ordinals{3});
}

}  // namespace
