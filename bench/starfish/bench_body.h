#pragma once
/// The experiments, on any device. `Device` has the types of its memory, and the tables there are:
///
///     using PagedTable;                              // table::PagedTable
///     template <class T> using Memory, HostMemory;   // arrays: made of a size; data(), size()
///     static void copy(T* to, const T* from, n);     // any way, begun
///     static void wait();
///     static std::vector<TableEntry> tables();

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "starfish/experiments.h"
#include "table/paged_table.h"
#include "tables/experiment.h"
#include "tables/keys.h"
#include "tables/table_under_test.h"

namespace warpmer::bench {

/// Returns a value that is not 0, because a value of 0 is none (table/child_table.h).
inline std::uint32_t starfish_value(Key32 key) { return value_of(key) + 1; }

/// A table that is built and asked from the host.
class StarfishSubject {
 public:
  virtual ~StarfishSubject() = default;
  virtual void build(const std::uint64_t* pairs, std::size_t n, bool fails) = 0;
  virtual void find(const Key32* keys, std::size_t n, std::uint32_t* answers) = 0;
  /// Fills in the facts about the table itself; `moved` is counted since it was made.
  virtual void describe(StarfishResult& result) = 0;
};

template <class Device>
class PagedSubject : public StarfishSubject {
 public:
  PagedSubject(const StarfishSetting& setting, std::uint32_t resident, std::size_t pairs, std::size_t queries,
               bool fails)
      : table_(plan(setting, resident, pairs, queries, fails)) {}

  void build(const std::uint64_t* pairs, std::size_t n, bool /*fails*/) override {
    table_.insert(pairs, n, true);
    table_.flush();
  }
  void find(const Key32* keys, std::size_t n, std::uint32_t* answers) override {
    table_.find(keys, n, answers);
  }
  void describe(StarfishResult& result) override {
    result.children = table_.children();
    result.moved = table_.paging();
    result.rebuild_bytes = table_.counts().rebuild_read + table_.counts().rebuild_written;
    result.table_bytes = table_bytes_;
    result.device_bytes = table_.storage().device_bytes();
  }

 private:
  table::PagedTablePlan plan(const StarfishSetting& setting, std::uint32_t resident, std::size_t pairs,
                             std::size_t queries, bool fails) {
    table::PagedTablePlan plan;
    plan.frames = resident;
    plan.frame_buckets = table::ChildShape::buckets_for(setting.child_pairs, setting.load);
    plan.children = static_cast<std::uint32_t>(pairs / setting.child_pairs + 1);
    plan.load = setting.load;
    plan.placement = table::Placement::by_arrival;
    const table::ChildShape shape{plan.frame_buckets, 0};
    plan.batch = resident * (shape.entries_at(setting.load) + 1);
    plan.query_batch = queries;
    plan.discarded = fails ? 1 : 0;
    table_bytes_ = resident * shape.template bytes<table::Key32>();
    return plan;
  }

  std::size_t table_bytes_ = 0;
  typename Device::PagedTable table_;
};

template <class Device>
class PlainSubject : public StarfishSubject {
 public:
  PlainSubject(const TableEntry& entry, std::size_t pairs, double load, std::size_t queries)
      : table_(entry.make({pairs, load, pairs})),
        pairs_(pairs),
        keys_(queries),
        answers_(queries),
        totals_(1) {
    table_->clear(1);
    const Totals none{};
    Device::copy(totals_.data(), &none, 1);
    Device::wait();
  }

  void build(const std::uint64_t* pairs, std::size_t n, bool fails) override {
    Device::copy(pairs_.data(), pairs, n);
    const Insertions job{.pairs = pairs_.data(),
                         .size = n,
                         .distinct = true,
                         .replaces = false,
                         .count_probes = false,
                         .ahead = false,
                         .split = false,
                         .totals = totals_.data()};
    table_->insert(job);
    if (fails) {
      table_->clear(2);
      table_->insert(job);
    }
    Device::wait();
  }
  void find(const Key32* keys, std::size_t n, std::uint32_t* answers) override {
    if (!is_finished_) table_->finish();
    is_finished_ = true;
    Device::copy(keys_.data(), keys, n);
    table_->find({.keys = keys_.data(),
                  .size = n,
                  .answers = answers_.data(),
                  .count_probes = false,
                  .ahead = false,
                  .totals = totals_.data()});
    Device::copy(answers, answers_.data(), n);
    Device::wait();
  }
  void describe(StarfishResult& result) override {
    result.table_bytes = table_->bytes();
    result.device_bytes = result.table_bytes + pairs_.size() * sizeof(std::uint64_t) +
                          (keys_.size() + answers_.size()) * sizeof(std::uint32_t);
  }

 private:
  std::unique_ptr<TableUnderTest> table_;
  typename Device::template Memory<std::uint64_t> pairs_;
  typename Device::template Memory<Key32> keys_;
  typename Device::template Memory<std::uint32_t> answers_;
  typename Device::template Memory<Totals> totals_;
  bool is_finished_ = false;
};

template <class Device>
class StarfishBenchOn : public StarfishBench {
 public:
  StarfishBenchOn(const StarfishSetting& setting, std::string device)
      : setting_(setting), device_(std::move(device)) {}

  [[nodiscard]] std::string device() const override { return device_; }

  StarfishResult build(const Contender& contender, std::size_t pairs, bool fails) override {
    make_pairs(pairs);
    StarfishResult result;
    std::vector<double> seconds;
    // The first build warms up.
    for (std::uint32_t round = 0; round <= setting_.rounds; ++round) {
      const auto subject = make(contender, pairs, pairs, fails);
      const double time = seconds_of([&] { subject->build(pairs_->data(), pairs, fails); });
      if (round > 0) seconds.push_back(time);
      if (round < setting_.rounds) continue;
      subject->describe(result);
      make_queries(pairs, pairs, true);
      subject->find(queries_->data(), pairs, answers_->data());
      result.wrong = judge(pairs);
    }
    result.seconds = median(seconds);
    return result;
  }

  StarfishResult query(const Contender& contender, std::size_t pairs, std::size_t span,
                       std::size_t queries) override {
    make_pairs(pairs);
    const auto subject = make(contender, pairs, queries, false);
    subject->build(pairs_->data(), pairs, false);
    make_queries(span, queries, false);
    StarfishResult result, before;
    std::vector<double> seconds;
    for (std::uint32_t round = 0; round <= setting_.rounds; ++round) {
      subject->describe(before);
      const double time = seconds_of([&] { subject->find(queries_->data(), queries, answers_->data()); });
      if (round > 0) seconds.push_back(time);
      result.wrong += judge(queries);
    }
    subject->describe(result);
    result.moved.visits -= before.moved.visits;
    result.moved.hits -= before.moved.hits;
    result.moved.fetches -= before.moved.fetches;
    result.moved.fetched_bytes -= before.moved.fetched_bytes;
    result.moved.write_backs -= before.moved.write_backs;
    result.moved.written_bytes -= before.moved.written_bytes;
    result.seconds = median(seconds);
    return result;
  }

 private:
  template <class T>
  using HostMemory = typename Device::template HostMemory<T>;

  [[nodiscard]] std::unique_ptr<StarfishSubject> make(const Contender& contender, std::size_t pairs,
                                                      std::size_t queries, bool fails) const {
    if (contender.table == "starfish")
      return std::make_unique<PagedSubject<Device>>(setting_, contender.resident, pairs, queries, fails);
    const double load = contender.table == "slab" ? setting_.slab_load : setting_.load;
    for (const TableEntry& entry : Device::tables()) {
      // A table of the same kind has buckets like those of partitions.
      const bool is_it =
          contender.table == entry.configuration.table &&
          (contender.table != "iceberg" ||
           (entry.configuration.bucket == table::kChildBucket && entry.configuration.group <= 8));
      if (is_it) return std::make_unique<PlainSubject<Device>>(entry, pairs, load, queries);
    }
    throw InternalError("there is no table of the name " + contender.table);
  }

  void make_pairs(std::size_t n) {
    if (pairs_ && pairs_->size() == n) return;
    pairs_.emplace(n);
    for (std::size_t i = 0; i < n; ++i) {
      const Key32 key = key_number(i);
      pairs_->data()[i] = table::word_of({key, starfish_value(key)});
    }
  }
  /// Makes queries for the first `span` keys: each once, or drawn.
  void make_queries(std::size_t span, std::size_t n, bool each) {
    if (!queries_ || queries_->size() != n) {
      queries_.emplace(n);
      answers_.emplace(n);
    }
    for (std::size_t i = 0; i < n; ++i) queries_->data()[i] = key_number(each ? i : mix64(i) % span);
  }
  /// Returns the number of wrong answers, and forgets the answers.
  std::uint64_t judge(std::size_t n) {
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i)
      wrong += std::exchange(answers_->data()[i], 0) == starfish_value(queries_->data()[i]) ? 0 : 1;
    return wrong;
  }
  template <class Work>
  static double seconds_of(Work&& work) {
    Device::wait();
    const auto begin = std::chrono::steady_clock::now();
    work();
    Device::wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  StarfishSetting setting_;
  std::string device_;
  std::optional<HostMemory<std::uint64_t>> pairs_;
  std::optional<HostMemory<Key32>> queries_;
  std::optional<HostMemory<std::uint32_t>> answers_;
};

}  // namespace warpmer::bench
