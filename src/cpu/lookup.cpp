// Lookups on the CPU: batches are cut like counting cuts them, grouped by shard, and looked up shard by
// shard, so that a shard's lines are fetched once for all its k-mers in the batch.

#include "engine/lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "core/error.h"
#include "core/hash.h"
#include "core/minimizer.h"
#include "cpu/cutter.h"
#include "cpu/kernels.h"
#include "index/shard_codec.h"

namespace warpmer::engine {

namespace {

using cpu::Cutter;
using cpu::Kernels;
using cpu::StretchFinder;

/// What differs with the width of keys and words.
class Finder {
 public:
  virtual ~Finder() = default;
  virtual void profile(const io::Batch& batch, Profile& out) = 0;
};

template <class Key>
std::uint64_t find_one(const index::IndexFile& index, std::string_view text) {
  const auto& params = index.params();
  Key kmer{};
  kmer_from_text(text, kmer);
  if (params.canonical) kmer = canonical(kmer, params.k);
  const std::uint32_t shard =
      params.shard_bits == 0 ? 0 : shard_of(minimizer_of(kmer, params.k), params.shard_bits);
  return index::ShardReader<Key>(index.shard(shard), params.k).find(KmerHash<Key>(params.k)(kmer));
}

/// For k > 12.
template <class Key, int Words>
class ShardedFinder : public Finder {
 public:
  ShardedFinder(const index::IndexFile& index, const Kernels& kernels, bool lenient)
      : index_(index), kernels_(kernels), cutter_(kernels, index.params().k, lenient) {}

  void profile(const io::Batch& batch, Profile& out) override {
    for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
      // A super-k-mer's start is its first k-mer's place in `out.counts`.
      cutter_.cut(batch, batch.pieces[i], static_cast<std::uint32_t>(out.first[i]), [&] { look_up(out); });
    }
    look_up(out);
  }

 private:
  void look_up(Profile& out) {
    const auto& list = cutter_.list();
    order_.resize(list.size);
    for (std::uint32_t i = 0; i < list.size; ++i) order_[i] = {list.shards[i], i};
    std::sort(order_.begin(), order_.end());
    for (std::size_t i = 0; i < order_.size();) {
      const std::uint32_t shard = order_[i].first;
      const index::ShardReader<Key> reader(index_.shard(shard), index_.params().k);
      for (; i < order_.size() && order_[i].first == shard; ++i)
        look_up_word(reader, list.words[order_[i].second], out.counts.data() + list.starts[order_[i].second]);
    }
    cutter_.clear();
  }

  void look_up_word(const index::ShardReader<Key>& reader, const SuperKmer<Words>& word,
                    std::uint64_t* counts) {
    Key hashes[SuperKmer<Words>::kMaxKmers + 8];
    kernels_.shard<Key, Words>().expand(word, index_.params().k, index_.params().canonical, hashes);
    const std::uint32_t n = word.kmers();
    for (std::uint32_t i = 0; i < n; ++i) reader.prefetch(hashes[i]);
    for (std::uint32_t i = 0; i < n; ++i) counts[i] = reader.find(hashes[i]);
  }

  const index::IndexFile& index_;
  const Kernels& kernels_;
  Cutter<Words> cutter_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order_;
};

/// For k <= 12: one shard.
class DenseFinder : public Finder {
 public:
  DenseFinder(const index::IndexFile& index, const Kernels& kernels, bool lenient)
      : index_(index), stretches_(kernels, index.params().k, lenient) {}

  void profile(const io::Batch& batch, Profile& out) override {
    const std::uint32_t k = index_.params().k;
    const KmerHash<Key64> hash(k);
    const index::ShardReader<Key64> reader(index_.shard(0), k);
    for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
      stretches_.for_each(
          batch, batch.pieces[i],
          [&](const std::uint64_t* packed, std::size_t first, std::size_t bases, std::size_t at) {
            std::uint64_t* counts = out.counts.data() + out.first[i] + at;
            Key64 kmer = 0;
            for (std::size_t j = 0; j < bases; ++j) {
              const std::size_t base = first + j;
              kmer = ((kmer << 2) | ((packed[base / 32] >> (2 * (base % 32))) & 3)) & hash.mask;
              if (j + 1 >= k)
                counts[j + 1 - k] = reader.find(hash(index_.params().canonical ? canonical(kmer, k) : kmer));
            }
          });
    }
  }

 private:
  const index::IndexFile& index_;
  StretchFinder stretches_;
};

std::unique_ptr<Finder> make_finder(const index::IndexFile& index, bool lenient) {
  const Kernels& kernels = cpu::best_kernels();
  const std::uint32_t k = index.params().k;
  if (k <= kMaxDenseK) return std::make_unique<DenseFinder>(index, kernels, lenient);
  if (k <= kMaxNarrowK) return std::make_unique<ShardedFinder<Key64, 2>>(index, kernels, lenient);
  if (k <= kMaxShortWordK) return std::make_unique<ShardedFinder<Key128, 2>>(index, kernels, lenient);
  return std::make_unique<ShardedFinder<Key128, 4>>(index, kernels, lenient);
}

}  // namespace

/// Finders have scratch memory; callers borrow one each.
struct Lookup::Impl {
  const index::IndexFile& index;
  bool lenient;
  std::mutex mutex;
  std::vector<std::unique_ptr<Finder>> idle;

  std::unique_ptr<Finder> borrow() {
    {
      const std::lock_guard lock(mutex);
      if (!idle.empty()) {
        std::unique_ptr<Finder> finder = std::move(idle.back());
        idle.pop_back();
        return finder;
      }
    }
    return make_finder(index, lenient);
  }
  void give_back(std::unique_ptr<Finder> finder) {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(finder));
  }
};

Lookup::Lookup(const index::IndexFile& index, bool lenient) : impl_(new Impl{index, lenient, {}, {}}) {
  const index::IndexParams& params = index.params();
  if (params.hash_version != kHashVersion || params.minimizer_length != minimizer_length(params.k) ||
      params.shard_bits != shard_bits(params.k)) {
    throw InputError(
        fmt::format("{} was made with other hashes or minimizers than this warpmer's; count its input again",
                    index.path()));
  }
}
Lookup::~Lookup() = default;

std::uint64_t Lookup::find(std::string_view kmer) const {
  const std::uint32_t k = impl_->index.params().k;
  if (kmer.size() != k)
    throw UsageError(fmt::format("'{}' has {} bases; this index holds k-mers of {}", kmer, kmer.size(), k));
  for (const char c : kmer) {
    if (char_class(c) != CharClass::base)
      throw UsageError(fmt::format("'{}' is no k-mer: '{}' is not one of A C G T U", kmer, c));
  }
  return k <= kMaxNarrowK ? find_one<Key64>(impl_->index, kmer) : find_one<Key128>(impl_->index, kmer);
}

void Lookup::profile(const io::Batch& batch, Profile& out) const {
  const std::uint32_t k = impl_->index.params().k;
  out.first.assign(1, 0);
  for (const io::Piece& piece : batch.pieces)
    out.first.push_back(out.first.back() + (piece.length < k ? 0 : piece.length - k + 1));
  out.counts.assign(out.first.back(), Profile::kNoKmer);
  std::unique_ptr<Finder> finder = impl_->borrow();
  finder->profile(batch, out);
  impl_->give_back(std::move(finder));
}

}  // namespace warpmer::engine
