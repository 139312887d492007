#pragma once
/// A whole batch as super-k-mers, in order of their shards: only when nothing can be wrong with it any more a
/// live table is changed. One per thread; its memory is reused.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cpu/simd/flanked_cutter.h"
#include "cpu/simd/kernels.h"
#include "cpu/simd/word_format.h"
#include "io/text/batch.h"
#include "kmer/kmer.h"
#include "kmer/minimizer.h"

namespace warpmer::cpu {

template <int Words>
class CutBatch {
 public:
  using Word = StoredFlankedWord<Words>;
  static constexpr std::uint32_t kShards = std::uint32_t{1} << kShardBits;

  CutBatch(const Kernels& kernels, const KmerParams& kmers)
      : kernels_(kernels), kmers_(kmers), format_(kmers.k), begins_(kShards + 1), kmers_of_(kShards) {}

  /// Cuts a batch, whose shards are listed from `first_shard` on. InputError for a character that is no
  /// nucleotide code, unless `lenient`. Calls `hold(bytes)` before it takes more memory: so much at once. Of
  /// repeats of one base, each k-mer is a word.
  template <class Hold>
  void cut(const io::Batch& batch, bool lenient, std::uint32_t first_shard, Hold&& hold) {
    auto& cutter = cutters_[lenient ? 1 : 0];
    if (!cutter) cutter.emplace(kernels_, kmers_.k, kmers_.canonical, lenient);
    cutter->clear();
    cut_.clear();
    shards_.clear();
    words_.clear();
    kmers_in_batch_ = 0;
    const auto take = [&] {
      const auto& list = cutter->list();
      if (const std::size_t size = cut_.size() + list.size; size > cut_.capacity()) {
        const std::size_t room = std::max(size, 2 * cut_.capacity());
        hold(memory_bytes() + room * kBytesOfWord);
        cut_.reserve(room);
        shards_.reserve(room);
        words_.reserve(room);
      }
      shards_.insert(shards_.end(), list.shards, list.shards + list.size);
      cut_.insert(cut_.end(), list.words, list.words + list.size);
      cutter->clear();
    };
    for (const io::Piece& piece : batch.pieces) kmers_in_batch_ += cutter->cut(batch, piece, 0, take);
    take();
    order(first_shard % kShards);
  }

  [[nodiscard]] std::uint64_t kmers() const { return kmers_in_batch_; }
  /// Returns the shards that have some, in their order around the last one.
  [[nodiscard]] std::span<const std::uint16_t> shards() const { return there_; }
  [[nodiscard]] std::span<const Word> words(std::uint32_t shard) const {
    return {words_.data() + begins_[shard], begins_[shard + 1] - begins_[shard]};
  }
  /// Returns the number of k-mers in these.
  [[nodiscard]] std::uint32_t kmers(std::uint32_t shard) const { return kmers_of_[shard]; }

  /// Gives back what depends on the batch.
  void trim() {
    cut_.clear();
    cut_.shrink_to_fit();
    shards_.clear();
    shards_.shrink_to_fit();
    words_.clear();
    words_.shrink_to_fit();
  }

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return (cut_.capacity() + words_.capacity()) * sizeof(Word) + shards_.capacity() * sizeof(std::uint16_t) +
           (begins_.capacity() + kmers_of_.capacity()) * sizeof(std::uint32_t) +
           (cutters_[0].has_value() + cutters_[1].has_value()) * FlankedCutter<Words>::memory_bytes();
  }

 private:
  static constexpr std::size_t kBytesOfWord = 2 * sizeof(Word) + sizeof(std::uint16_t);

  void order(std::uint32_t first_shard) {
    std::fill(begins_.begin(), begins_.end(), 0u);
    std::fill(kmers_of_.begin(), kmers_of_.end(), 0u);
    for (const std::uint16_t shard : shards_) ++begins_[shard];
    // After the inclusive scan a cursor stands at its shard's end; placing from the back moves it to the
    // shard's beginning.
    std::uint32_t sum = 0;
    for (std::uint32_t& begin : begins_) begin = sum += begin;
    words_.resize(shards_.size());
    for (std::size_t i = shards_.size(); i-- > 0;) {
      const std::uint16_t shard = shards_[i];
      kmers_of_[shard] += format_.kmers(cut_[i]);
      format_.write(cut_[i], reinterpret_cast<char*>(words_[--begins_[shard]].word));
    }
    there_.clear();
    for (std::uint32_t i = 0; i < kShards; ++i) {
      const std::uint32_t shard = (first_shard + i) % kShards;
      if (kmers_of_[shard] > 0) there_.push_back(static_cast<std::uint16_t>(shard));
    }
  }

  const Kernels& kernels_;
  const KmerParams kmers_;
  const WordFormat<groups::FlankedWord<Words>> format_;
  std::optional<FlankedCutter<Words>> cutters_[2];  ///< a strict and a lenient one
  std::vector<groups::FlankedWord<Words>> cut_;     ///< as they come
  std::vector<std::uint16_t> shards_;
  std::vector<Word> words_;  ///< in order of their shards
  std::vector<std::uint32_t> begins_, kmers_of_;
  std::vector<std::uint16_t> there_;
  std::uint64_t kmers_in_batch_ = 0;
};

}  // namespace warpmer::cpu
