// The CPU backend: picks the session that k asks for.

#include <fmt/format.h>

#include "backend/backend.h"
#include "backend/update_session.h"
#include "cpu/count/dense_session.h"
#include "cpu/count/sharded_session.h"
#include "cpu/simd/kernels.h"

namespace warpmer::cpu {

namespace {

/// Calls `f.operator()<Way>()` with the way of counting (cpu/count/string_counting.h) that a plan asks for.
template <class F>
auto with_way(const backend::CountPlan& plan, F&& f) {
  return groups::with_flanked_words(plan.kmers.k, [&]<int Words>() {
    if (plan.table == backend::CountTable::automatic) return f.template operator()<InGroups<Words>>();
    if constexpr (Words == 2) {
      if (plan.kmers.k <= kMaxNarrowK) return f.template operator()<InTable<Key64, Words>>();
    }
    return f.template operator()<InTable<Key128, Words>>();
  });
}

class CpuBackend : public backend::Backend {
 public:
  [[nodiscard]] std::string describe() const override { return fmt::format("cpu ({})", kernels_.name); }

  [[nodiscard]] std::unique_ptr<backend::CountingSession> start(const backend::CountPlan& plan) override {
    if (plan.kmers.k <= kMaxDenseK) return std::make_unique<DenseSession>(kernels_, plan);
    return with_way(plan, [&]<class Way>() -> std::unique_ptr<backend::CountingSession> {
      return std::make_unique<ShardedSession<Way>>(kernels_, plan);
    });
  }

  [[nodiscard]] std::unique_ptr<backend::UpdatingSession> start_update(
      const backend::UpdatePlan& plan, const index::IndexFile& index) override {
    return backend::make_cpu_update(plan, index);
  }

  [[nodiscard]] std::optional<backend::SessionForecast> forecast(
      const backend::CountPlan& plan, const backend::ExpectedKmers& expected) const override {
    if (plan.kmers.k <= kMaxDenseK) return DenseSession::forecast(plan);
    return with_way(plan, [&]<class Way>() { return ShardedSession<Way>::forecast(plan, expected); });
  }

 private:
  const Kernels& kernels_ = best_kernels();
};

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::backend {

std::string cpu_instruction_set() { return cpu::best_kernels().name; }

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<cpu::CpuBackend>(); }

}  // namespace warpmer::backend
