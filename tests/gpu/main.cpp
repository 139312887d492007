// The one main of the GPU tests. Without a GPU that warpmer can use all of them are skipped.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

#include "gpu/device.h"

int main(int argc, char** argv) {
  if (const std::string problem = warpmer::tests::choose_gpu(); !problem.empty()) {
    std::printf("skipped: %s\n", problem.c_str());
    return 77;
  }
  const warpmer::host::Gpu& gpu = warpmer::tests::gpu_under_test();
  std::printf("on cuda:%d (%s)\n", gpu.ordinal, gpu.name.c_str());
  return doctest::Context(argc, argv).run();
}
