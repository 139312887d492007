#pragma once
/// Multisplit on a CPU: super-k-mers into shard order, by counting, scanning and placing.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace warpmer::cpu {

template <class Word>
class Multisplit {
 public:
  Multisplit(std::uint32_t shards, std::size_t capacity) : offsets_(shards + 1), words_(new Word[capacity]) {}

  /// `List` is a FlankedList.
  template <class List>
  void split(const List& list) {
    // After the inclusive scan a cursor stands at its shard's end; placing from the back moves it to
    // the shard's beginning.
    std::uint32_t* cursor = offsets_.data();
    std::fill(offsets_.begin(), offsets_.end(), 0u);
    for (std::size_t i = 0; i < list.size; ++i) ++cursor[list.shards[i]];
    std::uint32_t sum = 0;
    for (std::uint32_t& offset : offsets_) offset = sum += offset;
    for (std::size_t i = list.size; i-- > 0;) words_[--cursor[list.shards[i]]] = list.words[i];
  }

  [[nodiscard]] const Word* begin(std::uint32_t shard) const { return words_.get() + offsets_[shard]; }
  [[nodiscard]] std::size_t size(std::uint32_t shard) const { return offsets_[shard + 1] - offsets_[shard]; }
  [[nodiscard]] std::uint32_t offset(std::uint32_t shard) const { return offsets_[shard]; }

 private:
  std::vector<std::uint32_t> offsets_;
  std::unique_ptr<Word[]> words_;
};

}  // namespace warpmer::cpu
