// What a build without CUDA says instead.

#include "engine/gpus.h"

namespace warpmer::engine {

GpuSurvey survey_gpus() {
  GpuSurvey survey;
  survey.problem = "this warpmer was built without CUDA";
  return survey;
}

}  // namespace warpmer::engine
