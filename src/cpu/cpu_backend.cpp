// The CPU backend: picks the session that k asks for.

#include <fmt/format.h>

#include "cpu/dense_session.h"
#include "cpu/kernels.h"
#include "cpu/sharded_session.h"
#include "engine/backend.h"
#include "engine/update_session.h"

namespace warpmer::cpu {

namespace {

class CpuBackend : public engine::Backend {
 public:
  [[nodiscard]] std::string describe() const override { return fmt::format("cpu ({})", kernels_.name); }

  [[nodiscard]] std::unique_ptr<engine::CountingSession> start(const engine::CountPlan& plan) override {
    if (plan.k <= kMaxDenseK) return std::make_unique<DenseSession>(kernels_, plan);
    return with_shard_types(plan.k, [&]<class Key, int Words>() -> std::unique_ptr<engine::CountingSession> {
      return std::make_unique<ShardedSession<Key, Words>>(kernels_, plan);
    });
  }

  [[nodiscard]] std::unique_ptr<engine::UpdatingSession> start_update(
      const engine::UpdatePlan& plan, const index::IndexFile& index) override {
    return engine::make_cpu_update(plan, index);
  }

  [[nodiscard]] std::optional<engine::SessionForecast> forecast(
      const engine::CountPlan& plan, const engine::ExpectedKmers& expected) const override {
    if (plan.k <= kMaxDenseK) return DenseSession::forecast(plan);
    return with_shard_types(
        plan.k, [&]<class Key, int Words>() { return ShardedSession<Key, Words>::forecast(plan, expected); });
  }

 private:
  const Kernels& kernels_ = best_kernels();
};

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::engine {

std::string cpu_instruction_set() { return cpu::best_kernels().name; }

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<cpu::CpuBackend>(); }

}  // namespace warpmer::engine
