// Tests the report of `warpmer devices` on machines with several GPUs.
// ctest: one thread

#include "cli/output/gpu_report.h"

#include <doctest/doctest.h>

#include "scratch_folder.h"

using namespace warpmer;

namespace {

host::Gpu second_of_four() {
  host::Gpu gpu;
  gpu.ordinal = 1;
  gpu.name = "GPU";
  gpu.major = 9;
  gpu.links = {host::GpuLink::nvlink, host::GpuLink::none, host::GpuLink::pcie, host::GpuLink::none};
  return gpu;
}

std::string printed(const host::Gpu& gpu) {
  const tests::ScratchFolder folder;
  cli::TextOutput output(folder / "text");
  cli::print_gpu(gpu, output);
  output.finish();
  return tests::read_bytes(folder / "text");
}

}  // namespace

TEST_CASE("the kind of link to each other GPU is named") {
  const std::string text = printed(second_of_four());
  for (const char* line : {"\n  link to cuda:0    NVLink\n", "\n  link to cuda:2    PCIe\n",
                           "\n  link to cuda:3    none (through host)\n"}) {
    CAPTURE(line);
    CHECK(text.find(line) != std::string::npos);
  }
  CHECK(text.find("link to cuda:1 ") == std::string::npos);
  CHECK(text.find("problem") == std::string::npos);
  const cli::Json json = cli::gpu_json(second_of_four());
  CHECK(json["links"].size() == 3);
  CHECK(json["links"]["cuda:0"] == "NVLink");
  CHECK(json["links"]["cuda:2"] == "PCIe");
  CHECK(json["links"]["cuda:3"] == "none (through host)");
  CHECK(json["problem"].is_null());
}

TEST_CASE("a GPU that cannot be used says why, and one alone has no links") {
  host::Gpu gpu;
  gpu.problem = "it is occupied";
  gpu.links = {host::GpuLink::none};
  const std::string text = printed(gpu);
  CHECK(text.find("\n  problem           it is occupied\n") != std::string::npos);
  CHECK(text.find("link") == std::string::npos);
  CHECK(cli::gpu_json(gpu)["links"].empty());
}
