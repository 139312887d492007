#pragma once
/// The super-k-mers of a shard into its strings: how counting makes a shard.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "groups/flanked_word.h"
#include "groups/group_counter.h"
#include "groups/shard_encoder.h"
#include "groups/shard_reader.h"

namespace warpmer::groups {

/// Adds a group's strings of a shard to a counter. Returns the largest count that their widths can name.
template <class Flanks>
std::uint64_t add_strings(GroupCounter<Flanks>& counter, const GroupCursor<Flanks>& cursor) {
  std::uint64_t largest = 0;
  cursor.for_each_string([&](FlankLengths lengths, Flanks left, Flanks right, const StringCounts& counts) {
    const std::uint64_t beyond = counts.bits == 0 ? 0 : ~std::uint64_t{0} >> (64 - counts.bits);
    largest = std::max(largest, counts.smallest + std::min(beyond, UINT64_MAX - counts.smallest));
    counter.add_string(FlankedSuperKmer<Flanks>{0, lengths.left, lengths.right, left, right}, counts);
  });
  return largest;
}

/// Counts one shard after the other. One per thread; its memory is reused, and stays in the core's cache
/// where shards are small.
template <int Words>
class WordCounter {
 public:
  using Word = FlankedWord<Words>;
  using Flanks = typename FlankedWordFormat<Words>::Flanks;

  explicit WordCounter(std::uint32_t k)
      : rest_bits_(GroupShape(k).rest_bits()),
        format_(GroupShape(k)),
        counter_(GroupShape(k).flank_bases()),
        encoder_(k) {}

  /// Counts the k-mers of all super-k-mers of a shard. The words are put in another order.
  EncodedShard count(std::span<Word> words) { return count(words, {}, KeepAll()); }

  /// Counts the same together with runs: the same shard, counted before. Their counts must not add up to 2^64
  /// or more. `filter` is as GroupCounter::finish has it, `spent` as ShardEncoder::finish.
  template <class Filter>
  EncodedShard count(std::span<Word> words, std::span<const ShardBits> runs, Filter&& filter,
                     std::vector<std::uint64_t>&& spent = {}) {
    sort_by_group(words);
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
    return encoder_.finish(std::move(spent));
  }

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return other_.capacity() * sizeof(Word) + encoder_.memory_bytes() + counter_.memory_bytes();
  }
  /// Gives memory back.
  void clear() {
    other_ = {};
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
    for (; at < words.size() && format_.rest(words[at]) == rest; ++at)
      counter_.add(format_.super_kmer(words[at]), 1);
    return at;
  }
  template <class Filter>
  void end_group(std::uint32_t rest, Filter& filter) {
    encoder_.add_group(rest,
                       [&](auto& strings, auto& counts) { return counter_.finish(strings, counts, filter); });
  }

  /// Sorts by the id of the group: radix sort, two passes.
  void sort_by_group(std::span<Word> words) {
    other_.resize(words.size());
    const std::uint32_t low_bits = rest_bits_ / 2;
    scatter(words, other_, 0, low_bits);
    scatter(other_, words, low_bits, rest_bits_ - low_bits);
  }
  void scatter(std::span<const Word> from, std::span<Word> to, std::uint32_t shift, std::uint32_t bits) {
    const std::uint32_t mask = (1u << bits) - 1;
    begins_.assign(std::size_t{mask} + 2, 0);
    for (const Word& word : from) ++begins_[((format_.rest(word) >> shift) & mask) + 1];
    for (std::size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
    for (const Word& word : from) to[begins_[(format_.rest(word) >> shift) & mask]++] = word;
  }

  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::uint32_t rest_bits_;
  FlankedWordFormat<Words> format_;
  GroupCounter<Flanks> counter_;
  ShardEncoder<Flanks> encoder_;
  std::vector<Word> other_;
  std::vector<std::size_t> begins_;
};

}  // namespace warpmer::groups
