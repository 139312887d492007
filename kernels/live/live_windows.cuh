#pragma once
/// The k-mers of a live table in a WarpDrive table (Juenger, Hundt, Schmidt 2018, table/warpdrive.h).

#include <cstdint>
#include <memory>

#include "kernels/live/live_kmers.cuh"

namespace warpmer::gpu {

/// All bytes are slots, nearly all of which can be filled.
template <class Key>
std::unique_ptr<LiveKmers<Key>> make_live_windows(std::uint64_t bytes, KmerParams kmers);

extern template std::unique_ptr<LiveKmers<Key64>> make_live_windows(std::uint64_t, KmerParams);
extern template std::unique_ptr<LiveKmers<Key128>> make_live_windows(std::uint64_t, KmerParams);

}  // namespace warpmer::gpu
