// A build without CUDA says this instead.

#include "host/gpus.h"

namespace warpmer::host {

GpuSurvey survey_gpus() {
  GpuSurvey survey;
  survey.problem = "this warpmer was built without CUDA";
  return survey;
}

}  // namespace warpmer::host
