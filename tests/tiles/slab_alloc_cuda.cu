#include "tiles/slab_ops_cuda.cuh"

namespace warpmer::tests {
namespace {

struct alignas(table::kSlabBytes) Unit {
  std::uint32_t words[32];
};

template <int kLanes>
using WordTile = gpu::CudaTile<table::PlainWord, kLanes, 32 / kLanes>;

template <class Tile>
__device__ Tile tile_here(unsigned& worker) {
  constexpr unsigned kLanes = Tile::Group::num_threads();
  worker = (blockIdx.x * blockDim.x + threadIdx.x) / kLanes;
  return Tile(gpu::cg::tiled_partition<kLanes>(gpu::cg::this_thread_block()));
}

template <class Tile, class Units>
__global__ void allocate_kernel(table::SlabAlloc<Units> alloc, std::uint32_t workers, std::uint32_t each,
                                std::uint32_t* addresses) {
  unsigned worker = 0;
  const auto tile = tile_here<Tile>(worker);
  if (worker >= workers) return;
  table::ResidentBlock resident = alloc.resident(tile, worker);
  for (std::uint32_t i = 0; i < each; ++i) {
    const std::uint32_t address = alloc.allocate(tile, resident);
    if (tile.lane() == 0) addresses[std::size_t{worker} * each + i] = address;
  }
}

template <class Tile, class Units>
__global__ void free_kernel(table::SlabAlloc<Units> alloc, const std::uint32_t* addresses, std::size_t size) {
  unsigned worker = 0;
  const auto tile = tile_here<Tile>(worker);
  const std::size_t workers = gridDim.x * blockDim.x / Tile::Group::num_threads();
  for (std::size_t i = worker; i < size; i += workers) alloc.free(tile, addresses[i]);
}

/// A unit goes from hand to hand within the launch, so what is done to it is fenced off.
template <class Tile, class Units>
__global__ void churn_kernel(table::SlabAlloc<Units> alloc, std::uint32_t workers, std::uint32_t rounds,
                             unsigned long long* wrong_and_none) {
  unsigned worker = 0;
  const auto tile = tile_here<Tile>(worker);
  if (worker >= workers) return;
  table::ResidentBlock resident = alloc.resident(tile, worker);
  for (std::uint32_t i = 0; i < rounds; ++i) {
    constexpr std::uint32_t kMost = 5;
    std::uint32_t mine[kMost];
    const std::uint32_t wanted = 1 + (worker + i) % kMost;
    for (std::uint32_t j = 0; j < wanted; ++j) {
      mine[j] = alloc.allocate(tile, resident);
      if (tile.lane() != 0) continue;
      if (mine[j] == table::kNoSlab) {
        atomicAdd(wrong_and_none + 1, 1ull);
      } else {
        atomicExch(&alloc.at(mine[j])->words[i % 32], worker);
      }
    }
    tile.group.sync();
    for (std::uint32_t j = 0; j < wanted; ++j) {
      if (mine[j] == table::kNoSlab) continue;
      if (tile.lane() == 0 && atomicAdd(&alloc.at(mine[j])->words[i % 32], 0u) != worker)
        atomicAdd(wrong_and_none, 1ull);
      __threadfence();
      tile.group.sync();
      alloc.free(tile, mine[j]);
    }
  }
}

template <class Tile, class Units>
class DeviceAllocator : public AllocatorUnderTest {
  static constexpr unsigned kLanes = Tile::Group::num_threads();

 public:
  DeviceAllocator(std::uint32_t super_blocks, std::uint32_t units) : memory_(super_blocks, units) {}
  std::vector<std::uint32_t> allocate(std::uint32_t workers, std::uint32_t each) override {
    const gpu::DeviceArray<std::uint32_t> addresses(std::size_t{workers} * each);
    allocate_kernel<Tile><<<blocks(workers), kSlabThreads>>>(alloc(), workers, each, addresses.data());
    gpu::check_launch("allocating");
    return fetch(addresses);
  }
  void free(const std::vector<std::uint32_t>& addresses) override {
    if (addresses.empty()) return;
    const gpu::DeviceArray<std::uint32_t> there(addresses.size());
    send(there, addresses);
    free_kernel<Tile><<<kSlabBlocks, kSlabThreads>>>(alloc(), there.data(), addresses.size());
    gpu::check_launch("freeing");
  }
  std::uint64_t churn(std::uint32_t workers, std::uint32_t rounds, std::uint64_t& refused) override {
    const gpu::DeviceArray<unsigned long long> counts(2);
    send(counts, std::vector<unsigned long long>(2, 0));
    churn_kernel<Tile><<<blocks(workers), kSlabThreads>>>(alloc(), workers, rounds, counts.data());
    gpu::check_launch("allocating and freeing");
    const auto result = fetch(counts);
    refused += result[1];
    return result[0];
  }
  std::uint32_t in_use() override { return memory_.in_use(); }

 private:
  static unsigned blocks(std::uint32_t workers) {
    return (workers * kLanes + kSlabThreads - 1) / kSlabThreads;
  }
  table::SlabAlloc<Units> alloc() const { return memory_.alloc(); }
  DeviceUnits<Units> memory_;
};

template <int kLanes>
std::unique_ptr<AllocatorUnderTest> make(std::uint32_t super_blocks, std::uint32_t units) {
  using Tile = WordTile<kLanes>;
  if (super_blocks == 1)
    return std::make_unique<DeviceAllocator<Tile, table::ContiguousUnits<Unit>>>(1u, units);
  return std::make_unique<DeviceAllocator<Tile, bench::SuperBlocks<Unit>>>(super_blocks, units);
}

}  // namespace

std::vector<AllocatorOnTile> cuda_allocators() {
  return {{"32 lanes", 1000, make<32>}, {"16 lanes", 1000, make<16>}, {"1 lane", 4000, make<1>}};
}

}  // namespace warpmer::tests
