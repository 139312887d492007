// Lookups on the CPU: batches are cut like counting cuts them, grouped by shard, and looked up shard by
// shard, so that a shard's lines are fetched once for all its k-mers in the batch.

#include "backend/lookup/lookup.h"

#include <memory>

#include "backend/lookup/seen_kmers.h"
#include "base/buffer_pool.h"
#include "cpu/lookup/finder.h"
#include "cpu/lookup/shard_checks.h"
#include "cpu/lookup/string_finder.h"
#include "cpu/simd/kernels.h"
#include "cpu/simd/kmer_window.h"
#include "cpu/simd/stretch_finder.h"
#include "index/shard_codec.h"
#include "kmer/hash.h"
#include "kmer/minimizer.h"

namespace warpmer::backend {

namespace {

using cpu::Finder;
using cpu::Kernels;
using cpu::StretchFinder;

/// Returns the count of the k-mer with this hash, which is noted if it matters which k-mers were met.
[[gnu::always_inline]] inline std::uint64_t find_and_note(const index::ShardReader& reader, Key64 hash,
                                                          std::uint32_t shard, SeenKmers* met) {
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
  DenseFinder(const index::IndexFile& index, const Kernels& kernels, bool lenient, SeenKmers* met)
      : index_(index), stretches_(kernels, index.params().k, lenient), met_(met) {}

  bool profile(const io::Batch& batch, Profile& out) override {
    bool has_large = false;
    const std::uint32_t k = index_.params().k;
    const KmerHash<Key64> hash(k);
    const index::ShardReader reader(index_.shard(0), k);
    for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
      stretches_.for_each(
          batch, batch.pieces[i],
          [&](const std::uint64_t* packed, std::size_t first, std::size_t bases, std::size_t at) {
            std::uint32_t* counts = out.counts.data() + out.first[i] + at;
            cpu::KmerWindow<Key64> window(k);
            for (std::size_t j = 0; j < bases; ++j) {
              window.push(cpu::packed_base(packed, first + j));
              if (j + 1 < k) continue;
              const Key64 asked = hash(index_.params().canonical ? window.canonical() : window.forward());
              const std::uint64_t count = find_and_note(reader, asked, 0, met_);
              has_large = has_large || count >= Profile::kLargeCount;
              counts[j + 1 - k] = narrow_count(count);
            }
          });
    }
    return has_large;
  }

 private:
  const index::IndexFile& index_;
  StretchFinder stretches_;
  SeenKmers* met_;
};

class CpuLookup : public IndexLookup {
 public:
  CpuLookup(const index::IndexFile& index, const LookupOptions& options, SeenKmers* met)
      : IndexLookup(index), lenient_(options.lenient), met_(met), checks_(index, options.threads) {}

  void profile(const io::Batch& batch, Profile& out) const override {
    lay_out(batch, out);
    finders_.use([&](auto& finder) {
      if (finder.profile(batch, out)) widen(batch, out);
    });
  }

 private:
  [[nodiscard]] std::unique_ptr<Finder> make_finder() const {
    if (index().params().k <= kMaxDenseK)
      return std::make_unique<DenseFinder>(index(), cpu::best_kernels(), lenient_, met_);
    return cpu::make_string_finder(index(), checks_, lenient_, met_);
  }

  const bool lenient_;
  SeenKmers* const met_;
  mutable cpu::ShardChecks checks_;
  mutable BufferPool<Finder> finders_{[this] { return make_finder(); }};  ///< they have scratch memory
};

}  // namespace

std::unique_ptr<Lookup> make_cpu_lookup(const index::IndexFile& index, const LookupOptions& options) {
  return std::make_unique<CpuLookup>(index, options, nullptr);
}

std::unique_ptr<Lookup> make_noting_lookup(const index::IndexFile& index, const LookupOptions& options,
                                           SeenKmers& met) {
  return std::make_unique<CpuLookup>(index, options, &met);
}

}  // namespace warpmer::backend
