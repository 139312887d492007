// Finding k-mers in an index of positions, where it lies: probe-standard (Green 2019, section 3.4), some
// k-mers at a time, so that their cache misses overlap.

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>

#include "core/hash.h"
#include "cpu/cutter.h"
#include "cpu/kernels.h"
#include "cpu/kmer_window.h"
#include "engine/kmer_text.h"
#include "engine/positions.h"
#include "index/position_codec.h"
#include "table/hash_graph.h"

namespace warpmer::engine {

namespace {

template <class Key>
class CpuLocator final : public Locator {
 public:
  CpuLocator(const index::PositionFile& index, bool lenient)
      : index_(index),
        params_(index.params()),
        hash_(params_.k),
        lenient_(lenient),
        readers_(params_.bins()),
        is_ready_(std::make_unique<std::atomic<bool>[]>(params_.bins())) {}

  [[nodiscard]] HitRange find(std::string_view text) const override {
    require_kmer(text, params_.k);
    cpu::KmerWindow<Key> window(params_.k);
    for (const char c : text) window.push(base_code(c));
    Query query;
    prepare(window, query);
    return search(query);
  }

  void locate(const io::Batch& batch, const io::Piece& piece, const Sink& sink) const override {
    std::unique_ptr<cpu::StretchFinder> stretches = borrow();
    stretches->for_each(
        batch, piece, [&](const std::uint64_t* packed, std::size_t first, std::size_t bases, std::size_t at) {
          locate_stretch(packed, first, bases, piece.first_base + at, sink);
        });
    give_back(std::move(stretches));
  }

  void for_each_hit(const HitRange& hits,
                    const std::function<void(const index::Hit&)>& visit) const override {
    const index::BinReader<Key>& bin = reader(hits.bin);
    for (std::uint64_t entry = hits.first; entry < hits.last; ++entry) {
      index::Hit hit = index_.resolve(bin.location_at(entry));
      hit.is_reverse ^= hits.is_reverse;
      visit(hit);
    }
  }

 private:
  /// K-mers under way at once.
  static constexpr std::size_t kAhead = 64;

  struct Query {
    const index::BinReader<Key>* reader;
    std::uint32_t bin;
    bool is_reverse;
    Key rest;
    std::uint64_t bucket;
    table::EntryRange range;
  };

  void prepare(const cpu::KmerWindow<Key>& window, Query& query) const {
    const Key hash = hash_(params_.canonical ? window.canonical() : window.forward());
    query.is_reverse = params_.canonical && window.is_reverse();
    query.bin =
        params_.bin_bits == 0 ? 0 : static_cast<std::uint32_t>(hash >> (2 * params_.k - params_.bin_bits));
    query.reader = &reader(query.bin);
    query.rest = query.reader->rest_of(hash);
    query.bucket = query.reader->bucket_of(hash);
  }

  [[nodiscard]] HitRange search(const Query& query) const {
    const index::BinReader<Key>& bin = *query.reader;
    const table::EntryRange bucket{bin.bucket_begin(query.bucket), bin.bucket_begin(query.bucket + 1)};
    const table::EntryRange found =
        table::equal_range(bucket, query.rest, [&](std::uint64_t entry) { return bin.rest_at(entry); });
    return {query.bin, found.first, found.last, query.is_reverse};
  }

  void locate_stretch(const std::uint64_t* packed, std::size_t first, std::size_t bases,
                      std::uint64_t position, const Sink& sink) const {
    const std::uint32_t k = params_.k;
    cpu::KmerWindow<Key> window(k);
    std::size_t next = first;
    for (std::uint32_t i = 1; i < k; ++i) window.push(cpu::packed_base(packed, next++));
    std::array<Query, kAhead> queries;
    std::array<LocatedKmer, kAhead> located;
    for (std::size_t left = bases - (k - 1); left > 0;) {
      const std::size_t n = std::min(left, kAhead);
      for (std::size_t i = 0; i < n; ++i) {
        window.push(cpu::packed_base(packed, next++));
        prepare(window, queries[i]);
        queries[i].reader->prefetch_bucket(queries[i].bucket);
      }
      for (std::size_t i = 0; i < n; ++i)
        queries[i].reader->prefetch_entry(queries[i].reader->bucket_begin(queries[i].bucket));
      std::size_t found = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const HitRange hits = search(queries[i]);
        if (hits.size() > 0) located[found++] = {position + i, hits};
      }
      sink(n, {located.data(), found});
      position += n;
      left -= n;
    }
  }

  /// Bins are checked when they are needed first.
  [[nodiscard]] const index::BinReader<Key>& reader(std::uint32_t bin) const {
    if (!is_ready_[bin].load(std::memory_order_acquire)) {
      const index::BinView view = index_.bin(bin);
      const std::lock_guard lock(mutex_);
      if (!readers_[bin]) readers_[bin].emplace(view, params_);
      is_ready_[bin].store(true, std::memory_order_release);
    }
    return *readers_[bin];
  }

  [[nodiscard]] std::unique_ptr<cpu::StretchFinder> borrow() const {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<cpu::StretchFinder> stretches = std::move(idle_.back());
        idle_.pop_back();
        return stretches;
      }
    }
    return std::make_unique<cpu::StretchFinder>(cpu::best_kernels(), params_.k, lenient_);
  }
  void give_back(std::unique_ptr<cpu::StretchFinder> stretches) const {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(stretches));
  }

  const index::PositionFile& index_;
  const index::PositionParams params_;
  const KmerHash<Key> hash_;
  bool lenient_;
  mutable std::vector<std::optional<index::BinReader<Key>>> readers_;
  std::unique_ptr<std::atomic<bool>[]> is_ready_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<cpu::StretchFinder>> idle_;  ///< they have scratch memory
};

}  // namespace

std::unique_ptr<Locator> make_cpu_locator(const index::PositionFile& index, bool lenient) {
  return with_key_type(index.params().k, [&]<class Key>(Key) -> std::unique_ptr<Locator> {
    return std::make_unique<CpuLocator<Key>>(index, lenient);
  });
}

}  // namespace warpmer::engine
