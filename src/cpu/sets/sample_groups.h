#pragma once
/// The k-mers of several indexes, each with the samples that have it. For a range of hashes, the entries of
/// all indexes are put into buckets (count, sum up, place, then sort what little each holds), where equal
/// hashes are neighbours: a HashGraph as in Green 2019, whose values are the samples.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/count_bounds.h"
#include "backend/job_progress.h"
#include "base/thread_team.h"
#include "cpu/memory/scratch.h"
#include "cpu/sets/shard_keys.h"
#include "cpu/sets/sorted_lists.h"
#include "index/index_file.h"

namespace warpmer::cpu {

/// A k-mer's count in one sample.
template <class Key>
struct SampleEntry {
  Key hash;
  std::uint64_t count;
  std::uint32_t sample;
};

/// One thread's part of a job that looks at them, under the job's budget.
template <class Key>
class SampleGroups {
 public:
  using Entry = SampleEntry<Key>;

  SampleGroups(std::span<const index::IndexFile> inputs, std::span<const backend::CountBounds> bounds,
               MemoryBudget& budget)
      : parts_(inputs, bounds), key_bits_(ShardKeys<Key>(inputs.front().params()).bits()), budget_(budget) {}

  /// Returns what it holds, at most, for parts of about `wanted` entries.
  static std::uint64_t bytes_for(std::span<const index::IndexFile> inputs, std::uint64_t wanted) {
    const std::uint64_t entries = most_entries_in_part(inputs, wanted);
    return ListBuffer<Key>::bytes_for(entries, false) +
           std::bit_ceil(entries + 1) * (2 * sizeof(Entry) + sizeof(std::uint32_t));
  }

  /// Returns the shard, which is to be opened before its parts are looked at.
  [[nodiscard]] ShardParts<Key>& shard() { return parts_; }

  /// Calls `on_list(sample, list)` for a part of every sample, then `visit(begin, end)` for each distinct
  /// hash there, in increasing order: its entries, in order of the samples.
  template <class OnList, class Visit>
  void for_each(std::uint64_t part, OnList&& on_list, Visit&& visit) {
    read(part, on_list);
    Entry* const entries = placed_.data();
    for (std::size_t b = 0; b + 1 < offsets_used_; ++b) {
      const std::size_t last = offsets_.data()[b + 1];
      sort(entries + offsets_.data()[b], entries + last);
      for (std::size_t begin = offsets_.data()[b]; begin < last;) {
        std::size_t end = begin + 1;
        while (end < last && entries[end].hash == entries[begin].hash) ++end;
        visit(entries + begin, entries + end);
        begin = end;
      }
    }
  }
  template <class Visit>
  void for_each(std::uint64_t part, Visit&& visit) {
    for_each(
        part, [](std::size_t, const ListBuffer<Key>&) {}, visit);
  }

  /// Sets what else the thread holds.
  void hold(std::uint64_t bytes) {
    others_ = bytes;
    account();
  }

 private:
  static constexpr std::size_t kEntriesOfBucket = 4;
  /// Up to this many entries are sorted by insertion.
  static constexpr std::size_t kFewEntries = 32;

  template <class OnList>
  void read(std::uint64_t part, OnList& on_list) {
    size_ = 0;
    for (std::size_t i = 0; i < parts_.inputs(); ++i) {
      parts_.read(i, part, read_, [&] { account(); });
      Entry* to = gathered_.grow(size_ + read_.size, size_) + size_;
      account();  // before it is written to, as is what follows
      for (std::size_t e = 0; e < read_.size; ++e)
        to[e] = {read_.hashes()[e], read_.counts()[e], static_cast<std::uint32_t>(i)};
      size_ += read_.size;
      on_list(i, read_);
    }
    placed_.get(size_);
    account();
    place(parts_.part_bits());
  }

  void account() {
    budget_.change(held_, read_.bytes() + gathered_.bytes() + placed_.bytes() + offsets_.bytes() + others_);
  }

  /// Puts them into buckets by the top bits that differ within the part; within a bucket they stay in order
  /// of the samples.
  void place(std::uint32_t part_bits) {
    const auto bits =
        std::min(static_cast<std::uint32_t>(std::bit_width(size_ / kEntriesOfBucket)), key_bits_ - part_bits);
    const std::uint32_t shift = key_bits_ - part_bits - bits;
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
    Entry* const to = placed_.data();
    // Each takes the last place left, so the last ones first.
    for (std::size_t i = size_; i-- > 0;) to[--offsets[bucket_of(from[i].hash)]] = from[i];
  }

  /// Sorts by hash; equal ones stay in order of the samples.
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

  ShardParts<Key> parts_;
  std::uint32_t key_bits_;
  MemoryBudget& budget_;
  std::uint64_t held_ = 0, others_ = 0;  ///< bytes; others than what is here are among the former
  ListBuffer<Key> read_;
  Scratch<Entry> gathered_, placed_;
  std::size_t size_ = 0;
  Scratch<std::uint32_t> offsets_;
  std::size_t offsets_used_ = 0;
};

/// Goes through all shards of the indexes, on a thread for each of `sums`: calls `on_list(sums of the thread,
/// sample, list)` and `visit(sums of the thread, begin, end)` as SampleGroups::for_each does.
template <class Key, class Sums, class OnList, class Visit>
void sum_up_groups(std::span<const index::IndexFile> inputs, std::span<const backend::CountBounds> bounds,
                   MemoryBudget& budget, backend::JobProgress& progress, std::vector<Sums>& sums,
                   const OnList& on_list, const Visit& visit) {
  progress.shards_total = inputs.front().params().shards();
  progress.stage = backend::JobProgress::Stage::combining;
  const auto work = [&](unsigned thread, SharedNumbers& numbers) {
    SampleGroups<Key> groups(inputs, bounds, budget);
    Sums& own = sums[thread];
    for (std::uint32_t shard; numbers.take(shard); ++progress.shards_done) {
      groups.shard().open(shard);
      for (std::uint64_t part = 0; part < groups.shard().parts(); ++part) {
        groups.for_each(
            part, [&](std::size_t sample, const ListBuffer<Key>& list) { on_list(own, sample, list); },
            [&](const SampleEntry<Key>* begin, const SampleEntry<Key>* end) { visit(own, begin, end); });
      }
      groups.shard().close();
    }
  };
  share_numbers(static_cast<unsigned>(sums.size()), 0, inputs.front().params().shards(), work);
}

}  // namespace warpmer::cpu
