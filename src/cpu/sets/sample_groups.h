#pragma once
/// The k-mers of several indexes, each with the samples that have it. For a range of hashes, the entries of
/// all indexes are put into buckets (count, sum up, place, then sort what little each holds), where equal
/// hashes are neighbours: a HashGraph as in Green 2019, whose values are the samples.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "cpu/memory/scratch.h"
#include "cpu/sets/sorted_lists.h"

namespace warpmer::cpu {

/// A k-mer's count in one sample.
template <class Key>
struct SampleEntry {
  Key hash;
  std::uint64_t count;
  std::uint32_t sample;
};

/// One thread's working memory.
template <class Key>
class SampleGroups {
 public:
  using Entry = SampleEntry<Key>;

  /// Returns what it holds, at most, for parts of up to so many entries.
  static std::uint64_t bytes_for(std::uint64_t entries) {
    return ListBuffer<Key>::bytes_for(entries, false) +
           std::bit_ceil(entries + 1) * (2 * sizeof(Entry) + sizeof(std::uint32_t));
  }

  /// `key_bits` are those that keys have.
  explicit SampleGroups(std::uint32_t key_bits) : key_bits_(key_bits) {}

  /// Reads a part of every sample. Calls `on_read(sample, list)` after each.
  template <class OnRead>
  void read(ShardParts<Key>& parts, std::uint64_t part, OnRead&& on_read) {
    size_ = 0;
    for (std::size_t i = 0; i < parts.inputs(); ++i) {
      parts.read(i, part, read_);
      Entry* to = gathered_.grow(size_ + read_.size, size_) + size_;
      for (std::size_t e = 0; e < read_.size; ++e)
        to[e] = {read_.hashes()[e], read_.counts()[e], static_cast<std::uint32_t>(i)};
      size_ += read_.size;
      on_read(i, read_);
    }
    place(parts.part_bits());
  }

  /// Calls `visit(begin, end)` for each distinct hash of what was read, in increasing order: its entries, in
  /// order of the samples.
  template <class Visit>
  void for_each(Visit&& visit) {
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

  [[nodiscard]] std::uint64_t bytes() const {
    return read_.bytes() + gathered_.bytes() + placed_.bytes() + offsets_.bytes();
  }

 private:
  static constexpr std::size_t kEntriesOfBucket = 4;
  /// Up to this many entries are sorted by insertion.
  static constexpr std::size_t kFewEntries = 32;

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
    Entry* to = placed_.get(size_);
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

  std::uint32_t key_bits_;
  ListBuffer<Key> read_;
  Scratch<Entry> gathered_, placed_;
  std::size_t size_ = 0;
  Scratch<std::uint32_t> offsets_;
  std::size_t offsets_used_ = 0;
};

}  // namespace warpmer::cpu
