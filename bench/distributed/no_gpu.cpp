// In builds without CUDA.

#include "base/error.h"
#include "distributed/experiments.h"

namespace warpmer::bench {

Ordinals usable_gpus() { return {}; }
std::string gpu_name(int /*ordinal*/) { return {}; }

namespace {
[[noreturn]] void refuse() {
  throw ResourceError("this warpmer-bench was built without CUDA, and the experiment needs a GPU");
}
}  // namespace

void run_cascades(const CascadeSetting& /*setting*/,
                  const std::function<void(const CascadeResult&)>& /*keep*/) {
  refuse();
}
void run_exchanges(const ExchangeSetting& /*setting*/,
                   const std::function<void(const ExchangeResult&)>& /*keep*/) {
  refuse();
}
void run_multisplits(const MultisplitSetting& /*setting*/,
                     const std::function<void(const MultisplitResult&)>& /*keep*/) {
  refuse();
}

}  // namespace warpmer::bench
