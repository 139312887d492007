#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/hash.h"
#include "core/minimizer.h"
#include "device_index.cuh"
#include "device_memory.cuh"
#include "engine/limits.h"
#include "engine/thread_team.h"
#include "index/shard_codec.h"
#include "text_tile.cuh"

namespace warpmer::gpu {

namespace {

struct LookupParams {
  std::uint32_t k;
  std::uint32_t m;           ///< length of the minimizer
  std::uint32_t shard_bits;  ///< 0: one shard, no minimizers
  bool canonical;
};

struct LookupTile : TextTile, MinimizerTile {
  std::uint16_t shards[kTileStarts];  ///< by start
  std::uint8_t valid[kTileThreads];   ///< eight starts each: those without breaks
};

/// The k-mer that begins at a start, as read or canonical.
template <class Key>
__device__ Key kmer_at(const TextTile& tile, std::uint32_t start, const LookupParams& params) {
  const auto bases = [&](std::uint32_t at) {
    return std::uint64_t{packed_bits(tile, at)} | std::uint64_t{packed_bits(tile, at + 16)} << 32;
  };
  // The text has the first base lowest, which a complement is to have; a k-mer has it highest.
  Key text = bases(start), kmer = reverse_pairs(bases(start));
  if constexpr (sizeof(Key) == 16) {
    const std::uint64_t rest = bases(start + 32);
    text |= Key{rest} << 64;
    kmer = (kmer << 64) | reverse_pairs(rest);
  }
  kmer >>= kKeyBits<Key> - 2 * params.k;
  const Key other = ~text & key_mask<Key>(params.k);
  return params.canonical && other < kmer ? other : kmer;
}

/// Fills `tile.valid` and `tile.shards`.
__device__ void find_shards(LookupTile& tile, const LookupParams& params) {
  const std::uint32_t first = threadIdx.x * kStartsPerThread;
  tile.valid[threadIdx.x] = static_cast<std::uint8_t>(valid_starts(tile, first, params.k));
  if (params.shard_bits == 0) return;  // the same for all threads
  hash_mmers(tile, tile, params.m, kTileStarts + params.k - params.m);
  __syncthreads();
  std::uint32_t minimizer[kStartsPerThread];
  window_minima(tile, first, params.k - params.m + 1, minimizer);
#pragma unroll
  for (std::uint32_t j = 0; j < kStartsPerThread; ++j)
    tile.shards[first + j] = static_cast<std::uint16_t>(shard_of(minimizer[j], params.shard_bits));
}

/// A block answers for a tile. Neighbouring lanes take neighbouring starts, most of which share a shard.
template <class Key>
__global__ __launch_bounds__(kTileThreads) void look_up_kernel(const char* text, std::uint32_t bytes,
                                                               LookupParams params,
                                                               const index::ShardReader<Key>* shards,
                                                               std::uint32_t* answers, CutStatus* status) {
  static_assert(kStartsPerThread == 8, "the valid starts of a thread are a byte");
  __shared__ LookupTile tile;
  const std::uint32_t first = blockIdx.x * kTileStarts;
  pack_tile(tile, text, first, bytes, status);
  __syncthreads();
  find_shards(tile, params);
  __syncthreads();
  const KmerHash<Key> hash(params.k);
#pragma unroll 1
  for (std::uint32_t start = threadIdx.x; start < kTileStarts; start += kTileThreads) {
    std::uint32_t answer = kNoKmerAnswer;
    if (((tile.valid[start / 8] >> (start % 8)) & 1) != 0) {
      const std::uint32_t shard = params.shard_bits == 0 ? 0 : tile.shards[start];
      const std::uint64_t count = shards[shard].find(hash(kmer_at<Key>(tile, start, params)));
      answer = count < kLargeCountAnswer ? static_cast<std::uint32_t>(count) : kLargeCountAnswer;
    }
    answers[first + start] = answer;
  }
}

/// One thread's way of copying to the device: while one pinned buffer is on its way, the other is filled.
class Uploader {
 public:
  Uploader() = default;
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;
  /// After an error, too, a copy may be under way from buffers that are about to go.
  ~Uploader() { cudaStreamSynchronize(stream_); }

  /// What is added from here on goes to `to` and behind.
  void begin(std::uint64_t* to) {
    flush();
    to_ = to;
  }
  void add(const std::uint64_t* words, std::size_t n) {
    while (n > 0) {
      if (filled_ == kWords) flush();
      if (filled_ == 0) copied_[turn_].wait();  // passed at once when it was never recorded
      const std::size_t some = std::min(n, kWords - filled_);
      std::memcpy(buffers_[turn_].data() + filled_, words, some * sizeof(std::uint64_t));
      filled_ += some;
      words += some;
      n -= some;
    }
  }
  void finish() {
    flush();
    stream_.wait();
  }

 private:
  static constexpr std::size_t kWords = std::size_t{1} << 18;  // pin small, reuse

  void flush() {
    if (filled_ == 0) return;
    copy_to_device(to_, buffers_[turn_].data(), filled_, stream_);
    copied_[turn_].record(stream_);
    to_ += filled_;
    filled_ = 0;
    turn_ ^= 1;
  }

  PinnedArray<std::uint64_t> buffers_[2] = {PinnedArray<std::uint64_t>(kWords),
                                            PinnedArray<std::uint64_t>(kWords)};
  Event copied_[2];
  Stream stream_;
  std::uint64_t* to_ = nullptr;
  std::size_t filled_ = 0;
  unsigned turn_ = 0;
};

/// Where each shard's payload begins on the device, in words; and where the last one ends.
std::vector<std::uint64_t> first_words(const index::IndexFile& index) {
  std::vector<std::uint64_t> first{0};
  const std::uint32_t shards = index.params().shards();
  first.reserve(std::size_t{shards} + 1);
  for (std::uint32_t s = 0; s < shards; ++s)
    first.push_back(first.back() + index::payload_layout(index.shape(s), index.params().k).words);
  return first;
}

/// Checks all shards and copies their payloads.
void upload(const index::IndexFile& index, const std::vector<std::uint64_t>& first, std::uint64_t* payloads) {
  constexpr std::uint64_t kWordsPerThread = std::uint64_t{1} << 21;  // fewer are not worth a thread
  constexpr std::uint64_t kMostThreads = 8;
  constexpr std::uint32_t kShardsAtOnce = 32;
  const std::uint32_t shards = index.params().shards();
  const auto threads = static_cast<unsigned>(
      std::min<std::uint64_t>({engine::usable_cores(), kMostThreads, 1 + first.back() / kWordsPerThread}));
  int gpu = 0;
  check(cudaGetDevice(&gpu), "choosing a GPU");
  std::atomic<std::uint32_t> next{0};
  const auto work = [&](unsigned /*thread*/) {
    check(cudaSetDevice(gpu), "choosing a GPU");
    Uploader uploader;
    for (std::uint32_t s = 0; (s = next.fetch_add(kShardsAtOnce)) < shards;) {
      uploader.begin(payloads + first[s]);
      for (const std::uint32_t end = std::min(s + kShardsAtOnce, shards); s < end; ++s) {
        const index::ShardView view = index.shard(s);
        if (view.payload_words != first[s + 1] - first[s])
          throw InternalError("a shard of " + index.path() + " has another size than its shape says");
        uploader.add(view.payload, view.payload_words);
      }
    }
    uploader.finish();
  };
  engine::run_team(threads, work, [&] { next = shards; });
}

template <class Key>
class LoadedIndex : public DeviceIndex {
  using Reader = index::ShardReader<Key>;
  static_assert(std::is_trivially_copyable_v<Reader>, "it is copied to the device");

 public:
  explicit LoadedIndex(const index::IndexFile& index)
      : params_{index.params().k, index.params().minimizer_length, index.params().shard_bits,
                index.params().canonical} {
    const std::vector<std::uint64_t> first = first_words(index);
    payloads_.reserve(first.back() + index::kReadAheadWords);
    const Stream stream;
    fill_bytes(payloads_.data() + first.back(), 0, index::kReadAheadWords, stream);
    std::vector<Reader> readers;
    readers.reserve(index.params().shards());
    for (std::uint32_t s = 0; s < index.params().shards(); ++s) {
      const index::ShardView on_device{index.shape(s), payloads_.data() + first[s], first[s + 1] - first[s]};
      readers.emplace_back(on_device, params_.k);
    }
    readers_.reserve(readers.size());
    copy_to_device(readers_.data(), readers.data(), readers.size(), stream);
    stream.wait();
    upload(index, first, payloads_.data());
  }

  void look_up(const char* text, std::uint32_t bytes, std::uint32_t starts, std::uint32_t* answers,
               CutStatus* status, cudaStream_t stream) const override {
    if (starts == 0) return;
    look_up_kernel<Key><<<tiles_of(starts), kTileThreads, 0, stream>>>(text, bytes, params_, readers_.data(),
                                                                       answers, status);
    check_launch("looking k-mers up");
  }

 private:
  LookupParams params_;
  DeviceArray<std::uint64_t> payloads_;  ///< of all shards, one behind the other
  DeviceArray<Reader> readers_;          ///< by shard
};

}  // namespace

std::uint64_t device_index_bytes(const index::IndexFile& index) {
  const std::uint64_t payload = (first_words(index).back() + index::kReadAheadWords) * sizeof(std::uint64_t);
  return payload + index.params().shards() * sizeof(index::ShardReader<Key128>);
}

std::unique_ptr<DeviceIndex> load_index(const index::IndexFile& index) {
  return with_key_type(index.params().k, [&]<class Key>(Key) -> std::unique_ptr<DeviceIndex> {
    return std::make_unique<LoadedIndex<Key>>(index);
  });
}

}  // namespace warpmer::gpu
