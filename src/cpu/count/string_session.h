#pragma once
/// Counting into strings, in one of the ways of string_counting.h.

#include <cstdint>
#include <utility>
#include <vector>

#include "cpu/count/sharded_session.h"
#include "cpu/count/string_counting.h"
#include "cpu/simd/flanked_cutter.h"
#include "groups/group_shape.h"

namespace warpmer::cpu {

template <class Way>
struct StringForm {
  using Counting = StringCounting<Way>;
  using Cutter = FlankedCutter<Way::kWords>;

  static Cutter make_cutter(const Kernels& kernels, const backend::CountPlan& plan) {
    return Cutter(kernels, plan.kmers.k, plan.kmers.canonical, plan.reading.lenient);
  }
  static double mean_word_bytes(std::uint32_t k, double kmers) { return mean_flanked_bytes(k, kmers); }
  static WordSizes words(std::uint32_t k) {
    // Random minimizers change after half a window of n + 1, on average.
    const double kmers = (groups::GroupShape(k).flank_bases() + 2) / 2.0;
    return {sizeof(groups::FlankedWord<Way::kWords>), kmers, mean_word_bytes(k, kmers)};
  }
};

template <class Way>
class StringSession : public ShardedSession<StringForm<Way>> {
  using Base = ShardedSession<StringForm<Way>>;

 public:
  using Base::Base;

  void finish(unsigned thread, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    this->finish_shards(shard_done,
                        [&](std::uint32_t shard) { sink(shard, take(shard, thread, sink.take_payload())); });
  }

  /// Counts a shard, once, when the input is complete. Called concurrently like `finish`, of which it is a
  /// part. `spent` is a payload of no more use.
  index::FrozenShard take(std::uint32_t shard, unsigned thread, std::vector<std::uint64_t>&& spent = {}) {
    index::FrozenShard frozen;
    this->count_shard(shard, thread, [&](auto& in_hand, auto& counting) {
      TallyFilter filter(this->worker(thread).tally, this->plan().histogram_only);
      frozen = counting.count_all(in_hand, filter, std::move(spent));
      this->note_kmers(thread, shard, filter.kmers());
    });
    return frozen;
  }
};

}  // namespace warpmer::cpu
