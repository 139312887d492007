#pragma once
/// Counting words k-mer by k-mer, in a hash table or by sorting: what groups::WordCounter makes, made as
/// `--table` says.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backend/count_bounds.h"
#include "backend/count_table.h"
#include "cpu/count/shard_counter.h"
#include "cpu/simd/kernels.h"
#include "cpu/simd/word_format.h"
#include "groups/group_counter.h"
#include "groups/group_key.h"
#include "groups/word_counter.h"

namespace warpmer::cpu {

/// Does what a groups::WordCounter does. One per thread; its memory is reused.
template <class Key, int Words>
class TableWordCounter {
 public:
  using Word = StoredFlankedWord<Words>;
  using Flanks = typename groups::FlankedWordFormat<Words>::Flanks;

  TableWordCounter(const Kernels& kernels, std::uint32_t k, backend::CountTable table)
      : shape_(k),
        lengths_(groups::make_length_table(shape_.flank_bases())),
        counter_(kernels, k, table),
        encoder_(k),
        merger_(k) {}

  void begin(std::size_t words) { counter_.begin(words); }
  void add(const Word* words, std::size_t n) {
    counter_.add(words, n);
    has_words_ = has_words_ || n > 0;
  }

  template <class Filter>
  groups::EncodedShard count(std::span<const groups::ShardBits> runs, Filter&& filter,
                             std::vector<std::uint64_t>&& spent = {}) {
    if (runs.empty()) return count_words(filter, std::move(spent));
    const groups::EncodedShard counted = count_words(groups::KeepAll(), {});
    std::vector<groups::ShardBits> all(runs.begin(), runs.end());
    if (counted.sizes.kmers > 0)
      all.emplace_back(shape_, counted.sizes, counted.payload.data(), lengths_.data());
    merger_.begin(0);
    return merger_.count(all, filter, std::move(spent));
  }

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return counter_.memory_bytes() + encoder_.memory_bytes() + merger_.memory_bytes();
  }
  /// Gives memory back.
  void clear() {
    counter_.clear();
    encoder_.clear();
    merger_.clear();
  }

 private:
  template <class Filter>
  groups::EncodedShard count_words(Filter&& filter, std::vector<std::uint64_t>&& spent) {
    encoder_.begin();
    if (std::exchange(has_words_, false)) {
      counter_.end();
      Key* const keys = counter_.keys();
      std::uint64_t* const counts = counter_.counts();
      std::size_t kept = counter_.size();
      filter.note(counts, kept);
      if (groups::keeps_none(filter)) {
        kept = 0;
      } else if (!filter.keeps_all()) {
        kept =
            backend::move_kept(keys, counts, kept, [&](std::uint64_t count) { return filter.keeps(count); });
      }
      encoder_.add({keys, kept}, {counts, kept});
    }
    return encoder_.finish(std::move(spent));
  }

  const groups::GroupShape shape_;
  const std::vector<groups::FlankLengths> lengths_;
  ShardCounter<Key, Words> counter_;
  groups::KeyEncoder<Key, Flanks> encoder_;
  groups::WordCounter<Words, StoredFlankedFormat<Words>> merger_;
  bool has_words_ = false;
};

}  // namespace warpmer::cpu
