// Batches are cut as counting cuts them, and super-k-mers whose minimizers no k-mer of the index has are
// dropped.

#include "backend/lookup/sieve.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cpu/simd/flanked_cutter.h"
#include "cpu/simd/kernels.h"
#include "groups/flanked_word.h"
#include "groups/group_shape.h"
#include "groups/shard_reader.h"
#include "kmer/minimizer.h"

namespace warpmer::cpu {
namespace {

/// A bit for groups whose ids, which are as good as random, begin alike.
class GroupBitmap {
 public:
  explicit GroupBitmap(const index::IndexFile& index) : shape_(index.params().k) {
    constexpr std::uint64_t kLeast = std::uint64_t{1} << 16, kMost = std::uint64_t{1} << 26, kOfKmer = 8;
    const std::uint64_t wanted = std::clamp(kOfKmer * index.totals().stored_distinct, kLeast, kMost);
    const auto bits = std::min(static_cast<std::uint32_t>(std::bit_width(wanted - 1)), shape_.id_bits());
    shift_ = shape_.id_bits() - bits;
    words_.resize((std::size_t{1} << bits) / 64);
    groups::with_flanks_type(shape_.k, [&]<class Flanks>(Flanks) {
      groups::GroupKmers<Flanks> group(shape_.flank_bases());
      for (std::uint32_t shard = 0; shard < index.params().shards(); ++shard) {
        groups::for_each_group(index.strings(shard), group, [&](std::uint32_t rest, const auto&) {
          const std::uint32_t place = place_of(shard, rest);
          words_[place / 64] |= std::uint64_t{1} << place % 64;
        });
        index.release(shard);
      }
    });
  }

  [[nodiscard]] bool has(std::uint32_t shard, std::uint32_t rest) const {
    const std::uint32_t place = place_of(shard, rest);
    return (words_[place / 64] >> place % 64 & 1) != 0;
  }

 private:
  [[nodiscard]] std::uint32_t place_of(std::uint32_t shard, std::uint32_t rest) const {
    return ((shard << shape_.rest_bits()) | rest) >> shift_;
  }

  groups::GroupShape shape_;
  std::uint32_t shift_ = 0;
  std::vector<std::uint64_t> words_;
};

template <int Words>
class CpuSieve final : public backend::KmerSieve {
 public:
  CpuSieve(std::shared_ptr<const GroupBitmap> groups, const index::IndexParams& params, bool is_lenient)
      : groups_(std::move(groups)),
        shape_(params.k),
        format_(shape_),
        cutter_(best_kernels(), params.k, params.canonical, is_lenient) {}

  std::uint64_t sift(const io::Batch& batch, io::Batch& passed) override {
    passed.clear();
    passed.file = batch.file;
    passed.text.reserve(batch.text.size());
    std::uint64_t kmers = 0;
    for (const io::Piece& piece : batch.pieces) {
      first_ = end_ = 0;
      kmers += cutter_.cut(batch, piece, 0, [&] { take(batch, piece, passed); });
      take(batch, piece, passed);
      pass(batch, piece, passed);
    }
    return kmers;
  }

 private:
  /// Takes what has been cut. Stretches that go on are joined.
  void take(const io::Batch& batch, const io::Piece& piece, io::Batch& passed) {
    const auto& list = cutter_.list();
    for (std::size_t i = 0; i < list.size; ++i) {
      if (!groups_->has(list.shards[i], format_.rest(list.words[i]))) continue;
      const auto super = format_.super_kmer(list.words[i]);
      const std::uint32_t kmers = super.left_bases + super.right_bases - shape_.flank_bases() + 1;
      if (list.starts[i] != end_ || first_ == end_) {
        pass(batch, piece, passed);
        first_ = list.starts[i];
      }
      end_ = list.starts[i] + kmers;
    }
    cutter_.clear();
  }

  /// Adds the stretch of a piece whose k-mers begin from `first_` to `end_`, if there are any.
  void pass(const io::Batch& batch, const io::Piece& piece, io::Batch& passed) {
    if (first_ == end_) return;
    io::Piece stretch;
    stretch.record = piece.record;
    stretch.first_base = piece.first_base + first_;
    stretch.offset = static_cast<std::uint32_t>(passed.text.size());
    stretch.length = end_ - first_ + shape_.k - 1;
    passed.text.append(batch.bases(piece).substr(first_, stretch.length));
    passed.pieces.push_back(stretch);
    first_ = end_ = 0;
  }

  std::shared_ptr<const GroupBitmap> groups_;
  groups::GroupShape shape_;
  groups::FlankedWordFormat<Words> format_;
  FlankedCutter<Words> cutter_;
  std::uint32_t first_ = 0, end_ = 0;  ///< k-mers of the stretch that waits
};

}  // namespace
}  // namespace warpmer::cpu

namespace warpmer::backend {

MakeSieve cpu_sieves(const index::IndexFile& index, bool is_lenient) {
  const index::IndexParams params = index.params();
  if (params.k <= kMaxDenseK) return [] { return std::unique_ptr<KmerSieve>(); };
  auto groups = std::make_shared<const cpu::GroupBitmap>(index);
  return [groups, params, is_lenient] {
    return groups::with_flanked_words(params.k, [&]<int Words>() -> std::unique_ptr<KmerSieve> {
      return std::make_unique<cpu::CpuSieve<Words>>(groups, params, is_lenient);
    });
  };
}

}  // namespace warpmer::backend
