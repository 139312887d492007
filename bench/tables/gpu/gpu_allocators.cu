// SlabAlloc on a GPU (Ashkiani et al. 2018, section V): each lane asks for a unit, and its group allocates
// for one lane after another, as insertions into a slab hash do.

#include <cstdint>
#include <memory>

#include "kernels/warps/tile_cuda.cuh"
#include "tables/gpu/gpu_units.cuh"
#include "tables/table_lists.h"

namespace warpmer::bench {
namespace {

constexpr unsigned kThreads = 256;

struct alignas(table::kSlabBytes) Unit {
  std::uint32_t words[table::kSlabBytes / sizeof(std::uint32_t)];
};

template <class Tile>
__device__ Tile tile_of_this_group() {
  return Tile(gpu::cg::tiled_partition<Tile::Group::num_threads()>(gpu::cg::this_thread_block()));
}

template <class Tile, class Units>
__global__ void __launch_bounds__(kThreads)
    allocate_kernel(table::SlabAlloc<Units> alloc, std::size_t requests, table::SlabAddress* addresses) {
  constexpr std::uint32_t kLanes = Tile::Group::num_threads();
  const auto tile = tile_of_this_group<Tile>();
  const std::size_t lane = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::size_t first = lane - tile.group.thread_rank();
  if (first >= requests) return;
  table::ResidentBlock resident = alloc.resident(tile, static_cast<std::uint32_t>(lane / kLanes));
  table::SlabAddress mine = table::kNoSlab;
  for (std::uint32_t i = 0; i < kLanes && first + i < requests; ++i) {
    const table::SlabAddress address = alloc.allocate(tile, resident);
    if (tile.group.thread_rank() == i) mine = address;
  }
  if (lane < requests) addresses[lane] = mine;
}

template <class Tile, class Units>
__global__ void __launch_bounds__(kThreads)
    free_kernel(table::SlabAlloc<Units> alloc, std::size_t requests, const table::SlabAddress* addresses) {
  constexpr std::uint32_t kLanes = Tile::Group::num_threads();
  const auto tile = tile_of_this_group<Tile>();
  const std::size_t lane = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  const table::SlabAddress mine = lane < requests ? addresses[lane] : table::kNoSlab;
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    const table::SlabAddress address = tile.from_lane(mine, static_cast<int>(i));
    if (address != table::kNoSlab) alloc.free(tile, address);
  }
}

/// Counts requests that were refused, and units that are none or were handed out before.
template <class Units>
__global__ void account_kernel(table::SlabAlloc<Units> alloc, const Unit* units, std::size_t size,
                               std::size_t requests, const table::SlabAddress* addresses,
                               std::uint32_t* owners, unsigned long long* refused_and_shared) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= requests) return;
  if (addresses[i] == table::kNoSlab) {
    atomicAdd(refused_and_shared, 1ull);
    return;
  }
  const auto number = static_cast<std::size_t>(alloc.at(addresses[i]) - units);
  if (number >= size || atomicExch(owners + number, 1u) != 0) atomicAdd(refused_and_shared + 1, 1ull);
}

template <class Tile, class Units>
class GpuAllocator : public AllocatorUnderTest {
 public:
  explicit GpuAllocator(std::size_t most_requests)
      : units_(std::uint64_t{kSuperBlocks} * blocks_in_super_block(most_requests) * table::kUnitsPerBlock),
        addresses_(most_requests) {}

  [[nodiscard]] std::size_t units() const override { return units_.shape().units(); }
  [[nodiscard]] std::size_t bytes() const override { return units_.bytes(); }
  void allocate(std::size_t requests) override {
    requests_ = requests;
    allocate_kernel<Tile><<<blocks(), kThreads>>>(units_.alloc(), requests_, addresses_.data());
    gpu::check_launch("allocating");
  }
  void free() override {
    free_kernel<Tile><<<blocks(), kThreads>>>(units_.alloc(), requests_, addresses_.data());
    gpu::check_launch("freeing");
  }
  AllocatorAccount account() override {
    const gpu::DeviceArray<std::uint32_t> owners(units());
    const gpu::DeviceArray<unsigned long long> counts(2);
    gpu::fill_bytes(owners.data(), 0, owners.size(), nullptr);
    gpu::fill_bytes(counts.data(), 0, counts.size(), nullptr);
    account_kernel<<<blocks(), kThreads>>>(units_.alloc(), units_.data(), units(), requests_,
                                           addresses_.data(), owners.data(), counts.data());
    gpu::check_launch("looking at units");
    unsigned long long refused_and_shared[2]{};
    gpu::check(cudaMemcpy(refused_and_shared, counts.data(), counts.bytes(), cudaMemcpyDefault),
               "looking at units");
    return {refused_and_shared[0], refused_and_shared[1], units_.taken()};
  }

 private:
  [[nodiscard]] unsigned blocks() const {
    return static_cast<unsigned>((requests_ + kThreads - 1) / kThreads);
  }
  GpuUnits<Units> units_;
  gpu::DeviceArray<table::SlabAddress> addresses_;
  std::size_t requests_ = 0;
};

template <int Lanes, template <class> class UnitsOf>
std::unique_ptr<AllocatorUnderTest> make(std::size_t most_requests) {
  using Tile = gpu::CudaTile<table::PlainWord, Lanes, 32 / Lanes>;
  return std::make_unique<GpuAllocator<Tile, UnitsOf<Unit>>>(most_requests);
}

constexpr AllocatorEntry kAllocators[] = {
    {"slaballoc", 32, make<32, SuperBlocks>},
    {"slaballoc", 16, make<16, SuperBlocks>},
    {"slaballoc-light", 32, make<32, table::ContiguousUnits>},
    {"slaballoc-light", 16, make<16, table::ContiguousUnits>},
    {"slaballoc-light", 8, make<8, table::ContiguousUnits>},
};

}  // namespace

const AllocatorList kGpuAllocators = kAllocators;

}  // namespace warpmer::bench
