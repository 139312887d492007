#pragma once
/// K-mers of texts that wait on a GPU until the children of a paged table come by
/// (kernels/live/paged_kmers.cuh): hashes of k-mers, those of a range of shards. They are collected to be
/// counted, or placed to be asked for.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "index/index_file.h"
#include "io/text/batch.h"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/host_fence.cuh"
#include "kernels/memory/scan_memory.cuh"
#include "kernels/text/cut.cuh"
#include "kmer/kmer.h"
#include "table/tile.h"

namespace warpmer::gpu {

/// Numbers of k-mers that a batch has brought.
struct CollectedKmers {
  std::uint64_t kmers = 0;
  std::uint64_t beside = 0;             ///< of them, those whose hash is kEmptyKey, which is not in the queue
  std::vector<std::uint32_t> of_shard;  ///< by shard
};

/// Different k-mers, as hashes on the device, with how often they came.
template <class Key>
struct ReducedKmers {
  const Key* keys = nullptr;
  const std::uint32_t* counts = nullptr;
  std::size_t size = 0;
  std::uint32_t largest = 0;  ///< of the counts
};

/// Works on the current device, for one thread at a time, and waits for what it has enqueued.
template <class Key>
class KmerQueue {
 public:
  /// Room for so many k-mers.
  KmerQueue(std::size_t capacity, KmerParams kmers, index::ShardRange shards);
  ~KmerQueue() { cudaStreamSynchronize(stream_); }

  /// Device memory of each k-mer that there is room for, and what is held besides.
  static constexpr std::uint64_t kBytesOfKmer = 2 * (sizeof(Key) + sizeof(std::uint32_t));
  static constexpr std::uint32_t kSliceStarts = 1u << 19;
  static constexpr std::uint64_t kFixedBytes = std::uint64_t{64} << 20;

  [[nodiscard]] std::size_t capacity() const { return keys_.size(); }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// Collects the k-mers of a batch behind those that wait. They are forgotten when anything else follows
  /// than `commit`. Returns false when there is not room for as many as the batch may have.
  bool collect(const io::Batch& batch, CollectedKmers& collected);
  /// Those that were collected last wait, too.
  void commit() { size_ = collected_end_; }
  /// Puts equal ones together, in place of the queue, which is empty then. They are there until anything
  /// else follows.
  ReducedKmers<Key> reduce();

  /// In place of the queue, which is empty: puts a hash for each start of the joined text of a batch at `at`,
  /// kEmptyKey where no k-mer of these shards begins, and the answer where it is known: kNoKmerAnswer where
  /// no k-mer begins, `beside` for the k-mer whose hash is kEmptyKey, and else 0.
  void place(const io::Batch& batch, std::size_t at, std::uint32_t beside);
  /// Puts hashes at `at`; the answers are `beside` for kEmptyKey, and else 0.
  void place(std::span<const Key> hashes, std::size_t at, std::uint32_t beside);
  [[nodiscard]] const Key* placed() const { return keys_.data(); }
  /// Device memory for what is found of the placed ones.
  [[nodiscard]] std::uint32_t* found() const { return reinterpret_cast<std::uint32_t*>(sorted_.data()); }
  /// Adds what was found of the first `n` to their answers.
  void add_found(std::size_t n);
  void take_answers(std::size_t at, std::span<std::uint32_t> answers);

  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  [[nodiscard]] std::uint64_t device_bytes() const;

 private:
  static constexpr unsigned kTextSlots = 2;
  /// A slice of a text on its way to the device, or of the answers on their way back.
  struct TextSlot {
    PinnedArray<char> joined{kSliceStarts + kMaxK};
    PinnedArray<std::uint32_t> answers{kSliceStarts};
    DeviceArray<char> text{text_room(kSliceStarts + kMaxK)};
    HostFence read;
  };
  /// Counters on the device.
  struct Counters {
    unsigned long long size, beside;
    std::uint32_t largest, runs;
  };

  /// Calls `work(text, bytes, starts, begin)` for each slice of a batch's joined text, which is on its way.
  template <class Work>
  void for_each_slice(const io::Batch& batch, Work&& work);

  const KmerParams kmers_;
  const index::ShardRange shards_;
  DeviceArray<Key> keys_, sorted_;
  DeviceArray<std::uint32_t> counts_, answers_;
  DeviceArray<std::uint32_t> of_shard_;
  DeviceArray<Counters> counters_{1};
  DeviceArray<CutStatus> status_{1};
  std::vector<TextSlot> slots_;
  ScanMemory scratch_;
  std::size_t size_ = 0, collected_end_ = 0;
  Stream stream_;
};

extern template class KmerQueue<Key64>;
extern template class KmerQueue<Key128>;

}  // namespace warpmer::gpu
