// The CUDA backend: checks the GPU it is given and starts sessions on it.

#include <cuda_runtime.h>

#include "backend/backend.h"
#include "host/gpus.h"
#include "kernels/memory/cuda_error.cuh"
#include "kernels/memory/driver_lock.cuh"
#include "kernels/memory/key_width.cuh"
#include "kernels/memory/pinned_text.cuh"
#include "kernels/session/session.cuh"
#include "kernels/update/update.cuh"
#include "kmer/kmer.h"

namespace warpmer::gpu {

namespace {

class CudaBackend : public backend::Backend {
 public:
  explicit CudaBackend(const std::vector<int>& gpus)
      : peers_(gpus), text_memory_(peers_.pinned_blocks(), gpus.front()) {
    for (const int gpu : gpus) {
      cudaDeviceProp properties{};
      check(cudaGetDeviceProperties(&properties, gpu), "asking for the GPU");
      names_.push_back("cuda:" + std::to_string(gpu) + " (" + properties.name + ")");
    }
  }

  [[nodiscard]] std::string describe() const override {
    std::string all;
    for (const std::string& name : names_) all += (all.empty() ? "" : ", ") + name;
    return all;
  }

  [[nodiscard]] const io::TextMemory* text_memory() const override { return &text_memory_; }

  [[nodiscard]] std::unique_ptr<backend::CountingSession> start(const backend::CountPlan& plan) override {
    check_capabilities(plan.kmers.k);
    return make_session(peers_, plan);
  }
  [[nodiscard]] std::unique_ptr<backend::UpdatingSession> start_update(
      const backend::UpdatePlan& plan, const index::IndexFile& index) override {
    check_capabilities(index.params().k);
    return make_update(peers_, plan, index);
  }

 private:
  void check_capabilities(std::uint32_t k) const {
    for (const int gpu : peers_.gpus()) check_key_width(k, gpu);
  }

  Peers peers_;
  PinnedText text_memory_;
  std::vector<std::string> names_;
};

}  // namespace

}  // namespace warpmer::gpu

namespace warpmer::backend {

std::unique_ptr<Backend> make_cuda_backend(const std::vector<int>& gpus) {
  if (gpus.empty()) throw UsageError("no GPU was named");
  return std::make_unique<gpu::CudaBackend>(gpus);
}

}  // namespace warpmer::backend
