#pragma once
/// Counting k-mer by k-mer: where a hash table is named, and for what takes hashes.

#include <optional>
#include <utility>

#include "cpu/count/kmer_counting.h"
#include "cpu/count/shard_spill.h"
#include "cpu/count/sharded_session.h"
#include "cpu/simd/cutter.h"
#include "kmer/minimizer.h"

namespace warpmer::cpu {

template <class Key, int Words>
struct KmerForm {
  using Counting = KmerCounting<Key, Words>;
  using Cutter = cpu::Cutter<Words>;

  static Cutter make_cutter(const Kernels& kernels, const backend::CountPlan& plan) {
    return Cutter(kernels, plan.kmers.k, plan.kmers.canonical, plan.reading.lenient);
  }
  static double mean_word_bytes(std::uint32_t k, double kmers) { return cpu::mean_word_bytes(k, kmers); }
  static WordSizes words(std::uint32_t k) {
    // Random minimizers change after half a window, on average.
    const double kmers = (minimizer_window(k) + 1) / 2.0;
    return {sizeof(SuperKmer<Words>), kmers, mean_word_bytes(k, kmers)};
  }
};

template <class Key, int Words>
class KmerSession : public ShardedSession<KmerForm<Key, Words>> {
  using Base = ShardedSession<KmerForm<Key, Words>>;

 public:
  using Base::Base;

  void finish(unsigned thread, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    auto& worker = this->worker(thread);
    Freezer& freezer = worker.count_scratch.counting.freezer();
    this->finish_shards(shard_done, [&](std::uint32_t shard) {
      index::FrozenShard frozen;
      std::optional<ShardSpill<Key>> spill;
      take(shard, thread, [&](const ShardPart<Key>& part) {
        this->note_kmers(thread, shard, part.size);
        const std::size_t kept = worker.tally.filter(part.keys, part.counts, part.size);
        if (part.is_all) {
          frozen = freezer.freeze(part.keys, part.counts, kept, sink.take_payload());
          return;
        }
        if (!spill) spill.emplace(shard_spill());
        spill->append(part.keys, part.counts, kept, freezer);
      });
      if (spill) frozen = spill->finish();
      sink(shard, std::move(frozen));
    });
  }

  /// Counts a shard, once, when the input is complete, and calls `use(part)` with its k-mers in canonical
  /// order: all at once, or one range of hashes after the other. Called concurrently like `finish`, of which
  /// it is a part.
  template <class Use>
  void take(std::uint32_t shard, unsigned thread, Use&& use) {
    this->count_shard(shard, thread,
                      [&](auto& in_hand, auto& counting) { counting.count_all(in_hand, use); });
  }

  /// Returns a place for a shard that is larger than memory; the session must live until that has been read.
  [[nodiscard]] ShardSpill<Key> shard_spill() {
    const auto [file, written_bytes] = this->shard_memory().spill_of_runs();
    return {this->kernels(), this->plan().kmers.k, file, written_bytes};
  }
};

}  // namespace warpmer::cpu
