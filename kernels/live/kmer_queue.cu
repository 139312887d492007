#include <cooperative_groups.h>

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <utility>

#include "kernels/live/kmer_queue.cuh"
#include "kernels/lookup/device_index.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "kernels/text/joined_text.cuh"
#include "kernels/text/kmer_tile.cuh"
#include "kmer/hash.h"
#include "kmer/minimizer.h"

namespace warpmer::gpu {

namespace {

namespace cg = cooperative_groups;

constexpr std::uint32_t kQueueThreads = 256;

/// Says which k-mers are the queue's.
struct QueuedKmers {
  std::uint32_t k;
  bool canonical;
  std::uint32_t first_shard, end_shard;

  /// Returns whether a k-mer is one of them, and its shard.
  template <class Key>
  __device__ bool have(Key kmer, std::uint32_t& shard) const {
    shard = shard_of_kmer(kmer, k, canonical, kShardBits);
    return first_shard <= shard && shard < end_shard;
  }
};

template <class Key>
__global__ __launch_bounds__(kTileThreads) void collect_kernel(QueuedKmers queued, const char* text,
                                                               std::uint32_t bytes, std::uint32_t starts,
                                                               Key* keys, unsigned long long* size,
                                                               unsigned long long* beside,
                                                               std::uint32_t* of_shard, CutStatus* status) {
  __shared__ KmerTile tile;
  const std::uint32_t first = blockIdx.x * kTileStarts;
  tile.pack(text, first, bytes, queued.k, status);
  const KmerHash<Key> hash(queued.k);
  for (std::uint32_t start = threadIdx.x; start < kTileStarts; start += kTileThreads) {
    if (first + start >= starts || !tile.has_kmer(start)) continue;
    const Key kmer = tile.kmer<Key>(start, queued.k, queued.canonical);
    std::uint32_t shard = 0;
    if (!queued.have(kmer, shard)) continue;
    atomicAdd(of_shard + shard, 1u);
    const Key key = hash(kmer);
    if (key == table::kEmptyKey<Key>) {
      atomicAdd(beside, 1ull);
      continue;
    }
    const auto together = cg::coalesced_threads();
    unsigned long long place = 0;
    if (together.thread_rank() == 0)
      place = atomicAdd(size, static_cast<unsigned long long>(together.num_threads()));
    keys[together.shfl(place, 0) + together.thread_rank()] = key;
  }
}

template <class Key>
__global__ __launch_bounds__(kTileThreads) void place_kernel(QueuedKmers queued, const char* text,
                                                             std::uint32_t bytes, std::uint32_t starts,
                                                             std::uint32_t beside, Key* keys,
                                                             std::uint32_t* answers, CutStatus* status) {
  __shared__ KmerTile tile;
  const std::uint32_t first = blockIdx.x * kTileStarts;
  tile.pack(text, first, bytes, queued.k, status);
  const KmerHash<Key> hash(queued.k);
  for (std::uint32_t start = threadIdx.x; start < kTileStarts; start += kTileThreads) {
    if (first + start >= starts) continue;
    Key key = table::kEmptyKey<Key>;
    std::uint32_t answer = kNoKmerAnswer;
    if (tile.has_kmer(start)) {
      const Key kmer = tile.kmer<Key>(start, queued.k, queued.canonical);
      std::uint32_t shard = 0;
      const bool is_queued = queued.have(kmer, shard);
      if (is_queued) key = hash(kmer);
      answer = is_queued && key == table::kEmptyKey<Key> ? beside : 0;
    }
    keys[first + start] = key;
    answers[first + start] = answer;
  }
}

template <class Key>
__global__ __launch_bounds__(kQueueThreads) void known_answers_kernel(const Key* keys, std::size_t n,
                                                                      std::uint32_t beside,
                                                                      std::uint32_t* answers) {
  const std::size_t stride = std::size_t{gridDim.x} * kQueueThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kQueueThreads + threadIdx.x; i < n; i += stride)
    answers[i] = keys[i] == table::kEmptyKey<Key> ? beside : 0;
}

__global__ __launch_bounds__(kQueueThreads) void add_found_kernel(const std::uint32_t* found, std::size_t n,
                                                                  std::uint32_t* answers) {
  const std::size_t stride = std::size_t{gridDim.x} * kQueueThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kQueueThreads + threadIdx.x; i < n; i += stride) {
    if (found[i] > 0) answers[i] += found[i];
  }
}

__global__ __launch_bounds__(kQueueThreads) void largest_kernel(const std::uint32_t* counts, std::uint32_t n,
                                                                std::uint32_t* largest) {
  const std::uint32_t stride = gridDim.x * kQueueThreads;
  std::uint32_t mine = 0;
  for (std::uint32_t i = blockIdx.x * kQueueThreads + threadIdx.x; i < n; i += stride)
    mine = max(mine, counts[i]);
  if (mine > 0) atomicMax(largest, mine);
}

}  // namespace

template <class Key>
KmerQueue<Key>::KmerQueue(std::size_t capacity, KmerParams kmers, index::ShardRange shards)
    : kmers_(kmers),
      shards_(shards),
      keys_(capacity),
      sorted_(capacity),
      counts_(capacity),
      answers_(capacity),
      of_shard_(std::size_t{1} << kShardBits),
      slots_(kTextSlots) {
  for (const TextSlot& slot : slots_) fill_bytes(slot.text.data(), 0, slot.text.size(), stream_);
  reset_status(status_.data(), stream_);
  stream_.wait();
}

template <class Key>
template <class Work>
void KmerQueue<Key>::for_each_slice(const io::Batch& batch, Work&& work) {
  const std::uint64_t all = joined_bytes(batch);
  JoinedPiece piece;
  unsigned turn = 0;
  for (std::uint64_t begin = 0; begin < all; begin += kSliceStarts) {
    piece.go_to(batch, begin);
    TextSlot& slot = slots_[turn++ % kTextSlots];
    slot.read.wait();
    const auto starts = static_cast<std::uint32_t>(std::min<std::uint64_t>(kSliceStarts, all - begin));
    const auto bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(starts + kmers_.k - 1, all - begin));
    join(batch, piece, begin, bytes, slot.joined.data());
    copy_to_device(slot.text.data(), slot.joined.data(), bytes, stream_);
    work(slot.text.data(), bytes, starts, begin);
    slot.read.record(stream_);
  }
}

template <class Key>
bool KmerQueue<Key>::collect(const io::Batch& batch, CollectedKmers& collected) {
  if (joined_bytes(batch) > capacity() - size_) return false;
  Counters counters{size_, 0, 0, 0};
  copy_to_device(counters_.data(), &counters, 1, stream_);
  fill_bytes(of_shard_.data(), 0, of_shard_.size(), stream_);
  const QueuedKmers queued{kmers_.k, kmers_.canonical, shards_.first, shards_.end};
  for_each_slice(batch, [&](const char* text, std::uint32_t bytes, std::uint32_t starts, std::uint64_t) {
    collect_kernel<Key><<<tiles_of(starts), kTileThreads, 0, DriverLock::Shared(stream_)>>>(
        queued, text, bytes, starts, keys_.data(), &counters_.data()->size, &counters_.data()->beside,
        of_shard_.data(), status_.data());
    check_launch("collecting k-mers");
  });
  collected.of_shard.resize(of_shard_.size());
  copy_to_host(&counters, counters_.data(), 1, stream_);
  copy_to_host(collected.of_shard.data(), of_shard_.data(), of_shard_.size(), stream_);
  stream_.wait();
  collected_end_ = counters.size;
  collected.beside = counters.beside;
  collected.kmers = counters.size - size_ + counters.beside;
  return true;
}

template <class Key>
ReducedKmers<Key> KmerQueue<Key>::reduce() {
  const auto n = static_cast<std::uint32_t>(std::exchange(size_, 0));
  if (n == 0) return {};
  cub::DoubleBuffer<Key> keys(keys_.data(), sorted_.data());
  scratch_.run("sorting k-mers", stream_, [&](void* memory, std::size_t& bytes, cudaStream_t stream) {
    return cub::DeviceRadixSort::SortKeys(memory, bytes, keys, n, 0, static_cast<int>(2 * kmers_.k), stream);
  });
  std::uint32_t* const runs = &counters_.data()->runs;
  fill_bytes(counters_.data(), 0, 1, stream_);
  scratch_.run("putting k-mers together", stream_,
               [&](void* memory, std::size_t& bytes, cudaStream_t stream) {
                 return cub::DeviceRunLengthEncode::Encode(memory, bytes, keys.Current(), keys.Alternate(),
                                                           counts_.data(), runs, n, stream);
               });
  Counters counters{};
  copy_to_host(&counters, counters_.data(), 1, stream_);
  stream_.wait();
  largest_kernel<<<blocks_for<largest_kernel>(counters.runs, kQueueThreads, kQueueThreads), kQueueThreads, 0,
                   DriverLock::Shared(stream_)>>>(counts_.data(), counters.runs, &counters_.data()->largest);
  check_launch("looking for the largest count");
  copy_to_host(&counters, counters_.data(), 1, stream_);
  stream_.wait();
  return {keys.Alternate(), counts_.data(), counters.runs, counters.largest};
}

template <class Key>
void KmerQueue<Key>::place(const io::Batch& batch, std::size_t at, std::uint32_t beside) {
  const QueuedKmers queued{kmers_.k, kmers_.canonical, shards_.first, shards_.end};
  for_each_slice(batch,
                 [&](const char* text, std::uint32_t bytes, std::uint32_t starts, std::uint64_t begin) {
                   place_kernel<Key><<<tiles_of(starts), kTileThreads, 0, DriverLock::Shared(stream_)>>>(
                       queued, text, bytes, starts, beside, keys_.data() + at + begin,
                       answers_.data() + at + begin, status_.data());
                   check_launch("placing k-mers");
                 });
  stream_.wait();
}

template <class Key>
void KmerQueue<Key>::place(std::span<const Key> hashes, std::size_t at, std::uint32_t beside) {
  if (hashes.empty()) return;
  copy_to_device(keys_.data() + at, hashes.data(), hashes.size(), stream_);
  known_answers_kernel<<<blocks_for<known_answers_kernel<Key>>(hashes.size(), kQueueThreads, kQueueThreads),
                         kQueueThreads, 0, DriverLock::Shared(stream_)>>>(keys_.data() + at, hashes.size(),
                                                                          beside, answers_.data() + at);
  check_launch("placing k-mers");
  stream_.wait();
}

template <class Key>
void KmerQueue<Key>::add_found(std::size_t n) {
  if (n == 0) return;
  add_found_kernel<<<blocks_for<add_found_kernel>(n, kQueueThreads, kQueueThreads), kQueueThreads, 0,
                     DriverLock::Shared(stream_)>>>(found(), n, answers_.data());
  check_launch("adding up answers");
  stream_.wait();
}

/// By way of pinned memory: one part comes while the one before is handed out.
template <class Key>
void KmerQueue<Key>::take_answers(std::size_t at, std::span<std::uint32_t> answers) {
  const auto bring = [&](std::size_t begin) {
    const std::size_t n = std::min<std::size_t>(kSliceStarts, answers.size() - begin);
    const TextSlot& slot = slots_[begin / kSliceStarts % kTextSlots];
    copy_to_host(slot.answers.data(), answers_.data() + at + begin, n, stream_);
    return n;
  };
  std::size_t n = answers.empty() ? 0 : bring(0);
  for (std::size_t begin = 0; begin < answers.size();) {
    TextSlot& slot = slots_[begin / kSliceStarts % kTextSlots];
    slot.read.record(stream_);
    slot.read.wait();
    const std::size_t end = begin + n;
    if (end < answers.size()) n = bring(end);
    std::copy_n(slot.answers.data(), end - begin, answers.begin() + static_cast<std::ptrdiff_t>(begin));
    begin = end;
  }
  stream_.wait();
}

template <class Key>
std::uint64_t KmerQueue<Key>::device_bytes() const {
  return keys_.bytes() + sorted_.bytes() + counts_.bytes() + answers_.bytes() + of_shard_.bytes() +
         kTextSlots * text_room(kSliceStarts + kMaxK);
}

template class KmerQueue<Key64>;
template class KmerQueue<Key128>;

}  // namespace warpmer::gpu
