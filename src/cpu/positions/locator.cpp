// Finding k-mers in an index of positions, where it lies. As in probe-new (Green 2019, section 3.4) the
// queries become a HashGraph, too, its buckets the bins of the index: what is looked up one after the other
// lies near each other. Some are looked up at a time, so that their cache misses overlap.

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>

#include "backend/lookup/kmer_text.h"
#include "backend/lookup/positions.h"
#include "base/buffer_pool.h"
#include "cpu/positions/hash_graph.h"
#include "cpu/simd/kernels.h"
#include "cpu/simd/kmer_window.h"
#include "cpu/simd/stretch_finder.h"
#include "index/positions/position_codec.h"
#include "kmer/hash.h"
#include "table/hash_graph.h"

namespace warpmer::backend {

namespace {

using table::EntryRange;

template <class Key>
class CpuLocator final : public Locator {
 public:
  CpuLocator(const index::PositionFile& index, bool lenient)
      : index_(index),
        params_(index.params()),
        hash_(params_.k),
        bin_of_(2 * params_.k, params_.bin_bits),
        lenient_(lenient),
        readers_(params_.bins()),
        is_ready_(std::make_unique<std::atomic<bool>[]>(params_.bins())) {}

  [[nodiscard]] HitRange find(std::string_view text) const override {
    require_kmer(text, params_.k);
    cpu::KmerWindow<Key> window(params_.k);
    for (const char c : text) window.push(base_code(c));
    const Key hash = hash_of(window);
    const EntryRange found = search(query_of(hash));
    return {bin_of_(hash), found.first, found.last, is_reverse(window)};
  }

  void locate(const io::Batch& batch, LocatedBatch& out) const override {
    out.kmers.clear();
    out.first.assign(batch.pieces.size() + 1, 0);  // numbers of hits, until all are known
    out.asked.assign(batch.pieces.size(), 0);
    const auto scratch = scratches_.take();
    scratch->clear();
    for (std::size_t piece = 0; piece < batch.pieces.size(); ++piece) {
      const std::uint64_t begin = batch.pieces[piece].first_base;
      scratch->stretches.for_each(
          batch, batch.pieces[piece],
          [&](const std::uint64_t* packed, std::size_t first, std::size_t bases, std::size_t at) {
            gather(packed, first, {piece, begin + at, bases - params_.k + 1}, *scratch);
            out.asked[piece] += bases - params_.k + 1;
            if (scratch->hashes.size() >= kMostGathered) look_up(*scratch, out);
          });
    }
    look_up(*scratch, out);
    std::partial_sum(out.first.begin(), out.first.end(), out.first.begin());
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
  /// K-mers that are put into bins at once, about, and those under way at once.
  static constexpr std::size_t kMostGathered = std::size_t{1} << 20;
  static constexpr std::size_t kAhead = 64;

  /// Consecutive k-mers of a piece.
  struct Stretch {
    std::size_t piece;
    std::uint64_t position;  ///< place of the first, in the sequence asked about
    std::size_t kmers;
  };

  struct LocatorScratch {
    LocatorScratch(std::uint32_t k, bool lenient) : stretches(cpu::best_kernels(), k, lenient) {}
    void clear() {
      runs.clear();
      hashes.clear();
      reverse.clear();
    }
    cpu::StretchFinder stretches;
    std::vector<Stretch> runs;
    std::vector<Key> hashes;             ///< hashes of all k-mers gathered
    std::vector<std::uint8_t> reverse;   ///< 1 when a k-mer is not the canonical one
    std::vector<std::uint32_t> numbers;  ///< 0, 1, 2, ...
    std::vector<std::uint32_t> offsets;  ///< by bin
    std::vector<Key> binned_hashes;
    std::vector<std::uint32_t> binned_numbers;
    std::vector<EntryRange> found;  ///< by number
  };

  /// A k-mer's place in its bin.
  struct BinQuery {
    const index::BinReader<Key>* reader;
    Key rest;
    std::uint64_t bucket;
  };

  [[nodiscard]] Key hash_of(const cpu::KmerWindow<Key>& window) const {
    return hash_(params_.canonical ? window.canonical() : window.forward());
  }
  [[nodiscard]] bool is_reverse(const cpu::KmerWindow<Key>& window) const {
    return params_.canonical && window.is_reverse();
  }

  void gather(const std::uint64_t* packed, std::size_t first, const Stretch& stretch,
              LocatorScratch& scratch) const {
    cpu::KmerWindow<Key> window(params_.k);
    std::size_t next = first;
    for (std::uint32_t i = 1; i < params_.k; ++i) window.push(cpu::packed_base(packed, next++));
    const std::size_t before = scratch.hashes.size();
    scratch.hashes.resize(before + stretch.kmers);
    scratch.reverse.resize(before + stretch.kmers);
    for (std::size_t i = before; i < scratch.hashes.size(); ++i) {
      window.push(cpu::packed_base(packed, next++));
      scratch.hashes[i] = hash_of(window);
      scratch.reverse[i] = is_reverse(window) ? 1 : 0;
    }
    scratch.runs.push_back(stretch);
  }

  /// Looks up what was gathered, and forgets it.
  void look_up(LocatorScratch& scratch, LocatedBatch& out) const {
    const std::size_t n = scratch.hashes.size();
    const std::size_t known = scratch.numbers.size();
    if (known < n) {
      scratch.numbers.resize(n);
      std::iota(scratch.numbers.begin() + static_cast<std::ptrdiff_t>(known), scratch.numbers.end(),
                static_cast<std::uint32_t>(known));
    }
    scratch.offsets.resize(bin_of_.buckets());
    scratch.binned_hashes.resize(n);
    scratch.binned_numbers.resize(n);
    scratch.found.resize(n);
    cpu::build_bin(scratch.hashes.data(), scratch.numbers.data(), n, bin_of_, bin_of_.buckets(),
                   std::uint32_t{0}, scratch.offsets.data(), scratch.binned_hashes.data(),
                   scratch.binned_numbers.data());
    for (std::size_t first = 0; first < n; first += kAhead)
      look_up_some(scratch, first, std::min(first + kAhead, n));
    report(scratch, out);
    scratch.clear();
  }

  void look_up_some(LocatorScratch& scratch, std::size_t first, std::size_t last) const {
    std::array<BinQuery, kAhead> queries;
    for (std::size_t i = first; i < last; ++i) {
      BinQuery& query = queries[i - first] = query_of(scratch.binned_hashes[i]);
      query.reader->prefetch_bucket(query.bucket);
    }
    for (std::size_t i = first; i < last; ++i) {
      const BinQuery& query = queries[i - first];
      const std::uint64_t entry = query.reader->bucket_begin(query.bucket);
      query.reader->prefetch_entry(entry);
      query.reader->prefetch_entry(entry + index::kPositionBucketEntries);  // often in another line
    }
    for (std::size_t i = first; i < last; ++i)
      scratch.found[scratch.binned_numbers[i]] = search(queries[i - first]);
  }

  void report(const LocatorScratch& scratch, LocatedBatch& out) const {
    std::size_t number = 0;
    for (const Stretch& run : scratch.runs) {
      for (std::size_t i = 0; i < run.kmers; ++i, ++number) {
        const EntryRange& found = scratch.found[number];
        if (found.size() == 0) continue;
        out.kmers.push_back(
            {run.position + i,
             {bin_of_(scratch.hashes[number]), found.first, found.last, scratch.reverse[number] != 0}});
        ++out.first[run.piece + 1];
      }
    }
  }

  [[nodiscard]] BinQuery query_of(Key hash) const {
    const index::BinReader<Key>& bin = reader(bin_of_(hash));
    return {&bin, bin.rest_of(hash), bin.bucket_of(hash)};
  }

  [[nodiscard]] static EntryRange search(const BinQuery& query) {
    const index::BinReader<Key>& bin = *query.reader;
    return table::equal_range(EntryRange{bin.bucket_begin(query.bucket), bin.bucket_begin(query.bucket + 1)},
                              query.rest, [&](std::uint64_t entry) { return bin.rest_at(entry); });
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

  const index::PositionFile& index_;
  const index::PositionParams params_;
  const KmerHash<Key> hash_;
  const table::TopBitsBucket<Key> bin_of_;
  bool lenient_;
  mutable std::vector<std::optional<index::BinReader<Key>>> readers_;
  std::unique_ptr<std::atomic<bool>[]> is_ready_;
  mutable std::mutex mutex_;
  mutable BufferPool<LocatorScratch> scratches_{
      [this] { return std::make_unique<LocatorScratch>(params_.k, lenient_); }};
};

}  // namespace

std::unique_ptr<Locator> make_cpu_locator(const index::PositionFile& index, bool lenient) {
  if (index.params().k <= kMaxNarrowK) return std::make_unique<CpuLocator<Key64>>(index, lenient);
  return std::make_unique<CpuLocator<Key128>>(index, lenient);
}

}  // namespace warpmer::backend
