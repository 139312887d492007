// What several indexes share, on the CPU: for a range of hashes, the entries of all of them are put into
// buckets (count, sum up, place, then sort what little each holds), where equal hashes are neighbours: a
// HashGraph as in Green 2019, whose values are the samples.

#include "engine/compare_session.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <deque>

#include "core/error.h"
#include "cpu/sorted_lists.h"

namespace warpmer::cpu {

namespace {

template <class Key>
struct SampleEntry {
  Key hash;
  std::uint64_t count;
  std::uint32_t sample;
};

/// One thread's part of a job.
template <class Key>
class CompareWorker {
 public:
  CompareWorker(const std::vector<index::IndexFile>& inputs, const std::vector<engine::CountBounds>& bounds,
                MemoryBudget& budget)
      : parts_(inputs, bounds),
        key_bits_(2 * inputs.front().params().k),
        budget_(budget),
        table_(inputs.size()) {}

  void add(std::uint32_t shard) {
    parts_.open(shard);
    for (std::uint64_t part = 0; part < parts_.parts(); ++part) {
      gather(part);
      place();
      for (std::size_t b = 0; b + 1 < offsets_used_; ++b)
        add_bucket(offsets_.data()[b], offsets_.data()[b + 1]);
    }
    parts_.close();
  }

  [[nodiscard]] const engine::PairTable& table() const { return table_; }

 private:
  using Entry = SampleEntry<Key>;
  static constexpr std::size_t kEntriesOfBucket = 4;
  /// Up to this many entries are sorted by insertion.
  static constexpr std::size_t kFewEntries = 32;

  /// Reads the part of every sample, one behind the other.
  void gather(std::uint64_t part) {
    size_ = 0;
    for (std::size_t i = 0; i < parts_.inputs(); ++i) {
      parts_.read(i, part, read_);
      Entry* to = gathered_.grow(size_ + read_.size, size_) + size_;
      account();
      engine::SampleSums& sums = table_.samples[i];
      sums.distinct += read_.size;
      for (std::size_t e = 0; e < read_.size; ++e) {
        const std::uint64_t count = read_.counts()[e];
        sums.kmers += count;
        sums.squares += Key128{count} * count;
        to[e] = {read_.hashes()[e], count, static_cast<std::uint32_t>(i)};
      }
      size_ += read_.size;
    }
  }

  /// Puts them into buckets by the top bits that differ within the part; within a bucket they stay in order
  /// of the samples.
  void place() {
    const auto bits = std::min(static_cast<std::uint32_t>(std::bit_width(size_ / kEntriesOfBucket)),
                               key_bits_ - parts_.part_bits());
    const std::uint32_t shift = key_bits_ - parts_.part_bits() - bits;
    const std::size_t mask = (std::size_t{1} << bits) - 1;
    const auto bucket_of = [&](Key hash) {
      return shift >= kKeyBits<Key> ? 0 : static_cast<std::size_t>(hash >> shift) & mask;
    };
    offsets_used_ = mask + 2;
    std::uint32_t* offsets = offsets_.get(offsets_used_);
    std::fill_n(offsets, offsets_used_, 0);
    const Entry* from = gathered_.data();
    for (std::size_t i = 0; i < size_; ++i) ++offsets[bucket_of(from[i].hash)];
    for (std::size_t b = 1; b < offsets_used_; ++b) offsets[b] += offsets[b - 1];
    Entry* to = placed_.get(size_);
    account();
    // Each takes the last place left, so the last ones first.
    for (std::size_t i = size_; i-- > 0;) to[--offsets[bucket_of(from[i].hash)]] = from[i];
  }

  void add_bucket(std::size_t first, std::size_t last) {
    Entry* const entries = placed_.data();
    sort(entries + first, entries + last);
    for (std::size_t begin = first; begin < last;) {
      std::size_t end = begin + 1;
      while (end < last && entries[end].hash == entries[begin].hash) ++end;
      if (end - begin > 1) add_pairs(entries + begin, entries + end);
      begin = end;
    }
  }

  /// By hash; equal ones stay in order of the samples.
  static void sort(Entry* begin, Entry* end) {
    const auto before = [](const Entry& a, const Entry& b) { return a.hash < b.hash; };
    if (static_cast<std::size_t>(end - begin) > kFewEntries) {
      std::stable_sort(begin, end, before);
      return;
    }
    for (Entry* next = begin; next < end; ++next) {
      const Entry entry = *next;
      Entry* at = next;
      for (; at > begin && before(entry, at[-1]); --at) *at = at[-1];
      *at = entry;
    }
  }

  /// The samples that have one k-mer.
  void add_pairs(const Entry* begin, const Entry* end) {
    for (const Entry* a = begin; a < end; ++a) {
      // Pairs of a with the samples behind it are neighbours.
      engine::PairSums* const row = table_.pairs.data() + table_.pair_number(a->sample, a->sample + 1);
      for (const Entry* b = a + 1; b < end; ++b) {
        engine::PairSums& pair = row[b->sample - a->sample - 1];
        ++pair.shared;
        pair.smaller += std::min(a->count, b->count);
        pair.products += Key128{a->count} * b->count;
      }
    }
  }

  void account() {
    budget_.change(held_, read_.bytes() + gathered_.bytes() + placed_.bytes() + offsets_.bytes() +
                              table_.pairs.size() * sizeof(engine::PairSums));
  }

  ShardParts<Key> parts_;
  std::uint32_t key_bits_;
  MemoryBudget& budget_;
  std::uint64_t held_ = 0;
  engine::PairTable table_;
  ListBuffer<Key> read_;
  Scratch<Entry> gathered_, placed_;
  std::size_t size_ = 0;
  Scratch<std::uint32_t> offsets_;
  std::size_t offsets_used_ = 0;
};

template <class Key>
class Comparer : public engine::CompareSession {
 public:
  Comparer(const std::vector<index::IndexFile>& inputs, const std::vector<engine::CountBounds>& bounds,
           unsigned threads, std::uint64_t memory_bytes)
      : bounds_(bounds), shards_(inputs.front().params().shards()), budget_(memory_bytes) {
    const std::uint64_t tables = threads * inputs.size() * inputs.size() / 2 * sizeof(engine::PairSums);
    if (tables > memory_bytes) {
      throw ResourceError(
          fmt::format("{} indexes make so many pairs that {} threads need {} MB for them, and -m "
                      "leaves {} MB; raise -m or lower -t",
                      inputs.size(), threads, (tables >> 20) + 1, memory_bytes >> 20));
    }
    for (unsigned t = 0; t < threads; ++t) workers_.emplace_back(inputs, bounds_, budget_);
  }

  void finish(unsigned thread, const std::function<void()>& shard_done) override {
    for (std::uint32_t shard; (shard = next_shard_.fetch_add(1)) < shards_; shard_done())
      workers_[thread].add(shard);
  }
  void cancel() noexcept override { next_shard_ = shards_; }

  [[nodiscard]] engine::PairTable table() const override {
    engine::PairTable all = workers_.front().table();
    for (std::size_t t = 1; t < workers_.size(); ++t) all.merge(workers_[t].table());
    return all;
  }

 private:
  const std::vector<engine::CountBounds> bounds_;
  const std::uint32_t shards_;
  MemoryBudget budget_;
  std::deque<CompareWorker<Key>> workers_;
  std::atomic<std::uint32_t> next_shard_{0};
};

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::engine {

std::unique_ptr<CompareSession> make_cpu_comparison(const std::vector<index::IndexFile>& inputs,
                                                    const std::vector<CountBounds>& bounds, unsigned threads,
                                                    std::uint64_t memory_bytes) {
  if (inputs.front().params().k <= kMaxNarrowK)
    return std::make_unique<cpu::Comparer<Key64>>(inputs, bounds, threads, memory_bytes);
  return std::make_unique<cpu::Comparer<Key128>>(inputs, bounds, threads, memory_bytes);
}

}  // namespace warpmer::engine
