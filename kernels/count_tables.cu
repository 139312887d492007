// Which kernels count, by the table that was asked for.

#include "count.cuh"
#include "count_kernels.cuh"

namespace warpmer::gpu {

namespace {

const CountKernels& kernels_for(engine::CountTable table) {
  switch (table) {
    case engine::CountTable::slab:
      return kCountSlab;
    case engine::CountTable::bcht:
      return kCountBcht;
    case engine::CountTable::iceberg:
      return kCountIceberg;
    case engine::CountTable::hashgraph:
      return kCountHashGraph;
    case engine::CountTable::automatic:
    case engine::CountTable::warpdrive:
      break;
  }
  return kCountWarpDrive;
}

}  // namespace

template <class Key, int Words>
std::uint32_t largest_slot_bits(engine::CountTable table) {
  return kernels_for(table).of<Key, Words>().largest_slot_bits();
}

template <class Key, int Words>
void launch_count(const CountTask<Key, Words>& task, const CountTuning& tuning, cudaStream_t stream) {
  kernels_for(tuning.table).of<Key, Words>().launch(task, tuning, stream);
}

template std::uint32_t largest_slot_bits<Key64, 2>(engine::CountTable);
template std::uint32_t largest_slot_bits<Key128, 2>(engine::CountTable);
template std::uint32_t largest_slot_bits<Key128, 4>(engine::CountTable);
template void launch_count(const CountTask<Key64, 2>&, const CountTuning&, cudaStream_t);
template void launch_count(const CountTask<Key128, 2>&, const CountTuning&, cudaStream_t);
template void launch_count(const CountTask<Key128, 4>&, const CountTuning&, cudaStream_t);

}  // namespace warpmer::gpu
