#pragma once
/// Super-k-mers of batches that are looked up, in order of their shards. One per thread.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/lookup/lookup.h"
#include "cpu/memory/huge_array.h"
#include "cpu/simd/flanked_cutter.h"
#include "cpu/simd/kernels.h"
#include "cpu/simd/word_format.h"
#include "cpu/simd/word_repeats.h"
#include "kmer/minimizer.h"

namespace warpmer::cpu {

template <int Words>
class AskedBatch {
 public:
  static constexpr std::size_t kShards = std::size_t{1} << kShardBits;

  AskedBatch(const Kernels& kernels, std::uint32_t k, bool canonical, bool lenient)
      : format_(k), cutter_(kernels, k, canonical, lenient, kAtOnce) {}

  /// Cuts a batch, and calls `look_up()` when super-k-mers are in order, as often as it takes for all.
  /// A super-k-mer's start is its first k-mer's place in `out.counts`. Of equal ones that follow each other,
  /// the first is looked up, and the others get its counts.
  template <class LookUp>
  void for_each_part(const io::Batch& batch, backend::Profile& out, LookUp&& look_up) {
    const auto look_up_part = [&] {
      leave_out_repeats();
      order_by_shard();
      look_up();
      for (const Repeat& repeat : repeats_)
        std::copy_n(out.counts.data() + repeat.from, repeat.kmers, out.counts.data() + repeat.to);
    };
    for (std::size_t i = 0; i < batch.pieces.size(); ++i)
      cutter_.cut(batch, batch.pieces[i], static_cast<std::uint32_t>(out.first[i]), look_up_part);
    look_up_part();
  }

  /// Returns the bytes that it has written to so far, of more that it might.
  [[nodiscard]] std::uint64_t used_bytes() const {
    return most_ * (sizeof(AskedSuperKmer<Words>) + sizeof(groups::FlankedWord<Words>) +
                    sizeof(std::uint16_t) + sizeof(std::uint32_t) + sizeof(std::uint8_t)) +
           repeats_.capacity() * sizeof(Repeat);
  }

  /// Returns all that are in order, or those of a shard.
  [[nodiscard]] std::span<const AskedSuperKmer<Words>> all() const { return {asked_.data(), size_}; }
  [[nodiscard]] std::span<const AskedSuperKmer<Words>> of_shard(std::uint32_t shard) const {
    const std::uint32_t begin = shard == 0 ? 0 : ends_[shard - 1];
    return {asked_.data() + begin, ends_[shard] - begin};
  }

 private:
  /// Those of a batch, or most of them: a shard then has so many at a time that most of the lines and pages
  /// fetched for one serve others, too.
  static constexpr std::size_t kAtOnce = std::size_t{1} << 18;

  /// A super-k-mer that is the same as one before it: places of the first k-mers, and how many these are.
  struct Repeat {
    std::uint32_t from, to, kmers;
  };

  void leave_out_repeats() {
    FlankedList<Words>& list = cutter_.list();
    most_ = std::max(most_, list.size);
    repeats_.clear();
    std::size_t out = 0;
    for (std::size_t begin = 0; begin < list.size;) {
      const std::size_t first = first_repeated(list, begin), end = end_of_repeats(list, first);
      for (std::size_t i = first + 1; i < end; ++i)
        repeats_.push_back({list.starts[first], list.starts[i], format_.kmers(list.words[first])});
      out = move_to(list, begin, std::min(first + 1, list.size), out);
      begin = end;
    }
    list.size = out;
  }

  /// Takes what has been cut, sorted by shard.
  void order_by_shard() {
    const auto& list = cutter_.list();
    ends_.assign(kShards, 0);
    for (std::size_t i = 0; i < list.size; ++i) ++ends_[list.shards[i]];
    std::uint32_t before = 0;
    for (std::uint32_t& end : ends_) {
      const std::uint32_t size = end;
      end = before;
      before += size;
    }
    for (std::size_t i = 0; i < list.size; ++i) {
      const std::uint16_t shard = list.shards[i];
      asked_.data()[ends_[shard]++] = {list.words[i], list.starts[i], shard, list.is_forward[i] != 0};
    }
    size_ = list.size;
    cutter_.clear();
  }

  const WordFormat<groups::FlankedWord<Words>> format_;
  FlankedCutter<Words> cutter_;
  HugeArray<AskedSuperKmer<Words>> asked_{kAtOnce};  ///< in order of shards
  std::size_t size_ = 0, most_ = 0;                  ///< now, and that were cut at any time
  std::vector<std::uint32_t> ends_;                  ///< of each shard's, in `asked_`
  std::vector<Repeat> repeats_;
};

/// Looks up `asked` in shards by the kernel for their words.
template <int Words>
bool find_strings(const Kernels& kernels, const groups::ShardBits* shards, std::uint32_t k,
                  std::span<const AskedSuperKmer<Words>> asked, std::uint32_t* counts) {
  if constexpr (Words == 2) {
    return kernels.find_strings2(shards, k, asked.data(), asked.size(), counts);
  } else {
    return kernels.find_strings4(shards, k, asked.data(), asked.size(), counts);
  }
}

}  // namespace warpmer::cpu
