// A GPU as a workbench for tables. Everything is in the default stream.

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <string>
#include <utility>

#include "kernels/memory/cuda_error.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "tables/table_lists.h"
#include "tables/workbench.h"

namespace warpmer::bench {
namespace {

constexpr unsigned kThreads = 256;

/// Calls `work(i)` for all i below `size`.
template <class Work>
__device__ void for_each_number(std::size_t size, Work&& work) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < size; i += stride) work(i);
}

__global__ void make_pairs_kernel(PairMaker maker, std::size_t size, std::uint64_t* pairs) {
  for_each_number(size, [&](std::size_t i) { pairs[i] = maker.pair(i); });
}

__global__ void keys_of_kernel(const std::uint64_t* pairs, std::size_t size, Key32* keys) {
  for_each_number(size, [&](std::size_t i) { keys[i] = table::key_of(pairs[i]); });
}

__global__ void make_queries_kernel(PairMaker maker, std::uint32_t hits_percent, std::size_t size,
                                    Key32* queries) {
  for_each_number(size, [&](std::size_t i) { queries[i] = maker.query(i, hits_percent); });
}

__global__ void copy_keys_kernel(const Key32* from, std::size_t size, Key32* to) {
  for_each_number(size, [&](std::size_t i) { to[i] = from[i]; });
}

template <class IsRight>
__device__ void judge(std::size_t size, const std::uint32_t* answers, Totals* verdict, IsRight&& is_right) {
  for_each_number(size, [&](std::size_t i) {
    if (!is_right(i)) atomicAdd(answers[i] == kAbsent ? &verdict->overflow : &verdict->probes, 1ull);
  });
}

/// The verdict: what is lost in `overflow`, what is invented in `probes`.
__global__ void judge_answers_kernel(PairMaker maker, std::uint32_t hits_percent, std::size_t size,
                                     const Key32* queries, const std::uint32_t* answers, Totals* verdict) {
  judge(size, answers, verdict,
        [&](std::size_t i) { return maker.is_right(i, hits_percent, queries[i], answers[i]); });
}

__global__ void judge_counts_kernel(std::size_t size, const std::uint32_t* counts,
                                    const std::uint32_t* answers, Totals* verdict) {
  judge(size, answers, verdict, [&](std::size_t i) { return answers[i] == counts[i]; });
}

__global__ void make_operations_kernel(MixMaker maker, std::size_t first, std::size_t size,
                                       Operation* operations) {
  for_each_number(size, [&](std::size_t i) { operations[i] = maker.operation(first + i); });
}

__global__ void judge_operations_kernel(MixMaker maker, std::size_t first, std::size_t size,
                                        const std::uint32_t* answers, Totals* verdict) {
  judge(size, answers, verdict, [&](std::size_t i) { return maker.is_right(first + i, answers[i]); });
}

__global__ void make_queries_after_kernel(MixMaker maker, std::size_t size, Key32* queries) {
  for_each_number(size, [&](std::size_t i) { queries[i] = maker.key(i); });
}

__global__ void judge_answers_after_kernel(MixMaker maker, std::size_t size, const std::uint32_t* answers,
                                           Totals* verdict) {
  judge(size, answers, verdict, [&](std::size_t i) { return maker.is_right_after(i, answers[i]); });
}

template <class... Parameters, class... Arguments>
void launch(const char* doing, void (*kernel)(Parameters...), Arguments&&... arguments) {
  kernel<<<gpu::persistent_grid(kernel, kThreads, 0), kThreads>>>(std::forward<Arguments>(arguments)...);
  gpu::check_launch(doing);
}

class GpuWorkbench : public Workbench {
 public:
  /// Makes the bench of the current GPU.
  explicit GpuWorkbench(std::string name) : name_(std::move(name)), totals_(1) {}

  [[nodiscard]] std::string device() const override { return name_; }
  [[nodiscard]] std::vector<TableEntry> tables() const override { return gpu_tables(); }
  [[nodiscard]] std::vector<AllocatorEntry> allocators() const override { return gpu_allocators(); }
  [[nodiscard]] bool splits() const override { return true; }

  std::size_t make_pairs(const KeyPlan& plan) override {
    plan_ = plan;
    distinct_size_ = plan.pairs;
    pairs_.reserve(plan.pairs);
    queries_.reserve(plan.pairs);
    answers_.reserve(plan.pairs);
    launch("making keys", make_pairs_kernel, PairMaker(plan), plan.pairs, pairs_.data());
    if (plan.distribution != Distribution::unique) count_distinct();
    return distinct_size_;
  }

  Insertions insertions() override {
    clear_totals();
    return {.pairs = pairs_.data(),
            .size = plan_.pairs,
            .distinct = plan_.distribution == Distribution::unique,
            .replaces = plan_.last_writer,
            .count_probes = false,
            .ahead = false,
            .split = false,
            .totals = totals_.data()};
  }

  Lookups make_queries(std::uint32_t hits_percent, std::size_t size) override {
    hits_percent_ = hits_percent;
    launch("making queries", make_queries_kernel, PairMaker(plan_), hits_percent, size, queries_.data());
    return lookups(size);
  }
  Verdict judge_answers() override {
    clear_totals();
    launch("judging answers", judge_answers_kernel, PairMaker(plan_), hits_percent_, asked_, queries_.data(),
           answers_.data(), totals_.data());
    return verdict();
  }

  Lookups make_queries_of_distinct() override {
    launch("making queries", copy_keys_kernel, distinct_.data(), distinct_size_, queries_.data());
    return lookups(distinct_size_);
  }
  Verdict judge_counts() override {
    clear_totals();
    launch("judging counts", judge_counts_kernel, distinct_size_, counts_.data(), answers_.data(),
           totals_.data());
    return verdict();
  }

  Operations make_operations(const MixPlan& plan, std::size_t first, std::size_t size) override {
    mix_ = plan;
    first_operation_ = first;
    asked_ = size;
    operations_.reserve(size);
    answers_.reserve(size);
    launch("making operations", make_operations_kernel, MixMaker(plan), first, size, operations_.data());
    forget_answers(size);
    return {operations_.data(), size, answers_.data()};
  }
  Verdict judge_operations() override {
    clear_totals();
    launch("judging operations", judge_operations_kernel, MixMaker(mix_), first_operation_, asked_,
           answers_.data(), totals_.data());
    return verdict();
  }
  Lookups make_queries_after(const MixPlan& plan) override {
    mix_ = plan;
    const MixMaker maker(plan);
    queries_.reserve(maker.keys());
    answers_.reserve(maker.keys());
    launch("making queries", make_queries_after_kernel, maker, maker.keys(), queries_.data());
    return lookups(maker.keys());
  }
  Verdict judge_answers_after() override {
    clear_totals();
    launch("judging answers", judge_answers_after_kernel, MixMaker(mix_), asked_, answers_.data(),
           totals_.data());
    return verdict();
  }

  Totals totals() override {
    Totals totals{};
    gpu::check(cudaMemcpy(&totals, totals_.data(), sizeof totals, cudaMemcpyDefault), "working on a table");
    return totals;
  }

  double seconds_of(const std::function<void()>& work) override {
    gpu::check(cudaDeviceSynchronize(), "waiting for the GPU");
    begin_.record(nullptr);
    work();
    end_.record(nullptr);
    end_.wait();
    return end_.seconds_since(begin_);
  }

 private:
  void clear_totals() { gpu::check(cudaMemset(totals_.data(), 0, totals_.bytes()), "clearing totals"); }
  /// Makes answers what is none, so that one that is not written is noticed.
  void forget_answers(std::size_t size) {
    gpu::check(cudaMemset(answers_.data(), 0xFE, size * sizeof(std::uint32_t)), "clearing answers");
  }
  Lookups lookups(std::size_t size) {
    clear_totals();
    forget_answers(size);
    asked_ = size;
    return {.keys = queries_.data(),
            .size = size,
            .answers = answers_.data(),
            .count_probes = false,
            .ahead = false,
            .totals = totals_.data()};
  }
  Verdict verdict() {
    const Totals totals = this->totals();
    return {totals.overflow, totals.probes};
  }

  /// Sorts the keys and counts runs: another way to know how often each comes.
  void count_distinct() {
    const auto size = static_cast<long long>(plan_.pairs);
    const gpu::DeviceArray<Key32> sorted(plan_.pairs);
    launch("making keys", keys_of_kernel, pairs_.data(), plan_.pairs, queries_.data());
    const auto sort = [&](void* scratch, std::size_t& bytes) {
      gpu::check(cub::DeviceRadixSort::SortKeys(scratch, bytes, queries_.data(), sorted.data(), size),
                 "sorting keys");
    };
    with_scratch(sort);
    distinct_.reserve(plan_.pairs);
    counts_.reserve(plan_.pairs);
    const gpu::DeviceArray<unsigned long long> runs(1);
    const auto encode = [&](void* scratch, std::size_t& bytes) {
      gpu::check(cub::DeviceRunLengthEncode::Encode(scratch, bytes, sorted.data(), distinct_.data(),
                                                    counts_.data(), runs.data(), size),
                 "counting keys");
    };
    with_scratch(encode);
    unsigned long long distinct = 0;
    gpu::check(cudaMemcpy(&distinct, runs.data(), sizeof distinct, cudaMemcpyDefault), "counting keys");
    distinct_size_ = distinct;
  }
  /// Work of CUB: asked for its scratch memory first.
  template <class Work>
  static void with_scratch(Work&& work) {
    std::size_t bytes = 0;
    work(nullptr, bytes);
    const gpu::DeviceArray<char> scratch(bytes + 1);
    work(scratch.data(), bytes);
    gpu::check(cudaDeviceSynchronize(), "waiting for the GPU");
  }

  std::string name_;
  KeyPlan plan_;
  std::size_t distinct_size_ = 0;
  std::uint32_t hits_percent_ = 100;
  std::size_t asked_ = 0;  ///< queries or operations that were made last
  MixPlan mix_;
  std::size_t first_operation_ = 0;
  gpu::DeviceArray<std::uint64_t> pairs_;
  gpu::DeviceArray<Key32> queries_, distinct_;
  gpu::DeviceArray<std::uint32_t> answers_, counts_;
  gpu::DeviceArray<Operation> operations_;
  gpu::DeviceArray<Totals> totals_;
  gpu::Event begin_{gpu::Event::Kind::timing}, end_{gpu::Event::Kind::timing};
};

}  // namespace

int gpus_there_are() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess) return count;
  cudaGetLastError();  // no driver, no GPU: forgotten
  return 0;
}

std::unique_ptr<Workbench> make_gpu_workbench(int device) {
  if (device >= gpus_there_are())
    throw ResourceError("there is no GPU number " + std::to_string(device) + "; use --device cpu");
  gpu::check(cudaSetDevice(device), "choosing the GPU");
  cudaDeviceProp properties{};
  gpu::check(cudaGetDeviceProperties(&properties, device), "asking for the device");
  return std::make_unique<GpuWorkbench>(properties.name);
}

}  // namespace warpmer::bench
