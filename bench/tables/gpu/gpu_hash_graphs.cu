// HashGraphs on a GPU, as kernels/tables/hash_graph.cuh builds and probes them: in the default stream.

#include <cstdint>
#include <memory>

#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "kernels/tables/hash_graph.cuh"
#include "tables/hash_graph_tables.h"
#include "tables/table_lists.h"

namespace warpmer::bench {
namespace {

constexpr unsigned kThreads = 256;

__global__ void take_apart_kernel(const std::uint64_t* pairs, std::size_t size, Key32* keys,
                                  std::uint32_t* values) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < size; i += stride) {
    keys[i] = table::key_of(pairs[i]);
    values[i] = table::count_of(pairs[i]);
  }
}

__global__ void answer_kernel(const gpu::Matches* matches, std::size_t size, bool distinct,
                              const std::uint32_t* values, std::uint32_t* answers) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < size; i += stride)
    answers[i] = answer_of_matches(matches[i].first, matches[i].count, distinct, values);
}

class GpuHashGraph : public TableUnderTest {
 public:
  GpuHashGraph(const HashGraphKind& kind, const TablePlan& plan)
      : kind_(kind),
        buckets_(table::buckets_for(plan.most_pairs, plan.load)),
        keys_(plan.most_pairs),
        values_(plan.most_pairs),
        matches_(plan.most_pairs),
        graph_(build(nullptr, nullptr, 0)) {}

  [[nodiscard]] std::size_t slots() const override { return buckets_; }
  [[nodiscard]] std::size_t bytes() const override {
    return graph_.offsets.bytes() + graph_.keys.bytes() + graph_.values.bytes();
  }
  void clear(std::uint32_t seed) override {
    seed_ = seed;
    graph_ = build(nullptr, nullptr, 0);
  }
  void prepare(const Insertions& job) override {
    static const std::uint32_t grid = gpu::persistent_grid(take_apart_kernel, kThreads, 0);
    take_apart_kernel<<<grid, kThreads>>>(job.pairs, job.size, keys_.data(), values_.data());
    gpu::check_launch("taking pairs apart");
  }
  void insert(const Insertions& job) override {
    distinct_ = job.distinct;
    graph_ = build(keys_.data(), values_.data(), job.size);
  }
  bool finish() override { return true; }
  void find(const Lookups& job) override {
    if (kind_.probes_new) {
      const Graph queries = build(job.keys, nullptr, job.size);
      gpu::probe_new<Key32>(graph_.view(), queries.view(), job.size, matches_.data(), nullptr);
    } else {
      gpu::probe_standard<Key32>(graph_.view(), job.keys, job.size, matches_.data(), nullptr);
    }
  }
  void collect(const Lookups& job) override {
    static const std::uint32_t grid = gpu::persistent_grid(answer_kernel, kThreads, 0);
    answer_kernel<<<grid, kThreads>>>(matches_.data(), job.size, distinct_, graph_.values.data(),
                                      job.answers);
    gpu::check_launch("answering");
  }

 private:
  using Graph = gpu::DeviceHashGraph<Key32>;

  [[nodiscard]] Graph build(const Key32* keys, const std::uint32_t* values, std::size_t n) const {
    return gpu::build_hash_graph<Key32>(keys, values, n, table::HashedBucket<Key32>(buckets_, seed_),
                                        kind_.version, kind_.grouped, nullptr, kind_.bins);
  }

  HashGraphKind kind_;
  std::uint32_t buckets_;
  std::uint32_t seed_ = 0;
  bool distinct_ = true;
  gpu::DeviceArray<Key32> keys_;
  gpu::DeviceArray<std::uint32_t> values_;
  gpu::DeviceArray<gpu::Matches> matches_;
  Graph graph_;
};

template <int kNumber>
constexpr TableEntry entry() {
  return {hash_graph_configuration(kHashGraphKinds[kNumber]),
          [](const TablePlan& plan) -> std::unique_ptr<TableUnderTest> {
            return std::make_unique<GpuHashGraph>(kHashGraphKinds[kNumber], plan);
          }};
}

constexpr TableEntry kHashGraphsTables[] = {entry<0>(), entry<1>(), entry<2>(), entry<3>(), entry<4>(),
                                            entry<5>(), entry<6>(), entry<7>(), entry<8>(), entry<9>()};

}  // namespace

const TableList kGpuHashGraphs = kHashGraphsTables;

}  // namespace warpmer::bench
