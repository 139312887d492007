// Batches are cut as counting cuts them, and their super-k-mers looked up shard by shard, so that a shard's
// lines are fetched once for all of them.

#include "cpu/lookup/string_finder.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "cpu/lookup/asked_batch.h"
#include "cpu/simd/kernels.h"
#include "groups/flanked_word.h"
#include "groups/group_shape.h"
#include "groups/string_lookup.h"

namespace warpmer::cpu {

namespace {

static_assert(kLargeCount == backend::Profile::kLargeCount);

template <int Words>
class StringFinder : public Finder {
 public:
  StringFinder(const index::IndexFile& index, ShardChecks& checks, bool lenient, backend::SeenKmers* met)
      : index_(index),
        checks_(checks),
        kernels_(best_kernels()),
        k_(index.params().k),
        asked_(kernels_, k_, index.params().canonical, lenient),
        met_(met),
        shards_(kShards, groups::ShardBits(groups::GroupShape(k_), {}, nullptr, nullptr)),
        is_open_(kShards) {}

  bool profile(const io::Batch& batch, backend::Profile& out) override {
    bool has_large = false;
    asked_.for_each_part(batch, out, [&] { has_large = look_up(out.counts.data()) || has_large; });
    return has_large;
  }

 private:
  static constexpr std::size_t kShards = AskedBatch<Words>::kShards;

  /// Returns whether a count is large.
  bool look_up(std::uint32_t* counts) {
    open_shards();
    if (met_ != nullptr) return look_up_and_note(asked_.all(), counts);
    return find_strings(kernels_, shards_.data(), k_, asked_.all(), counts);
  }

  /// Gets the shards that are asked, and were not before, from the index, and has them checked.
  void open_shards() {
    new_shards_.clear();
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      if (!is_open_[shard] && !asked_.of_shard(shard).empty()) new_shards_.push_back(shard);
    }
    checks_.check(new_shards_);
    for (const std::uint32_t shard : new_shards_) {
      shards_[shard] = index_.strings(shard);
      is_open_[shard] = true;
    }
  }

  bool look_up_and_note(std::span<const AskedSuperKmer<Words>> all, std::uint32_t* counts) {
    const groups::FlankedWordFormat<Words> format{groups::GroupShape(k_)};
    bool has_large = false;
    for (const AskedSuperKmer<Words>& asked : all) {
      const std::uint32_t shard = asked.shard;
      const auto super = format.super_kmer(asked.word);
      const std::uint32_t kmers = super.left_bases + super.right_bases - shards_[shard].flank_bases + 1;
      std::uint32_t* const place = counts + asked.start;
      std::fill_n(place, kmers, 0);
      groups::find_super_kmer(shards_[shard], format.rest(asked.word), super,
                              [&](std::uint32_t first, std::uint32_t found, const groups::StringCounts& here,
                                  std::uint32_t from) {
                                for (std::uint32_t i = 0; i < found; ++i) {
                                  const std::uint64_t count = here[from + i];
                                  has_large = has_large || count >= kLargeCount;
                                  place[asked.is_forward ? first + i : kmers - 1 - first - i] =
                                      backend::narrow_count(count);
                                  met_->note(shard, here.bases_at / 2 + from + i, count);
                                }
                              });
    }
    return has_large;
  }

  const index::IndexFile& index_;
  ShardChecks& checks_;
  const Kernels& kernels_;
  const std::uint32_t k_;
  AskedBatch<Words> asked_;
  backend::SeenKmers* met_;
  std::vector<groups::ShardBits> shards_;
  std::vector<bool> is_open_;
  std::vector<std::uint32_t> new_shards_;
};

}  // namespace

std::unique_ptr<Finder> make_string_finder(const index::IndexFile& index, ShardChecks& checks, bool lenient,
                                           backend::SeenKmers* met) {
  return groups::with_flanked_words(index.params().k, [&]<int Words>() -> std::unique_ptr<Finder> {
    return std::make_unique<StringFinder<Words>>(index, checks, lenient, met);
  });
}

}  // namespace warpmer::cpu
