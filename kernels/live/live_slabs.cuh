#pragma once
/// The k-mers of a live table in a slab hash (Ashkiani et al. 2018, table/slab_hash.h): it grows by slabs
/// that SlabAlloc hands out in the kernels.

#include <cstdint>
#include <memory>

#include "kernels/live/live_kmers.cuh"

namespace warpmer::gpu {

/// Half of the bytes are base slabs, the other half is handed out.
template <class Key>
std::unique_ptr<LiveKmers<Key>> make_live_slabs(std::uint64_t bytes, KmerParams kmers);

extern template std::unique_ptr<LiveKmers<Key64>> make_live_slabs(std::uint64_t, KmerParams);
extern template std::unique_ptr<LiveKmers<Key128>> make_live_slabs(std::uint64_t, KmerParams);

}  // namespace warpmer::gpu
