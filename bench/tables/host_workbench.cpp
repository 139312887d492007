// The CPU as a workbench for tables.

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tables/host_threads.h"
#include "tables/table_lists.h"
#include "tables/workbench.h"

namespace warpmer::bench {
namespace {

unsigned threads_in_use = 1;

class HostWorkbench : public Workbench {
 public:
  [[nodiscard]] std::string device() const override {
    return "cpu (" + std::to_string(host_threads()) + " threads)";
  }
  [[nodiscard]] std::vector<TableEntry> tables() const override { return host_tables(); }
  [[nodiscard]] std::vector<AllocatorEntry> allocators() const override {
    return {kHostAllocators.begin(), kHostAllocators.end()};
  }
  [[nodiscard]] bool splits() const override { return false; }

  std::size_t make_pairs(const KeyPlan& plan) override {
    plan_ = plan;
    pairs_.resize(plan.pairs);
    const PairMaker maker(plan);
    for_each_on_host_threads(plan.pairs, [&](std::size_t i) { pairs_[i] = maker.pair(i); });
    if (plan.distribution == Distribution::unique) return plan.pairs;
    count_distinct();
    return distinct_.size();
  }
  Insertions insertions() override {
    totals_ = {};
    return {.pairs = pairs_.data(),
            .size = pairs_.size(),
            .distinct = plan_.distribution == Distribution::unique,
            .replaces = plan_.last_writer,
            .count_probes = false,
            .ahead = false,
            .split = false,
            .totals = &totals_};
  }
  Lookups make_queries(std::uint32_t hits_percent, std::size_t size) override {
    hits_percent_ = hits_percent;
    queries_.resize(size);
    const PairMaker maker(plan_);
    for_each_on_host_threads(queries_.size(),
                             [&](std::size_t i) { queries_[i] = maker.query(i, hits_percent); });
    return lookups();
  }
  Verdict judge_answers() override {
    const PairMaker maker(plan_);
    return judge([&](std::size_t i) { return maker.is_right(i, hits_percent_, queries_[i], answers_[i]); });
  }
  Lookups make_queries_of_distinct() override {
    queries_ = distinct_;
    return lookups();
  }
  Verdict judge_counts() override {
    return judge([&](std::size_t i) { return answers_[i] == counts_[i]; });
  }

  Operations make_operations(const MixPlan& plan, std::size_t first, std::size_t size) override {
    mix_ = plan;
    first_operation_ = first;
    operations_.resize(size);
    answers_.assign(size, kAbsent - 1);  // an answer that is none
    const MixMaker maker(plan);
    for_each_on_host_threads(size, [&](std::size_t i) { operations_[i] = maker.operation(first + i); });
    return {operations_.data(), size, answers_.data()};
  }
  Verdict judge_operations() override {
    const MixMaker maker(mix_);
    return judge([&](std::size_t i) { return maker.is_right(first_operation_ + i, answers_[i]); });
  }
  Lookups make_queries_after(const MixPlan& plan) override {
    mix_ = plan;
    const MixMaker maker(plan);
    queries_.resize(maker.keys());
    for (std::size_t i = 0; i < queries_.size(); ++i) queries_[i] = maker.key(i);
    return lookups();
  }
  Verdict judge_answers_after() override {
    const MixMaker maker(mix_);
    return judge([&](std::size_t i) { return maker.is_right_after(i, answers_[i]); });
  }
  Totals totals() override { return totals_; }
  double seconds_of(const std::function<void()>& work) override {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  Lookups lookups() {
    totals_ = {};
    answers_.assign(queries_.size(), kAbsent - 1);  // an answer that is none
    return {.keys = queries_.data(),
            .size = queries_.size(),
            .answers = answers_.data(),
            .count_probes = false,
            .ahead = false,
            .totals = &totals_};
  }
  template <class IsRight>
  Verdict judge(IsRight&& is_right) {
    Verdict verdict;
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      if (is_right(i)) continue;
      ++(answers_[i] == kAbsent ? verdict.lost : verdict.invented);
    }
    return verdict;
  }
  void count_distinct() {
    std::vector<Key32> keys(pairs_.size());
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = table::key_of(pairs_[i]);
    std::sort(keys.begin(), keys.end());
    distinct_.clear();
    counts_.clear();
    for (const Key32 key : keys) {
      if (distinct_.empty() || distinct_.back() != key) {
        distinct_.push_back(key);
        counts_.push_back(0);
      }
      ++counts_.back();
    }
  }

  KeyPlan plan_;
  std::uint32_t hits_percent_ = 100;
  std::vector<std::uint64_t> pairs_;
  std::vector<Key32> queries_, distinct_;
  std::vector<std::uint32_t> answers_, counts_;
  MixPlan mix_;
  std::size_t first_operation_ = 0;
  std::vector<Operation> operations_;
  Totals totals_{};
};

}  // namespace

void use_host_threads(unsigned threads) {
  threads_in_use = threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
}

unsigned host_threads() { return threads_in_use; }

void on_host_threads(std::size_t size, const std::function<void(std::size_t, std::size_t)>& work) {
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < threads_in_use; ++t)
    threads.emplace_back([&, t] { work(size * t / threads_in_use, size * (t + 1) / threads_in_use); });
  work(0, size / threads_in_use);
  for (std::thread& thread : threads) thread.join();
}

std::unique_ptr<Workbench> make_host_workbench(unsigned threads) {
  use_host_threads(threads);
  return std::make_unique<HostWorkbench>();
}

}  // namespace warpmer::bench
