#pragma once
/// Keys in bins, brought by several threads, where nobody knows beforehand how many a bin will have.

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "cpu/memory/huge_array.h"

namespace warpmer::cpu {

/// Each thread fills chunks of its own for each bin, one after the other.
template <class Key>
class BinChunks {
  static constexpr std::size_t kLine = 8;
  using KeyLine = std::array<Key, kLine>;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  /// The last chunk of a thread's for a bin; those before it are full.
  struct ChunkTail {
    std::uint32_t chunk = kNone;
    std::uint32_t fill = 0;
  };

 public:
  BinChunks() = default;
  /// Room for so many entries, however they are spread over the bins.
  BinChunks(std::uint64_t entries, unsigned threads, std::uint32_t bins)
      : bins_(bins),
        threads_(threads),
        chunk_entries_(entries_of_chunk(entries, threads, bins)),
        chunks_(chunks_for(entries, threads, bins)),
        keys_(chunks_ * chunk_entries_),
        previous_(chunks_),
        tails_(std::size_t{threads} * bins) {}

  /// Returns the bytes that this takes for so many entries, and for writing them.
  [[nodiscard]] static std::uint64_t memory_bytes(std::uint64_t entries, unsigned threads,
                                                  std::uint32_t bins) {
    const std::uint64_t of_chunk = entries_of_chunk(entries, threads, bins) * sizeof(Key) + sizeof kNone;
    return chunks_for(entries, threads, bins) * of_chunk;
  }
  [[nodiscard]] static std::uint64_t writing_bytes(unsigned threads, std::uint32_t bins) {
    return std::uint64_t{threads} * bins * (sizeof(ChunkTail) + sizeof(KeyLine) + sizeof(Key*) + 1);
  }

  /// Forgets all entries.
  void clear() {
    next_ = 0;
    std::fill(tails_.begin(), tails_.end(), ChunkTail());
  }

  /// Brings one thread's entries. They wait in a cache line for each bin, because thousands of places at once
  /// are too many for the processor's address translation.
  class ChunkWriter {
   public:
    ChunkWriter(BinChunks& chunks, unsigned thread)
        : chunks_(chunks),
          tails_(chunks.tails_.data() + std::size_t{thread} * chunks.bins_),
          fills_(chunks.bins_, 0),
          lines_(std::make_unique_for_overwrite<KeyLine[]>(chunks.bins_)) {}

    /// False when there is no room: there are more entries than was said.
    [[nodiscard]] bool put(std::uint32_t bin, Key key) {
      lines_[bin][fills_[bin]] = key;
      return ++fills_[bin] < kLine || empty(bin);
    }
    /// Puts what still waits in its place. Nothing may be put afterwards.
    [[nodiscard]] bool flush() {
      bool has_room = true;
      for (std::uint32_t bin = 0; bin < chunks_.bins_; ++bin) has_room &= fills_[bin] == 0 || empty(bin);
      return has_room;
    }

   private:
    bool empty(std::uint32_t bin) {
      ChunkTail& tail = tails_[bin];
      if ((tail.chunk == kNone || tail.fill == chunks_.chunk_entries_) && !chunks_.begin_chunk(tail))
        return false;
      Key* const to = chunks_.keys_.data() + tail.chunk * chunks_.chunk_entries_ + tail.fill;
      std::memcpy(to, lines_[bin].data(), sizeof(KeyLine));
      tail.fill += fills_[bin];
      fills_[bin] = 0;
      return true;
    }

    BinChunks& chunks_;
    ChunkTail* tails_;
    std::vector<std::uint8_t> fills_;
    std::unique_ptr<KeyLine[]> lines_;
  };

  [[nodiscard]] std::size_t size(std::uint32_t bin) const {
    std::size_t size = 0;
    visit(bin, [&](const Key*, std::size_t n) { size += n; });
    return size;
  }
  /// Calls `visit(keys, n)` for all keys of a bin, in no order.
  template <class Visit>
  void visit(std::uint32_t bin, Visit&& visit) const {
    for (unsigned thread = 0; thread < threads_; ++thread) {
      const ChunkTail& tail = tails_[std::size_t{thread} * bins_ + bin];
      std::size_t n = tail.fill;
      for (std::uint32_t chunk = tail.chunk; chunk != kNone; chunk = previous_[chunk], n = chunk_entries_)
        visit(keys_.data() + chunk * chunk_entries_, n);
    }
  }

  /// Copies all keys of a bin to `to`, bucket after bucket; in a bucket they are in no order.
  /// `bucket_of(key)` is below `buckets`. `offsets` get the begins of buckets, and the end behind them.
  template <class BucketOf>
  void place(std::uint32_t bin, std::uint32_t buckets, BucketOf&& bucket_of, std::uint32_t* offsets,
             Key* to) const {
    std::fill_n(offsets, buckets + std::size_t{1}, 0u);
    visit(bin, [&](const Key* from, std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) ++offsets[bucket_of(from[i])];
    });
    for (std::uint32_t b = 1; b <= buckets; ++b) offsets[b] += offsets[b - 1];
    // Each takes the last place left.
    visit(bin, [&](const Key* from, std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) to[--offsets[bucket_of(from[i])]] = from[i];
    });
  }

 private:
  /// Whole lines, so that these may be copied whole; the last chunks of all, which are half empty, should be
  /// few of all.
  static std::size_t entries_of_chunk(std::uint64_t entries, unsigned threads, std::uint32_t bins) {
    constexpr std::uint64_t kLeast = 2 * kLine, kMost = 1024, kFew = 16;
    return std::bit_floor(std::clamp(entries / (kFew * threads * bins), kLeast, kMost));
  }
  static std::size_t chunks_for(std::uint64_t entries, unsigned threads, std::uint32_t bins) {
    return entries / entries_of_chunk(entries, threads, bins) + std::size_t{threads} * bins;
  }

  bool begin_chunk(ChunkTail& tail) {
    const std::size_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= chunks_) return false;
    previous_[chunk] = tail.chunk;
    tail = {static_cast<std::uint32_t>(chunk), 0};
    return true;
  }

  std::uint32_t bins_ = 0;
  unsigned threads_ = 0;
  std::size_t chunk_entries_ = 0;
  std::size_t chunks_ = 0;
  HugeArray<Key> keys_;
  std::vector<std::uint32_t> previous_;  ///< the chunk before each, of the same thread and bin
  std::vector<ChunkTail> tails_;
  std::atomic<std::size_t> next_{0};
};

}  // namespace warpmer::cpu
