// Lookups on the CPU: batches are cut as counting cuts them, and their super-k-mers looked up shard by shard,
// so that a shard's lines are fetched once for all of them.

#include "backend/lookup/lookup.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/lookup/seen_kmers.h"
#include "base/buffer_pool.h"
#include "cpu/lookup/asked_batch.h"
#include "cpu/lookup/finder.h"
#include "cpu/lookup/shard_checks.h"
#include "cpu/simd/kernels.h"
#include "cpu/simd/kmer_window.h"
#include "cpu/simd/stretch_finder.h"
#include "groups/flanked_word.h"
#include "groups/group_shape.h"
#include "groups/string_lookup.h"
#include "index/shard_codec.h"
#include "kmer/hash.h"
#include "kmer/minimizer.h"

namespace warpmer::cpu {

namespace {

/// Returns the count of the k-mer with this hash, which is noted if it matters which k-mers were met.
[[gnu::always_inline]] inline std::uint64_t find_and_note(const index::ShardReader& reader, Key64 hash,
                                                          std::uint32_t shard, backend::SeenKmers* met) {
  if (met == nullptr) return reader.find(hash);
  const std::uint64_t entry = reader.entry_of(hash);
  if (entry >= reader.entries()) return 0;
  const std::uint64_t count = reader.count_at(entry);
  met->note(shard, entry, count);
  return count;
}

/// For k <= 12: one shard.
class DenseFinder : public Finder {
 public:
  DenseFinder(const index::IndexFile& index, const Kernels& kernels, bool lenient, backend::SeenKmers* met)
      : index_(index), stretches_(kernels, index.params().k, lenient), met_(met) {}

  bool profile(const io::Batch& batch, backend::Profile& out) override {
    bool has_large = false;
    const std::uint32_t k = index_.params().k;
    const KmerHash<Key64> hash(k);
    const index::ShardReader reader(index_.shard(0), k);
    for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
      stretches_.for_each(
          batch, batch.pieces[i],
          [&](const std::uint64_t* packed, std::size_t first, std::size_t bases, std::size_t at) {
            std::uint32_t* counts = out.counts.data() + out.first[i] + at;
            KmerWindow<Key64> window(k);
            for (std::size_t j = 0; j < bases; ++j) {
              window.push(packed_base(packed, first + j));
              if (j + 1 < k) continue;
              const Key64 asked = hash(index_.params().canonical ? window.canonical() : window.forward());
              const std::uint64_t count = find_and_note(reader, asked, 0, met_);
              has_large = has_large || count >= backend::Profile::kLargeCount;
              counts[j + 1 - k] = backend::narrow_count(count);
            }
          });
    }
    return has_large;
  }

 private:
  const index::IndexFile& index_;
  StretchFinder stretches_;
  backend::SeenKmers* met_;
};

static_assert(kLargeCount == backend::Profile::kLargeCount);

/// For k > 12: super-k-mers, shard by shard.
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

class CpuLookup : public backend::IndexLookup {
 public:
  CpuLookup(const index::IndexFile& index, const backend::LookupOptions& options, backend::SeenKmers* met)
      : IndexLookup(index), lenient_(options.lenient), met_(met), checks_(index, options.threads) {}

  void profile(const io::Batch& batch, backend::Profile& out) const override {
    lay_out(batch, out);
    finders_.use([&](auto& finder) {
      if (finder.profile(batch, out)) widen(batch, out);
    });
  }

 private:
  [[nodiscard]] std::unique_ptr<Finder> make_finder() const {
    if (index().params().k <= kMaxDenseK)
      return std::make_unique<DenseFinder>(index(), best_kernels(), lenient_, met_);
    return groups::with_flanked_words(index().params().k, [&]<int Words>() -> std::unique_ptr<Finder> {
      return std::make_unique<StringFinder<Words>>(index(), checks_, lenient_, met_);
    });
  }

  const bool lenient_;
  backend::SeenKmers* const met_;
  mutable ShardChecks checks_;
  mutable BufferPool<Finder> finders_{[this] { return make_finder(); }};  ///< they have scratch memory
};

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::backend {

std::unique_ptr<Lookup> make_cpu_lookup(const index::IndexFile& index, const LookupOptions& options) {
  return std::make_unique<cpu::CpuLookup>(index, options, nullptr);
}

std::unique_ptr<Lookup> make_noting_lookup(const index::IndexFile& index, const LookupOptions& options,
                                           SeenKmers& met) {
  return std::make_unique<cpu::CpuLookup>(index, options, &met);
}

}  // namespace warpmer::backend
