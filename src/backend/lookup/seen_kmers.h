#pragma once
/// K-mers of an index that have been met in sequences that were looked up in it.

#include <atomic>
#include <cstdint>
#include <vector>

#include "index/index_file.h"

namespace warpmer::backend {

/// Bits for the k-mers of an index, all clear at first. In strings the number of a k-mer is that of a base
/// (groups/string_lookup.h), so there are half as many as a shard has. Only k-mers of at least a certain
/// count are noted.
class SeenKmers {
 public:
  /// ResourceError where the bits would take more memory than the process may use.
  SeenKmers(const index::IndexFile& index, std::uint64_t min_count);

  /// Takes note of a k-mer of a shard, given by its number there, with its count. Thread-safe.
  void note(std::uint32_t shard, std::uint64_t number, std::uint64_t count) {
    if (count < min_count_) return;
    std::atomic<std::uint64_t>& word = bits_[first_word_[shard] + number / 64];
    const std::uint64_t bit = std::uint64_t{1} << (number % 64);
    // Most have been noted before, and reading does not take the line from other threads.
    if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
  }

  /// Returns the number of distinct k-mers noted. Neither this nor the others may run while threads note.
  [[nodiscard]] std::uint64_t number() const;
  /// Adds those of another, of the same index.
  void add(const SeenKmers& other);
  void clear();

 private:
  std::uint64_t min_count_;
  std::vector<std::size_t> first_word_;  ///< one for each shard
  std::vector<std::atomic<std::uint64_t>> bits_;
};

}  // namespace warpmer::backend
