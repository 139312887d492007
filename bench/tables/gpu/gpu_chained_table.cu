// The chained table on a GPU: each thread does an operation by itself, as Misra and Chaudhuri's do.

#include <cstdint>
#include <memory>

#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "tables/chained_table.h"
#include "tables/table_lists.h"

namespace warpmer::bench {
namespace {

constexpr unsigned kThreads = 256;

/// Loads come from the L2, where what others wrote is; a load whose address another one has brought comes
/// after that.
struct DeviceAtomics {
  static __device__ std::uint32_t load(std::uint32_t* at) {
    return *static_cast<volatile std::uint32_t*>(at);
  }
  static __device__ ChainNode load(ChainNode* at) {
    std::uint64_t element, next;
    asm volatile("ld.volatile.v2.u64 {%0, %1}, [%2];" : "=l"(element), "=l"(next) : "l"(at) : "memory");
    return {element, next};
  }
  static __device__ std::uint32_t compare_and_swap(std::uint32_t* at, std::uint32_t expected,
                                                   std::uint32_t desired) {
    __threadfence();
    return atomicCAS(at, expected, desired);
  }
  static __device__ std::uint64_t exchange(std::uint64_t* at, std::uint64_t desired) {
    return atomicExch(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(desired));
  }
};

using Table = ChainedTable<DeviceAtomics>;

template <class Work>
__device__ void for_each_number(std::size_t size, Work&& work) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < size; i += stride) work(i);
}

__global__ void __launch_bounds__(kThreads)
    insert_kernel(Table table, const std::uint64_t* pairs, std::size_t size, std::uint32_t nodes) {
  for_each_number(size,
                  [&](std::size_t i) { table.replace(pairs[i], nodes + static_cast<std::uint32_t>(i)); });
}
__global__ void __launch_bounds__(kThreads)
    find_kernel(Table table, const Key32* keys, std::size_t size, std::uint32_t* answers) {
  for_each_number(size, [&](std::size_t i) { answers[i] = table.find(keys[i]); });
}
__global__ void __launch_bounds__(kThreads)
    serve_kernel(Table table, const Operation* operations, std::size_t size, std::uint32_t nodes,
                 std::uint32_t* answers) {
  for_each_number(size, [&](std::size_t i) {
    answers[i] = table.serve(operations[i], nodes + static_cast<std::uint32_t>(i));
  });
}

class GpuChainedTable : public TableUnderTest {
 public:
  explicit GpuChainedTable(const TablePlan& plan)
      : heads_(table::buckets_for(plan.distinct, plan.load)),
        nodes_(plan.most_pairs),
        supply_(plan.most_pairs) {}

  [[nodiscard]] std::size_t slots() const override { return heads_.size(); }
  [[nodiscard]] std::size_t bytes() const override {
    return heads_.bytes() + supply_.used() * sizeof(ChainNode);
  }
  void clear(std::uint32_t seed) override {
    seed_ = seed;
    gpu::fill_bytes(heads_.data(), 0xFF, heads_.size(), nullptr);
    supply_.clear();
  }
  void insert(const Insertions& job) override {
    static const std::uint32_t grid = gpu::persistent_grid(insert_kernel, kThreads, 0);
    insert_kernel<<<grid, kThreads>>>(table(), job.pairs, job.size, supply_.take(job.size));
    gpu::check_launch("inserting");
  }
  bool finish() override { return true; }
  void find(const Lookups& job) override {
    static const std::uint32_t grid = gpu::persistent_grid(find_kernel, kThreads, 0);
    find_kernel<<<grid, kThreads>>>(table(), job.keys, job.size, job.answers);
    gpu::check_launch("looking up");
  }
  void serve(const Operations& job) override {
    static const std::uint32_t grid = gpu::persistent_grid(serve_kernel, kThreads, 0);
    serve_kernel<<<grid, kThreads>>>(table(), job.operations, job.size, supply_.take(job.size), job.answers);
    gpu::check_launch("serving operations");
  }

 private:
  [[nodiscard]] Table table() const {
    return {heads_.data(), Table::BucketOf(static_cast<std::uint32_t>(heads_.size()), seed_), nodes_.data()};
  }

  gpu::DeviceArray<std::uint32_t> heads_;
  gpu::DeviceArray<ChainNode> nodes_;
  NodeSupply supply_;
  std::uint32_t seed_ = 0;
};

constexpr TableEntry kChainedTables[] = {
    {kChainedConfiguration, [](const TablePlan& plan) -> std::unique_ptr<TableUnderTest> {
       return std::make_unique<GpuChainedTable>(plan);
     }}};

}  // namespace

const TableList kGpuChainedTables = kChainedTables;

}  // namespace warpmer::bench
