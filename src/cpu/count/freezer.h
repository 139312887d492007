#pragma once
/// Freezing shards with vector code: the bytes of index::freeze, sooner. One per thread.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "cpu/memory/scratch.h"
#include "cpu/simd/kernels.h"
#include "index/shard_codec.h"
#include "kmer/bit_stream.h"
#include "kmer/kmer.h"

namespace warpmer::cpu {

class Freezer {
 public:
  Freezer(const Kernels& kernels, std::uint32_t k) : kernels_(kernels), k_(k) {}

  /// Packs `n` entries given in increasing order of their hashes, counts at least 1. `spent` is a payload of
  /// no more use, whose memory may be taken.
  index::FrozenShard freeze(const Key64* hashes, const std::uint64_t* counts, std::size_t n,
                            std::vector<std::uint64_t>&& spent = {}) {
    index::CountWidths widths{};
    kernels_.count_widths(counts, n, widths.data());
    const index::ShardShape shape = index::choose_shape(n, widths, k_);
    const index::PayloadLayout layout = index::payload_layout(shape, k_);
    if (std::min(layout.offset_bits, layout.entry_bits) < kLeastPackedBits ||
        std::max(layout.offset_bits, layout.entry_bits) > kMostPackedBits)
      return index::freeze(hashes, counts, n, k_);
    index::FrozenShard frozen{shape, std::move(spent)};
    std::uint64_t* words = make_room(frozen.payload, layout.words + kPackedPastEnd);
    std::uint32_t* offsets = offsets_.get((std::size_t{1} << shape.bucket_bits) + 1);
    kernels_.pack_offsets(hashes, n, shape.bucket_bits, layout.rest_bits, offsets, layout.offset_bits, words);
    kernels_.pack_entries(hashes, counts, n, layout.rest_bits, shape.count_bits, words + layout.entries_at);
    if (shape.exceptions > 0) pack_exceptions(counts, n, shape, layout, words + layout.exceptions_at);
    frozen.payload.resize(layout.words);
    return frozen;
  }
  index::FrozenShard freeze(const Key128* hashes, const std::uint64_t* counts, std::size_t n,
                            std::vector<std::uint64_t>&& = {}) {
    return index::freeze(hashes, counts, n, k_);
  }

  [[nodiscard]] std::uint64_t memory_bytes() const { return offsets_.bytes() + exceptions_.bytes(); }
  /// Gives back what an unusually large shard needed.
  void trim(std::uint64_t most_bytes) {
    if (memory_bytes() <= most_bytes) return;
    offsets_.clear();
    exceptions_.clear();
  }

 private:
  static_assert(kPackedPastEnd >= warpmer::kReadAheadWords);  // readers may look past the end

  /// Returns words of any content where that is cheap: what a vector held before need not be zeroed again.
  static std::uint64_t* make_room(std::vector<std::uint64_t>& payload, std::size_t words) {
    if (payload.capacity() < words) {
      payload = std::vector<std::uint64_t>();
      payload.reserve(words);
    }
    payload.resize(words);
    return payload.data();
  }

  void pack_exceptions(const std::uint64_t* counts, std::size_t n, const index::ShardShape& shape,
                       const index::PayloadLayout& layout, std::uint64_t* words) {
    const std::uint64_t escape = (std::uint64_t{1} << shape.count_bits) - 1;
    std::uint32_t* numbers = exceptions_.get(shape.exceptions + 1);
    std::size_t found = 0, i = 0;
    const auto look_at = [&] {  // without a branch: there may be many
      numbers[found] = static_cast<std::uint32_t>(i);
      found += counts[i] > escape ? 1 : 0;
      ++i;
    };
    while (i + 8 <= n) {
      std::uint64_t any = 0;
      for (std::size_t j = 0; j < 8; ++j) any |= counts[i + j];
      if (any <= escape) {  // or few
        i += 8;
      } else {
        for (int j = 0; j < 8; ++j) look_at();
      }
    }
    while (i < n) look_at();
    warpmer::BitWriter writer(words);
    for (std::size_t x = 0; x < found; ++x) {
      writer.write_wide((Key128{numbers[x]} << shape.exception_bits) | counts[numbers[x]],
                        layout.exception_bits);
    }
    writer.flush();
  }

  const Kernels& kernels_;
  std::uint32_t k_;
  Scratch<std::uint32_t> offsets_, exceptions_;
};

}  // namespace warpmer::cpu
