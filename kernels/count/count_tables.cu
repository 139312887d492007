// Which kernels count, by the table that was asked for.

#include "kernels/count/count.cuh"
#include "kernels/count/count_kernels.cuh"

namespace warpmer::gpu {

namespace {

const CountKernels& kernels_for(backend::CountTable table) {
  switch (table) {
#define WARPMER_ENTRY(name)       \
  case backend::CountTable::name: \
    return kCount_##name;
    WARPMER_COUNT_SCHEMES(WARPMER_ENTRY)
#undef WARPMER_ENTRY
    case backend::CountTable::hashgraph:
      return kCountHashGraph;
    case backend::CountTable::automatic:
      break;
  }
  return kCount_warpdrive;
}

}  // namespace

template <class Key, int Words>
std::uint32_t largest_slot_bits(backend::CountTable table) {
  return kernels_for(table).of<Key, Words>().largest_slot_bits();
}

template <class Key, int Words>
void launch_count(const CountTask<Key, Words>& task, const CountTuning& tuning, cudaStream_t stream) {
  kernels_for(tuning.table).of<Key, Words>().launch(task, tuning, stream);
}

template std::uint32_t largest_slot_bits<Key64, 2>(backend::CountTable);
template std::uint32_t largest_slot_bits<Key128, 2>(backend::CountTable);
template std::uint32_t largest_slot_bits<Key128, 4>(backend::CountTable);
template void launch_count(const CountTask<Key64, 2>&, const CountTuning&, cudaStream_t);
template void launch_count(const CountTask<Key128, 2>&, const CountTuning&, cudaStream_t);
template void launch_count(const CountTask<Key128, 4>&, const CountTuning&, cudaStream_t);

}  // namespace warpmer::gpu
