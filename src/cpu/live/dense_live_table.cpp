#include "cpu/live/dense_live_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/dense_counts.h"
#include "backend/live/gate.h"
#include "backend/live/read_totals.h"
#include "base/buffer_pool.h"
#include "base/error.h"
#include "base/memory_text.h"
#include "base/shared_mutex.h"
#include "cpu/live/live_budget.h"
#include "cpu/memory/huge_array.h"
#include "cpu/simd/kmer_window.h"
#include "cpu/simd/stretch_finder.h"
#include "index/shard_codec.h"
#include "kmer/hash.h"

namespace warpmer::cpu {

namespace {

/// Counts of all k-mers, by their value; of canonical ones, if it is about those. A batch changes them at
/// once.
class DenseCounts {
 public:
  explicit DenseCounts(const KmerParams& kmers) : kmers_(kmers), counts_(std::size_t{1} << (2 * kmers.k)) {}

  [[nodiscard]] const KmerParams& kmers() const { return kmers_; }
  [[nodiscard]] std::span<const std::uint64_t> all() const {
    return {counts_.data(), std::size_t{1} << (2 * kmers_.k)};
  }
  [[nodiscard]] std::uint64_t* data() { return counts_.data(); }

  [[nodiscard]] std::shared_lock<SharedMutex> lock_to_read() const { return std::shared_lock(mutex_); }
  [[nodiscard]] std::unique_lock<SharedMutex> lock_to_write() const { return std::unique_lock(mutex_); }

 private:
  const KmerParams kmers_;
  HugeArray<std::uint64_t> counts_;
  mutable SharedMutex mutex_;
};

/// Calls `visit(place, kmer)` for the k-mers of a batch, each with its place in its piece.
template <class Visit>
void for_each_kmer(StretchFinder& finder, const io::Batch& batch, const io::Piece& piece,
                   const KmerParams& kmers, Visit&& visit) {
  finder.for_each(batch, piece,
                  [&](const std::uint64_t* packed, std::size_t first, std::size_t bases, std::size_t at) {
                    KmerWindow<Key64> window(kmers.k);
                    for (std::size_t j = 0; j < bases; ++j) {
                      window.push(packed_base(packed, first + j));
                      if (j + 1 >= kmers.k)
                        visit(at + j + 1 - kmers.k, kmers.canonical ? window.canonical() : window.forward());
                    }
                  });
}

/// Returns what the table takes before anything is in it: counts, a copy of them that is frozen, and what
/// threads work in.
std::uint64_t least_bytes(const backend::LiveTablePlan& plan) {
  constexpr std::uint64_t kThreadBytes = std::uint64_t{1} << 20;
  return (std::uint64_t{sizeof(std::uint64_t)} << (2 * plan.kmers.k)) +
         backend::dense_freeze_bytes(plan.kmers.k) + plan.threads * kThreadBytes;
}

class DenseLiveLookup : public backend::Lookup {
 public:
  DenseLiveLookup(const DenseCounts& counts, bool lenient, unsigned threads)
      : Lookup(counts.kmers()),
        counts_(counts),
        finders_(
            [this, lenient] { return std::make_unique<StretchFinder>(best_kernels(), kmers().k, lenient); },
            threads) {}

  void find_valid(std::span<const std::string_view> texts, std::uint64_t* counts) const override {
    const auto lock = counts_.lock_to_read();
    for (const std::string_view text : texts) {
      Key64 kmer = 0;
      kmer_from_text(text, kmer);
      *counts++ = counts_.all()[kmers().canonical ? canonical(kmer, kmers().k) : kmer];
    }
  }

  void profile(const io::Batch& batch, backend::Profile& out) const override {
    lay_out(batch, out);
    const auto finder = finders_.take();
    bool has_large = false;
    {
      const auto lock = counts_.lock_to_read();
      for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
        std::uint32_t* const places = out.counts.data() + out.first[i];
        for_each_kmer(*finder, batch, batch.pieces[i], kmers(), [&](std::size_t place, Key64 kmer) {
          const std::uint64_t count = counts_.all()[kmer];
          has_large = has_large || count >= backend::Profile::kLargeCount;
          places[place] = backend::narrow_count(count);
        });
      }
    }
    if (has_large) widen(batch, out);
  }

 private:
  const DenseCounts& counts_;
  mutable BufferPool<StretchFinder> finders_;
};

/// The k-mers of a batch.
struct DenseChanger {
  DenseChanger(const backend::LiveTablePlan& plan, LiveBudget& budget)
      : strict(best_kernels(), plan.kmers.k, false),
        lenient(best_kernels(), plan.kmers.k, true),
        bytes(budget, 0) {}

  /// ResourceError where there is no memory for them.
  void cut(const io::Batch& batch, bool is_lenient, const KmerParams& params, LiveBudget& budget) {
    kmers.clear();
    std::size_t most = 0;
    for (const io::Piece& piece : batch.pieces) most += piece.length;
    if (!bytes.try_set(std::max(most, kmers.capacity()) * sizeof(std::uint32_t), LiveUse::removal)) {
      throw ResourceError(fmt::format("the live table holds {} of {} and has no room for a batch of {}",
                                      mebibytes_needed(budget.held()), mebibytes(budget.most()),
                                      mebibytes_needed(most * sizeof(std::uint32_t))));
    }
    kmers.reserve(most);
    for (const io::Piece& piece : batch.pieces) {
      for_each_kmer(is_lenient ? lenient : strict, batch, piece, params,
                    [&](std::size_t, Key64 kmer) { kmers.push_back(static_cast<std::uint32_t>(kmer)); });
    }
  }

  StretchFinder strict, lenient;
  std::vector<std::uint32_t> kmers;
  LiveBytes bytes;
};

/// Freezes a copy, on one thread.
class DenseSnapshot : public backend::LiveSnapshot {
 public:
  DenseSnapshot(const DenseCounts& counts, backend::Gate& gate, const backend::LiveReadTotals& totals)
      : counts_(counts), view_(gate, true), totals_(totals.get()) {}

  void finish(unsigned thread, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    if (thread != 0) return;
    const auto counts = counts_.all();
    sink(0, backend::freeze_dense({counts.begin(), counts.end()}, counts_.kmers().k, false, tally_));
    shard_done();
  }
  [[nodiscard]] backend::Tally tally() const override { return tally_; }
  [[nodiscard]] backend::LiveTotals totals() const override { return totals_; }

 private:
  const DenseCounts& counts_;
  const backend::Gate::Stop view_;
  const backend::LiveTotals totals_;
  backend::Tally tally_;
};

class DenseLiveTable : public backend::LiveTable {
 public:
  explicit DenseLiveTable(const backend::LiveTablePlan& plan)
      : plan_(plan),
        budget_(plan.memory_bytes),
        fixed_bytes_(budget_, least_bytes(plan)),
        counts_(plan.kmers),
        totals_(plan.base),
        changers_([this] { return std::make_unique<DenseChanger>(plan_, budget_); }, plan.threads),
        strict_(counts_, false, plan.threads),
        lenient_(counts_, true, plan.threads) {
    // Nothing is left free for removals: a table of this kind does not grow.
    if (!budget_.has(0, LiveUse::removal)) refuse_live_memory(plan, budget_.held() * 16 / 15);
    if (plan.base == nullptr) return;
    const KmerHash<Key64> hash(plan.kmers.k);
    index::for_each_entry(*plan.base, 0,
                          [&](Key64 h, std::uint64_t count) { counts_.data()[hash.inverse(h)] = count; });
  }

  std::uint64_t add(const io::Batch& batch, bool lenient) override {
    const auto changer = changers_.take();
    changer->cut(batch, lenient, plan_.kmers, budget_);
    const backend::Gate::Pass turn(gate_);
    {
      const auto lock = counts_.lock_to_write();
      for (const std::uint32_t kmer : changer->kmers) ++counts_.data()[kmer];
    }
    totals_.add(batch, plan_.kmers.k);
    return changer->kmers.size();
  }

  backend::Removal remove(const io::Batch& batch, bool lenient) override {
    const auto changer = changers_.take();
    changer->cut(batch, lenient, plan_.kmers, budget_);
    std::vector<std::uint32_t>& kmers = changer->kmers;
    std::sort(kmers.begin(), kmers.end());
    backend::Removal removal{kmers.size(), {}};
    const backend::Gate::Pass turn(gate_);
    {
      const auto lock = counts_.lock_to_write();
      for (std::size_t i = 0, next = 0; i < kmers.size(); i = next) {
        while (next < kmers.size() && kmers[next] == kmers[i]) ++next;
        std::uint64_t& count = counts_.data()[kmers[i]];
        const std::uint64_t wanted = next - i;
        if (wanted > count) removal.shortfall.note(count, wanted - count);
        count -= std::min(count, wanted);
      }
    }
    totals_.remove(batch, plan_.kmers.k, removal);
    return removal;
  }

  [[nodiscard]] const backend::Lookup& lookup(bool lenient) const override {
    return lenient ? lenient_ : strict_;
  }

  [[nodiscard]] backend::LiveTally tally() override {
    const backend::Gate::Stop view(gate_);
    backend::LiveTally tally{backend::Tally(), totals_.get()};
    for (const std::uint64_t count : counts_.all()) {
      if (count > 0) tally.note(count, 1);
    }
    return tally;
  }

  [[nodiscard]] backend::LiveTotals totals() const override { return totals_.get(); }
  [[nodiscard]] std::unique_ptr<backend::LiveSnapshot> snapshot() override {
    return std::make_unique<DenseSnapshot>(counts_, gate_, totals_);
  }
  [[nodiscard]] std::uint64_t memory_bytes() const override { return budget_.held(); }
  [[nodiscard]] std::string describe() const override {
    return "an array of counts, because there are few k-mers";
  }

 private:
  const backend::LiveTablePlan plan_;
  LiveBudget budget_;
  LiveBytes fixed_bytes_;
  DenseCounts counts_;
  backend::Gate gate_;
  backend::LiveReadTotals totals_;
  BufferPool<DenseChanger> changers_;
  const DenseLiveLookup strict_, lenient_;
};

}  // namespace

std::unique_ptr<backend::LiveTable> make_dense_live_table(const backend::LiveTablePlan& plan) {
  return std::make_unique<DenseLiveTable>(plan);
}

}  // namespace warpmer::cpu
