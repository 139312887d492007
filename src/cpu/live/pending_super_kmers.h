#pragma once
/// Super-k-mers that have been added to a shard and not been counted yet.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu/memory/scratch.h"
#include "cpu/simd/word_format.h"
#include "groups/flanked_word.h"

namespace warpmer::cpu {

/// One behind the other, in as many bytes as they need.
template <int Words>
class PendingSuperKmers {
 public:
  using Word = StoredFlankedWord<Words>;

  explicit PendingSuperKmers(std::uint32_t k) : format_(k) {}

  [[nodiscard]] bool empty() const { return words_ == 0; }
  [[nodiscard]] std::size_t words() const { return words_; }
  [[nodiscard]] std::uint64_t kmers() const { return kmers_; }

  /// Returns the bytes of all words.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// True when there is room for so many bytes more.
  [[nodiscard]] bool has_room(std::size_t more) const {
    return size_ + more + Format::kMostBytes <= bytes_.bytes();
  }
  /// Returns what it takes with such room.
  [[nodiscard]] std::uint64_t bytes_with(std::size_t more) const {
    return Scratch<char>::bytes_for(size_ + more + Format::kMostBytes);
  }
  [[nodiscard]] std::uint64_t memory_bytes() const { return bytes_.bytes(); }
  /// Makes such room, and gives more than that back.
  void make_room(std::size_t more) {
    Scratch<char> other;
    std::copy_n(bytes_.data(), size_, other.get(size_ + more + Format::kMostBytes));
    bytes_.swap(other);
  }

  /// Appends words, for which there is room, of so many k-mers.
  void append(std::span<const Word> words, std::uint64_t kmers) {
    char* const begin = bytes_.data();
    char* to = begin + size_;
    for (const Word& word : words) to = format_.write(word, to);
    size_ = static_cast<std::size_t>(to - begin);
    words_ += words.size();
    kmers_ += kmers;
  }
  /// Calls `visit(words)` for some of all words after the others.
  template <class Visit>
  void for_each_block(Visit&& visit) const {
    Word block[kBlock];
    const char* from = bytes_.data();
    for (std::size_t left = words_; left > 0;) {
      const std::size_t n = std::min(left, kBlock);
      for (std::size_t i = 0; i < n; ++i) from = format_.read(from, block[i]);
      visit(std::span<const Word>(block, n));
      left -= n;
    }
  }
  void clear() {
    size_ = words_ = 0;
    kmers_ = 0;
  }

 private:
  using Format = WordFormat<groups::FlankedWord<Words>>;
  static constexpr std::size_t kBlock = 128;

  Format format_;
  Scratch<char> bytes_;
  std::size_t size_ = 0, words_ = 0;
  std::uint64_t kmers_ = 0;
};

}  // namespace warpmer::cpu
