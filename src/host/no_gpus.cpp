// A build without CUDA says this instead.

#include "host/gpus.h"

namespace warpmer::host {

GpuSurvey survey_gpus() {
  GpuSurvey survey;
  survey.problem = problem_of_ranks_on_gpus();
  return survey;
}

std::string problem_of_ranks_on_gpus() { return "this warpmer was built without CUDA"; }

}  // namespace warpmer::host
