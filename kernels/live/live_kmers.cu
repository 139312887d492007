#include "kernels/live/live_kmers.cuh"

namespace warpmer::gpu {

template <class Key>
std::unique_ptr<LiveKmers<Key>> make_live_kmers(backend::LiveScheme scheme, std::uint64_t bytes,
                                                KmerParams kmers) {
  if (scheme == backend::LiveScheme::slab) return make_live_slabs<Key>(bytes, kmers);
  return make_live_windows<Key>(bytes, kmers);
}

template std::unique_ptr<LiveKmers<Key64>> make_live_kmers(backend::LiveScheme, std::uint64_t, KmerParams);
template std::unique_ptr<LiveKmers<Key128>> make_live_kmers(backend::LiveScheme, std::uint64_t, KmerParams);

}  // namespace warpmer::gpu
