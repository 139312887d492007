#pragma once
/// Counting for k <= 12: an array of 4^k counters.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/backend.h"
#include "cpu/count/stage_times.h"
#include "cpu/simd/stretch_finder.h"

namespace warpmer::cpu {

/// Threads count k-mers as read into as many copies of the array as memory allows (up to one each).
class DenseSession : public backend::CountingSession {
 public:
  DenseSession(const Kernels& kernels, const backend::CountPlan& plan);

  /// Forecasts what a session with this plan is going to hold.
  static backend::SessionForecast forecast(const backend::CountPlan& plan);

  std::uint64_t add(io::Batch& batch, unsigned thread) override;
  std::uint64_t end_of_input(unsigned /*thread*/) override { return 0; }
  void finish(unsigned thread, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override;
  [[nodiscard]] backend::Tally tally() const override { return tally_; }
  [[nodiscard]] backend::SessionReport report() const override;

  /// Returns the occurrences of every k-mer as read, when the input is complete.
  [[nodiscard]] std::vector<std::uint64_t> sums() const;

 private:
  struct CounterCopy {
    explicit CounterCopy(std::size_t kmers) : counts(kmers) {}
    std::vector<std::uint32_t> counts;
    std::mutex mutex;                    ///< for `carries`
    std::vector<std::uint32_t> carries;  ///< k-mers whose counter passed 2^32, once for each time
  };

  backend::CountPlan plan_;
  std::vector<std::unique_ptr<CounterCopy>> copies_;
  std::vector<StretchFinder> finders_;
  std::vector<StageTimes> times_;  ///< by thread
  backend::Tally tally_;
};

}  // namespace warpmer::cpu
