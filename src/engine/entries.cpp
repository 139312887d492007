#include "engine/entries.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "core/error.h"
#include "core/hash.h"
#include "core/kmer.h"
#include "engine/limits.h"
#include "engine/thread_team.h"
#include "index/shard_codec.h"

namespace warpmer::engine {

namespace {

constexpr std::size_t kBlockEntries = 4096;

/// Collects entries and hands them on in blocks.
template <class Key>
class BlockMaker {
 public:
  BlockMaker(std::uint32_t k, const EntryVisitor& visit) : k_(k), visit_(visit), text_(kBlockEntries * k) {
    counts_.reserve(kBlockEntries);
  }
  void add(Key kmer, std::uint64_t count) {
    kmer_to_text(kmer, k_, text_.data() + counts_.size() * k_);
    counts_.push_back(count);
    if (counts_.size() == kBlockEntries) flush();
  }
  void flush() {
    if (!counts_.empty()) visit_({counts_.size(), text_.data(), counts_.data()});
    counts_.clear();
  }

 private:
  std::uint32_t k_;
  const EntryVisitor& visit_;
  std::vector<char> text_;
  std::vector<std::uint64_t> counts_;
};

template <class Key>
struct Entry {
  Key kmer;
  std::uint64_t count;
};

/// Sorts an index by distributing its entries to the bins of their first bases.
template <class Key>
class Sorter {
 public:
  Sorter(const index::IndexFile& index, std::uint64_t memory_bytes, unsigned threads)
      : index_(index),
        k_(index.params().k),
        hash_(k_),
        bin_bits_(std::min(2 * k_, kMostBinBits)),
        room_(room_within(memory_bytes)),
        threads_(threads) {}

  void run(const EntryVisitor& visit) {
    count_bins();
    BlockMaker<Key> blocks(k_, visit);
    for (std::size_t first = 0; first < bins();) {
      const std::size_t last = range_from(first);
      gather(first, last);
      sort_bins(first, last);
      for (const Entry<Key>& entry : entries_) blocks.add(entry.kmer, entry.count);
      first = last;
    }
    blocks.flush();
  }

 private:
  static constexpr std::uint32_t kMostBinBits = 16;

  /// Bins and text, and the pages of the index that are mapped at any time.
  static constexpr std::uint64_t kOtherBytes = std::uint64_t{28} << 20;
  /// Small enough to be had under any cap that lets the process start.
  static constexpr std::size_t kLeastRoom = 65536;

  /// Entries that fit beside the process as it is.
  static std::size_t room_within(std::uint64_t memory_bytes) {
    const std::uint64_t others = resident_bytes() + kOtherBytes;
    const std::uint64_t rest = memory_bytes <= others ? 0 : memory_bytes - others;
    return std::max(kLeastRoom, static_cast<std::size_t>(rest / sizeof(Entry<Key>)));
  }

  [[nodiscard]] std::size_t bins() const { return std::size_t{1} << bin_bits_; }
  [[nodiscard]] std::size_t bin_of(Key kmer) const {
    return static_cast<std::size_t>(kmer >> (2 * k_ - bin_bits_));
  }

  /// Calls `visit(k-mer, count)` for all entries, on all threads.
  template <class Visit>
  void for_each(Visit&& visit) const {
    std::atomic<std::uint32_t> next{0};
    const std::uint32_t shards = index_.params().shards();
    run_team(
        threads_,
        [&](unsigned) {
          for (std::uint32_t shard; (shard = next.fetch_add(1)) < shards;) {
            index::ShardReader<Key>(index_.shard(shard), k_).for_each([&](Key hash, std::uint64_t count) {
              visit(hash_.inverse(hash), count);
            });
            index_.release(shard);  // mapped pages count as ours
          }
        },
        [&] { next = shards; });
  }

  void count_bins() {
    std::vector<std::atomic<std::uint64_t>> counts(bins());
    for_each([&](Key kmer, std::uint64_t) { counts[bin_of(kmer)].fetch_add(1, std::memory_order_relaxed); });
    sizes_.assign(counts.begin(), counts.end());
  }

  /// As many bins from `first` on as fit into memory.
  [[nodiscard]] std::size_t range_from(std::size_t first) const {
    std::uint64_t sum = 0;
    std::size_t last = first;
    while (last < bins() && sum + sizes_[last] <= room_) sum += sizes_[last++];
    if (last == first) {
      const std::uint64_t needed = resident_bytes() + kOtherBytes + sizes_[first] * sizeof(Entry<Key>);
      throw ResourceError(
          fmt::format("sorting needs {} MB in all; raise -m or do without --sort", (needed >> 20) + 1));
    }
    return last;
  }

  void gather(std::size_t first, std::size_t last) {
    begins_.assign(1, 0);
    for (std::size_t bin = first; bin < last; ++bin) begins_.push_back(begins_.back() + sizes_[bin]);
    entries_ = std::vector<Entry<Key>>();  // gives the memory back before the new is taken
    entries_.resize(begins_.back());
    std::vector<std::atomic<std::uint64_t>> cursors(last - first);
    for (std::size_t bin = first; bin < last; ++bin) cursors[bin - first] = begins_[bin - first];
    for_each([&](Key kmer, std::uint64_t count) {
      const std::size_t bin = bin_of(kmer);
      if (bin < first || bin >= last) return;
      entries_[cursors[bin - first].fetch_add(1, std::memory_order_relaxed)] = {kmer, count};
    });
  }

  void sort_bins(std::size_t first, std::size_t last) {
    std::atomic<std::size_t> next{0};
    run_team(
        threads_,
        [&](unsigned) {
          for (std::size_t bin; (bin = next.fetch_add(1)) < last - first;) {
            const auto at = [&](std::size_t b) {
              return entries_.begin() + static_cast<std::ptrdiff_t>(begins_[b]);
            };
            std::sort(at(bin), at(bin + 1), [](const auto& a, const auto& b) { return a.kmer < b.kmer; });
          }
        },
        [&] { next = last - first; });
  }

  const index::IndexFile& index_;
  std::uint32_t k_;
  KmerHash<Key> hash_;
  std::uint32_t bin_bits_;
  std::size_t room_;
  unsigned threads_;
  std::vector<std::uint64_t> sizes_;
  std::vector<std::uint64_t> begins_;
  std::vector<Entry<Key>> entries_;
};

}  // namespace

void for_each_block(const index::IndexFile& index, const EntryVisitor& visit) {
  const std::uint32_t k = index.params().k;
  with_key_type(k, [&](auto zero) {
    using Key = decltype(zero);
    const KmerHash<Key> hash(k);
    BlockMaker<Key> blocks(k, visit);
    for (std::uint32_t shard = 0; shard < index.params().shards(); ++shard) {
      index::ShardReader<Key>(index.shard(shard), k).for_each([&](Key h, std::uint64_t count) {
        blocks.add(hash.inverse(h), count);
      });
      index.release(shard);
    }
    blocks.flush();
  });
}

void for_each_block_sorted(const index::IndexFile& index, std::uint64_t memory_bytes, unsigned threads,
                           const EntryVisitor& visit) {
  with_key_type(index.params().k,
                [&](auto zero) { Sorter<decltype(zero)>(index, memory_bytes, threads).run(visit); });
}

}  // namespace warpmer::engine
