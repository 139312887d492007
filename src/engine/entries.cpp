#include "engine/entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/hash.h"
#include "core/kmer.h"
#include "engine/in_order.h"
#include "engine/index_set.h"
#include "engine/limits.h"
#include "engine/radix_sort.h"
#include "engine/thread_team.h"
#include "formats/jellyfish_order.h"
#include "index/shard_codec.h"
#include "index/shard_decoder.h"

namespace warpmer::engine {

namespace {

using formats::CountedKmer;

constexpr std::size_t kBlockEntries = 4096;

/// Unpacks an index part by part, each by the thread that comes next, and hands the parts on in order.
template <class Key>
class Unpacker {
 public:
  Unpacker(const index::IndexFile& index, unsigned threads)
      : index_(index), k_(index.params().k), hash_(k_), threads_(threads) {}

  void run(const EntryVisitor& visit) {
    InOrder<Block> blocks(kWindowPerThread * threads_, [&](Block&& block) {
      visit(block);
      const std::lock_guard lock(mutex_);
      spare_.push_back(std::move(block));
    });
    run_team(
        threads_,
        [&](unsigned) {
          index::EntryArrays<Key> arrays{};
          std::vector<Key> hashes;
          std::vector<std::uint64_t> counts;
          for (Part part; next(part);) {
            const index::ShardDecoder<Key> decoder(index_.shard(part.shard), k_);
            const std::size_t room = decoder.room(part.number, part.bits);
            if (room > hashes.size()) {
              hashes.resize(room);
              counts.resize(room);
              arrays = {hashes.data(), counts.data()};
            }
            const index::DecodedRange range = decoder.decode(part.number, part.bits, arrays);
            if (!range.is_sound) refuse_disorder(index_, part.shard);
            index_.release(part.shard);
            blocks.put(part.ordinal, make_block(arrays, range));
          }
        },
        [&] {
          blocks.stop();
          const std::lock_guard lock(mutex_);
          shard_ = index_.params().shards();
        });
  }

 private:
  using Block = std::vector<CountedKmer>;
  /// Entries that are unpacked at a time: they stay in a core's second-level cache.
  static constexpr std::uint64_t kPartEntries = std::uint64_t{1} << 13;
  static constexpr std::uint64_t kWindowPerThread = 4;

  struct Part {
    std::uint64_t ordinal = 0;
    std::uint32_t shard = 0;
    std::uint32_t bits = 0;    ///< there are 2^bits parts of the shard
    std::uint64_t number = 0;  ///< of the part, among them
  };

  /// False when there is no more.
  bool next(Part& part) {
    const std::lock_guard lock(mutex_);
    while (shard_ < index_.params().shards()) {
      const std::uint64_t entries = index_.shape(shard_).entries;
      const auto bits = std::min(static_cast<std::uint32_t>(std::bit_width(entries / kPartEntries)), 2 * k_);
      part = {ordinal_, shard_, bits, number_++};
      if (number_ >> bits != 0) {
        ++shard_;
        number_ = 0;
      }
      if (entries == 0) continue;
      ++ordinal_;
      return true;
    }
    return false;
  }

  Block make_block(const index::EntryArrays<Key>& arrays, const index::DecodedRange& range) {
    Block block;
    {
      const std::lock_guard lock(mutex_);
      if (!spare_.empty()) {
        block = std::move(spare_.back());
        spare_.pop_back();
      }
    }
    block.resize(range.end - range.begin);
    for (std::size_t i = range.begin; i < range.end; ++i)
      block[i - range.begin] = {hash_.inverse(arrays.hashes[i]), arrays.counts[i]};
    return block;
  }

  const index::IndexFile& index_;
  std::uint32_t k_;
  KmerHash<Key> hash_;
  unsigned threads_;
  std::mutex mutex_;  ///< guards what follows
  std::uint32_t shard_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t ordinal_ = 0;
  std::vector<Block> spare_;
};

template <class Key>
struct Entry {
  Key rank;
  std::uint64_t count;
};

/// K-mers as they are: an order is a bijection on 2k bits, from k-mers to ranks, and ranks are sorted.
template <class Key>
struct LexicographicOrder {
  explicit LexicographicOrder(std::uint32_t) {}
  static Key rank(Key kmer) { return kmer; }
  static Key kmer(Key rank) { return rank; }
};

/// Sorts an index by distributing its entries to the bins of their ranks' first bits.
template <class Key, class Order>
class Sorter {
 public:
  Sorter(const index::IndexFile& index, std::uint64_t memory_bytes, unsigned threads)
      : index_(index),
        k_(index.params().k),
        hash_(k_),
        order_(k_),
        bin_bits_(std::min(2 * k_, kMostBinBits)),
        room_(room_within(memory_bytes)),
        threads_(threads) {}

  void run(const EntryVisitor& visit) {
    count_bins();
    std::vector<CountedKmer> block(kBlockEntries);
    for (std::size_t first = 0; first < bins();) {
      const std::size_t last = range_from(first);
      gather(first, last);
      sort_groups(first, last);
      for (std::size_t i = 0; i < begins_.back(); i += kBlockEntries) {
        const std::size_t n = std::min(kBlockEntries, begins_.back() - i);
        for (std::size_t j = 0; j < n; ++j)
          block[j] = {order_.kmer(entries_[i + j].rank), entries_[i + j].count};
        visit({block.data(), n});
      }
      first = last;
    }
  }

 private:
  static constexpr std::uint32_t kMostBinBits = 16;
  /// Up to twice as many groups.
  static constexpr std::size_t kGroups = 512;
  /// Entries that a thread puts into groups at a time.
  static constexpr std::size_t kGatheredEntries = std::size_t{1} << 14;

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
  [[nodiscard]] std::size_t bin_of(Key rank) const {
    return static_cast<std::size_t>(rank >> (2 * k_ - bin_bits_));
  }

  /// Calls `visit(entries, n)` for blocks of entries, on all threads, and at the end of each.
  template <class Visit>
  void for_each(Visit&& visit) const {
    std::atomic<std::uint32_t> next{0};
    const std::uint32_t shards = index_.params().shards();
    run_team(
        threads_,
        [&](unsigned) {
          std::vector<Entry<Key>> block(kGatheredEntries);
          std::size_t n = 0;
          for (std::uint32_t shard; (shard = next.fetch_add(1)) < shards;) {
            index::ShardReader<Key>(index_.shard(shard), k_).for_each([&](Key hash, std::uint64_t count) {
              block[n++] = {order_.rank(hash_.inverse(hash)), count};
              if (n == block.size()) visit(block.data(), std::exchange(n, 0));
            });
            index_.release(shard);  // mapped pages count as ours
          }
          visit(block.data(), n);
        },
        [&] { next = shards; });
  }

  void count_bins() {
    std::vector<std::atomic<std::uint64_t>> counts(bins());
    for_each([&](const Entry<Key>* entries, std::size_t n) {
      for (std::size_t i = 0; i < n; ++i)
        counts[bin_of(entries[i].rank)].fetch_add(1, std::memory_order_relaxed);
    });
    sizes_.assign(counts.begin(), counts.end());
  }

  /// As many bins from `first` on as fit into memory.
  [[nodiscard]] std::size_t range_from(std::size_t first) const {
    std::uint64_t sum = 0;
    std::size_t last = first;
    while (last < bins() && sum + sizes_[last] <= room_) sum += sizes_[last++];
    if (last == first) {
      const std::uint64_t needed = resident_bytes() + kOtherBytes + sizes_[first] * sizeof(Entry<Key>);
      throw ResourceError(fmt::format("sorting needs {} MB in all; raise -m", (needed >> 20) + 1));
    }
    return last;
  }

  /// Puts the entries of some bins into groups of neighbouring bins: as many as can be written to side by
  /// side without missing caches each time.
  void gather(std::size_t first, std::size_t last) {
    group_bits_ = static_cast<std::uint32_t>(std::bit_width((last - first - 1) / kGroups));
    begins_.assign(((last - first - 1) >> group_bits_) + 2, 0);
    for (std::size_t bin = first; bin < last; ++bin)
      begins_[((bin - first) >> group_bits_) + 1] += sizes_[bin];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    entries_.reset();  // gives the memory back before the new is taken
    entries_ = std::make_unique_for_overwrite<Entry<Key>[]>(begins_.back());
    std::vector<std::atomic<std::uint64_t>> cursors(begins_.begin(), begins_.end());
    for_each([&](const Entry<Key>* entries, std::size_t n) {
      std::array<std::uint64_t, 2 * kGroups> places{};
      const auto for_each_in_range = [&](const auto& take) {
        for (std::size_t i = 0; i < n; ++i) {
          const std::size_t bin = bin_of(entries[i].rank);
          if (bin >= first && bin < last) take((bin - first) >> group_bits_, entries[i]);
        }
      };
      for_each_in_range([&](std::size_t group, const Entry<Key>&) { ++places[group]; });
      for (std::size_t group = 0; group + 1 < begins_.size(); ++group)
        places[group] = cursors[group].fetch_add(places[group], std::memory_order_relaxed);
      for_each_in_range(
          [&](std::size_t group, const Entry<Key>& entry) { entries_[places[group]++] = entry; });
    });
  }

  void sort_groups(std::size_t first, std::size_t last) {
    std::atomic<std::size_t> next{0};
    const std::size_t groups = begins_.size() - 1;
    run_team(
        threads_,
        [&](unsigned) {
          for (std::size_t group; (group = next.fetch_add(1)) < groups;) {
            const std::size_t first_bin = first + (group << group_bits_);
            const std::size_t last_bin = std::min(last, first_bin + (std::size_t{1} << group_bits_)) - 1;
            const auto bits =
                static_cast<std::uint32_t>(std::bit_width(first_bin ^ last_bin)) + 2 * k_ - bin_bits_;
            radix_sort(entries_.get() + begins_[group], begins_[group + 1] - begins_[group], bits,
                       [](const Entry<Key>& entry) { return entry.rank; });
          }
        },
        [&] { next = groups; });
  }

  const index::IndexFile& index_;
  std::uint32_t k_;
  KmerHash<Key> hash_;
  Order order_;
  std::uint32_t bin_bits_;
  std::size_t room_;
  unsigned threads_;
  std::vector<std::uint64_t> sizes_;  ///< of all bins
  // What is being sorted: some bins, in groups of 2^group_bits_.
  std::uint32_t group_bits_ = 0;
  std::vector<std::uint64_t> begins_;  ///< of the groups, and where the last one ends
  std::unique_ptr<Entry<Key>[]> entries_;
};

}  // namespace

void for_each_block(const index::IndexFile& index, unsigned threads, const EntryVisitor& visit) {
  with_key_type(index.params().k, [&](auto zero) { Unpacker<decltype(zero)>(index, threads).run(visit); });
}

void for_each_block_sorted(const index::IndexFile& index, formats::KmerOrder order,
                           std::uint64_t memory_bytes, unsigned threads, const EntryVisitor& visit) {
  with_key_type(index.params().k, [&]<class Key>(Key) {
    if (order == formats::KmerOrder::by_jellyfish) {
      Sorter<Key, formats::JellyfishOrder<Key>>(index, memory_bytes, threads).run(visit);
    } else {
      Sorter<Key, LexicographicOrder<Key>>(index, memory_bytes, threads).run(visit);
    }
  });
}

}  // namespace warpmer::engine
