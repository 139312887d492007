#pragma once
/// The super-k-mers of a shard into its strings: how counting makes a shard.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "groups/flanked_word.h"
#include "groups/group_counter.h"
#include "groups/repeated_kmer.h"
#include "groups/shard_encoder.h"
#include "groups/shard_reader.h"

namespace warpmer::groups {

/// Adds a group's strings of a shard to a counter.
template <class Flanks>
void add_strings(GroupCounter<Flanks>& counter, const GroupCursor<Flanks>& cursor) {
  cursor.for_each_string([&](FlankLengths lengths, Flanks left, Flanks right, const StringCounts& counts) {
    counter.add_string(FlankedSuperKmer<Flanks>{0, lengths.left, lengths.right, left, right}, counts);
  });
}

/// Counts one shard after the other. One per thread; its memory is reused, and stays in the core's cache
/// where shards are small. `Format` reads the words.
template <int Words, class Format = FlankedWordFormat<Words>>
class WordCounter {
 public:
  using Word = typename Format::Word;
  using Flanks = typename FlankedWordFormat<Words>::Flanks;

  explicit WordCounter(std::uint32_t k)
      : rest_bits_(GroupShape(k).rest_bits()),
        low_bits_(rest_bits_ / 2),
        format_(GroupShape(k)),
        repeats_(GroupShape(k).flank_bases()),
        counter_(GroupShape(k).flank_bases()),
        encoder_(k) {}

  /// Begins a shard, of about so many words.
  void begin(std::size_t words) {
    size_ = 0;
    reserve(words);
    lows_.assign((std::size_t{1} << low_bits_) + 1, 0);
    highs_.assign((std::size_t{1} << (rest_bits_ - low_bits_)) + 1, 0);
  }
  /// Adds words of the shard.
  void add(const Word* words, std::size_t n) {
    if (size_ + n > capacity_) reserve(2 * (size_ + n));
    const std::uint32_t mask = (1u << low_bits_) - 1;
    Word* to = words_.get() + size_;
    for (std::size_t i = 0; i < n; ++i) {
      to[i] = words[i];
      const std::uint32_t rest = format_.rest(words[i]);
      ++lows_[(rest & mask) + 1];
      ++highs_[(rest >> low_bits_) + 1];
    }
    size_ += n;
  }

  /// Counts the k-mers of all words that were added, together with runs: the same shard, counted before.
  /// Their counts must not add up to 2^64 or more. `filter` is as GroupCounter::finish has it, `spent` as
  /// ShardEncoder::finish.
  template <class Filter>
  EncodedShard count(std::span<const ShardBits> runs, Filter&& filter,
                     std::vector<std::uint64_t>&& spent = {}) {
    sort_by_group();
    const std::span<const Word> words(words_.get(), size_);
    encoder_.begin();
    counter_.begin();
    if (runs.empty()) {
      for (std::size_t at = 0; at < words.size();) {
        const std::uint32_t rest = format_.rest(words[at]);
        at = add_words(words, at, rest);
        end_group(rest, filter);
      }
    } else {
      count_with(words, runs, filter);
    }
    size_ = 0;
    return encoder_.finish(std::move(spent));
  }
  /// Counts the k-mers of words alone.
  EncodedShard count(std::span<const Word> words) {
    begin(words.size());
    add(words.data(), words.size());
    return count({}, KeepAll());
  }

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return 2 * capacity_ * sizeof(Word) + encoder_.memory_bytes() + counter_.memory_bytes();
  }
  /// Gives memory back.
  void clear() {
    words_.reset();
    other_.reset();
    size_ = capacity_ = 0;
    encoder_.clear();
    counter_.clear();
  }

 private:
  template <class Filter>
  void count_with(std::span<const Word> words, std::span<const ShardBits> runs, Filter& filter) {
    std::vector<GroupCursor<Flanks>> cursors(runs.begin(), runs.end());
    for (std::size_t at = 0;;) {
      std::uint32_t rest = at < words.size() ? format_.rest(words[at]) : kNone;
      for (const auto& cursor : cursors) {
        if (cursor.has_group()) rest = std::min(rest, cursor.rest());
      }
      if (rest == kNone) return;
      for (auto& cursor : cursors) {
        if (!cursor.has_group() || cursor.rest() != rest) continue;
        add_strings(counter_, cursor);
        cursor.next();
      }
      at = add_words(words, at, rest);
      end_group(rest, filter);
    }
  }
  /// Adds the words of a group, which begin at `at`, and returns where they end.
  std::size_t add_words(std::span<const Word> words, std::size_t at, std::uint32_t rest) {
    for (; at < words.size() && format_.rest(words[at]) == rest; ++at) {
      const FlankedSuperKmer<Flanks> super = format_.super_kmer(words[at]);
      if (!repeats_.is_joined(super)) {
        counter_.add(super, 1);
      } else {
        counter_.add(repeats_.kmer(super), repeats_.times(super));
      }
    }
    return at;
  }
  template <class Filter>
  void end_group(std::uint32_t rest, Filter& filter) {
    encoder_.add_group(rest,
                       [&](auto& strings, auto& counts) { return counter_.finish(strings, counts, filter); });
  }

  /// Sees to it that there is room for so many words.
  void reserve(std::size_t words) {
    if (words <= capacity_) return;
    other_.reset();
    std::unique_ptr<Word[]> larger = std::make_unique_for_overwrite<Word[]>(words);
    std::copy_n(words_.get(), size_, larger.get());
    words_ = std::move(larger);
    other_ = std::make_unique_for_overwrite<Word[]>(words);
    capacity_ = words;
  }

  /// Sorts by the id of the group: radix sort, two passes.
  void sort_by_group() {
    const std::uint32_t mask = (1u << low_bits_) - 1;
    scatter(words_.get(), other_.get(), lows_, [&](std::uint32_t rest) { return rest & mask; });
    scatter(other_.get(), words_.get(), highs_, [&](std::uint32_t rest) { return rest >> low_bits_; });
  }
  template <class Digit>
  void scatter(const Word* from, Word* to, std::vector<std::size_t>& begins, Digit&& digit) {
    for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
    for (std::size_t i = 0; i < size_; ++i) to[begins[digit(format_.rest(from[i]))]++] = from[i];
  }

  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::uint32_t rest_bits_, low_bits_;
  Format format_;
  RepeatedKmers<Flanks> repeats_;
  GroupCounter<Flanks> counter_;
  ShardEncoder<Flanks> encoder_;
  std::unique_ptr<Word[]> words_, other_;
  std::size_t size_ = 0, capacity_ = 0;
  std::vector<std::size_t> lows_, highs_;  ///< of words by both halves of their ids
};

}  // namespace warpmer::groups
