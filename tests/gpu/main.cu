// The one main of the GPU tests. Without a GPU all of them are skipped.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

#include "engine/gpus.h"

int main(int argc, char** argv) {
  const warpmer::engine::GpuSurvey survey = warpmer::engine::survey_gpus();
  if (survey.gpus.empty() || !survey.gpus[0].problem.empty()) {
    std::printf("skipped: %s\n",
                survey.gpus.empty() ? survey.problem.c_str() : survey.gpus[0].problem.c_str());
    return 77;
  }
  return doctest::Context(argc, argv).run();
}
