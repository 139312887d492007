// Insertions and lookups in a table that lies on several GPUs.

#include <cmath>
#include <vector>

#include "distributed/experiments.h"
#include "distributed/launch.cuh"
#include "kernels/tables/distributed_table.cuh"

namespace warpmer::bench {
namespace {

struct MakePair {
  PairMaker maker;
  std::uint64_t first;
  std::uint64_t* pairs;
  __device__ void operator()(std::size_t i) const { pairs[i] = maker.pair(first + i); }
};

struct MakeKey {
  PairMaker maker;
  std::uint64_t first;
  Key32* keys;
  __device__ void operator()(std::size_t i) const { keys[i] = maker.key(first + i); }
};

/// Counts how often each key comes, without a table.
struct CountNumber {
  PairMaker maker;
  std::uint32_t* times;
  __device__ void operator()(std::size_t i) const { atomicAdd(times + maker.number(i), 1u); }
};

struct CountDistinct {
  const std::uint32_t* times;
  unsigned long long* distinct;
  __device__ void operator()(std::size_t number) const {
    if (times[number] > 0) atomicAdd(distinct, 1ull);
  }
};

struct Judgement {
  unsigned long long lost, wrong;
};

/// Unique keys have values; others' were added up.
struct JudgeAnswer {
  PairMaker maker;
  std::uint64_t first;
  const std::uint32_t* times;  ///< null for unique keys
  const std::uint32_t* answers;
  Judgement* judgement;
  __device__ void operator()(std::size_t i) const {
    const std::uint64_t number = maker.number(first + i);
    const std::uint32_t right = times == nullptr ? value_of(key_number(number)) : times[number];
    if (answers[i] == right) return;
    atomicAdd(answers[i] == gpu::kNoValue ? &judgement->lost : &judgement->wrong, 1ull);
  }
};

/// The elements that one device brings: pairs; when they are in, the keys, and room for answers, in the same
/// memory.
class Bringer {
 public:
  Bringer(const KeyPlan& plan, std::uint64_t first, std::size_t size)
      : plan_(plan), first_(first), size_(size), on_device_(size), judgement_(1) {
    if (plan.distribution == Distribution::unique) return;
    times_.reserve(plan.universe);
    gpu::fill_bytes(times_.data(), 0, times_.size(), stream_);
    for_each_number("counting keys", plan.pairs, CountNumber{PairMaker(plan), times_.data()}, stream_);
  }

  /// Keys that come at all.
  std::size_t count_distinct() {
    if (times_.size() == 0) return plan_.pairs;
    unsigned long long distinct = 0;
    const gpu::DeviceArray<unsigned long long> count(1);
    gpu::fill_bytes(count.data(), 0, 1, stream_);
    for_each_number("counting keys", times_.size(), CountDistinct{times_.data(), count.data()}, stream_);
    gpu::copy_to_host(&distinct, count.data(), 1, stream_);
    stream_.wait();
    return distinct;
  }

  gpu::DeviceElements<std::uint64_t> bring_pairs(bool from_host) {
    for_each_number("making pairs", size_, MakePair{PairMaker(plan_), first_, on_device_.data()}, stream_);
    return {hand_out(from_host), size_};
  }
  gpu::DeviceElements<Key32> bring_keys(bool from_host) {
    for_each_number("making keys", size_, MakeKey{PairMaker(plan_), first_, keys_in(on_device_.data())},
                    stream_);
    gpu::fill_bytes(answers_in(on_device_.data()), 0xA5, size_, stream_);
    return {keys_in(hand_out(from_host)), size_};
  }
  [[nodiscard]] std::uint32_t* answers(bool from_host) {
    return answers_in(from_host ? on_host_.data() : on_device_.data());
  }

  /// Judges the answers, and forgets them.
  Judgement judge(bool from_host) {
    std::uint32_t* const given = answers_in(on_device_.data());
    if (from_host) gpu::copy_to_device(given, answers_in(on_host_.data()), size_, stream_);
    gpu::fill_bytes(judgement_.data(), 0, 1, stream_);
    for_each_number("judging answers", size_,
                    JudgeAnswer{PairMaker(plan_), first_, times_.data(), given, judgement_.data()}, stream_);
    Judgement judgement{};
    gpu::copy_to_host(&judgement, judgement_.data(), 1, stream_);
    gpu::fill_bytes(given, 0xA5, size_, stream_);
    if (from_host) gpu::copy_to_host(answers_in(on_host_.data()), given, size_, stream_);
    stream_.wait();
    return judgement;
  }

 private:
  static Key32* keys_in(std::uint64_t* data) { return reinterpret_cast<Key32*>(data); }
  [[nodiscard]] std::uint32_t* answers_in(std::uint64_t* data) const { return keys_in(data) + size_; }

  /// Is called when the array has been made.
  std::uint64_t* hand_out(bool from_host) {
    if (from_host) {
      on_host_.reserve(size_);
      gpu::copy_to_host(on_host_.data(), on_device_.data(), size_, stream_);
    }
    stream_.wait();
    return from_host ? on_host_.data() : on_device_.data();
  }

  KeyPlan plan_;
  std::uint64_t first_;
  std::size_t size_;
  gpu::Stream stream_;
  gpu::DeviceArray<std::uint64_t> on_device_;
  gpu::PinnedArray<std::uint64_t> on_host_;
  gpu::DeviceArray<std::uint32_t> times_;
  gpu::DeviceArray<Judgement> judgement_;
};

CascadeOperation median_of(const std::vector<gpu::CascadeTimes>& rounds) {
  CascadeOperation operation;
  std::vector<double> seconds;
  for (const gpu::CascadeTimes& round : rounds) seconds.push_back(round.seconds);
  operation.seconds = median(seconds);
  for (std::size_t stage = 0; stage < gpu::kStages; ++stage) {
    std::vector<double> of_stage;
    for (const gpu::CascadeTimes& round : rounds) of_stage.push_back(round.stages[stage]);
    operation.stages.emplace_back(gpu::name_of(static_cast<gpu::BatchStage>(stage)), median(of_stage));
  }
  return operation;
}

class CascadeBench {
 public:
  explicit CascadeBench(const CascadeSetting& setting) : setting_(setting) {
    const std::size_t devices = setting.ordinals.size();
    bringers_.reserve(devices);
    for (std::size_t device = 0; device < devices; ++device) {
      const std::uint64_t first = setting.keys.pairs * device / devices;
      const std::uint64_t end = setting.keys.pairs * (device + 1) / devices;
      bringers_.emplace_back(setting.ordinals[device], setting.keys, first, end - first);
    }
    const gpu::CurrentDevice current(bringers_[0].ordinal());
    distinct_ = bringers_[0]->count_distinct();
  }

  CascadeResult run(bool from_host, std::uint32_t pipelines) {
    gpu::DistributedTablePlan plan{.ordinals = setting_.ordinals,
                                   .slots = slots_of_each(),
                                   .batch = setting_.batch,
                                   .pipelines = pipelines,
                                   .route = setting_.through_host ? gpu::Route::host : gpu::Route::direct};
    gpu::DistributedTable table(plan);
    CascadeResult result{};
    result.from_host = from_host;
    result.pipelines = pipelines;
    result.through_host = table.goes_through_host();
    result.distinct = distinct_;
    result.slots = table.slots();
    insert(table, from_host, result);
    find(table, from_host, result);
    return result;
  }

 private:
  /// Keys fall to devices by chance: there is room for one that gets six standard deviations more than the
  /// mean.
  [[nodiscard]] std::size_t slots_of_each() const {
    const auto devices = static_cast<double>(setting_.ordinals.size());
    const double mean = static_cast<double>(distinct_) / devices;
    const double spread = devices > 1 ? 6 * std::sqrt(mean) : 0;
    return static_cast<std::size_t>(std::ceil((mean + spread) / setting_.load));
  }

  void insert(gpu::DistributedTable& table, bool from_host, CascadeResult& result) {
    std::vector<gpu::DeviceElements<std::uint64_t>> pairs;
    for_each([&](Bringer& bringer) { pairs.push_back(bringer.bring_pairs(from_host)); });
    std::vector<gpu::CascadeTimes> rounds;
    for (std::uint32_t round = 0; round < setting_.rounds; ++round) {
      if (round > 0) table.clear();
      rounds.push_back(table.insert(pairs, side(from_host)));
      result.overflow += table.overflow();
    }
    result.insert = median_of(rounds);
  }

  void find(gpu::DistributedTable& table, bool from_host, CascadeResult& result) {
    std::vector<gpu::DeviceElements<Key32>> keys;
    std::vector<std::uint32_t*> answers;
    for_each([&](Bringer& bringer) {
      keys.push_back(bringer.bring_keys(from_host));
      answers.push_back(bringer.answers(from_host));
    });
    std::vector<gpu::CascadeTimes> rounds;
    for (std::uint32_t round = 0; round < setting_.rounds; ++round) {
      rounds.push_back(table.find(keys, answers, side(from_host)));
      for_each([&](Bringer& bringer) {
        const Judgement judgement = bringer.judge(from_host);
        result.lost += judgement.lost;
        result.wrong += judgement.wrong;
      });
    }
    result.find = median_of(rounds);
  }

  static gpu::Side side(bool from_host) { return from_host ? gpu::Side::host : gpu::Side::device; }

  template <class Work>
  void for_each(Work&& work) {
    for (gpu::OnOneDevice<Bringer>& bringer : bringers_) {
      const gpu::CurrentDevice current(bringer.ordinal());
      work(*bringer);
    }
  }

  const CascadeSetting& setting_;
  std::vector<gpu::OnOneDevice<Bringer>> bringers_;
  std::size_t distinct_;
};

}  // namespace

void run_cascades(const CascadeSetting& setting, const std::function<void(const CascadeResult&)>& keep) {
  CascadeBench bench(setting);
  for (const bool from_host : setting.from_host) {
    for (const std::uint32_t pipelines : setting.pipelines) keep(bench.run(from_host, pipelines));
  }
}

}  // namespace warpmer::bench
