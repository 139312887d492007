#include "tables/experiment.h"

#include <algorithm>

namespace warpmer::bench {
namespace {

class Experiment {
 public:
  Experiment(Workbench& bench, const TableEntry& entry, Row& row) : bench_(bench), row_(row) {
    table_ = entry.make({row.distinct, row.load, row.keys.pairs});
  }

  void run() {
    build();
    describe(*table_, row_.configuration.keeps_repeats ? row_.keys.pairs : row_.distinct, row_);
    row_.find.resize(row_.method.hits_percent.size());
    for (std::size_t i = 0; i < row_.find.size(); ++i) ask(row_.method.hits_percent[i], row_.find[i]);
    if (row_.keys.distribution != Distribution::unique && !row_.keys.last_writer) check_counts();
    if (row_.method.count_probes && row_.configuration.counts_probes) count_probes();
  }

 private:
  Insertions insertions() {
    Insertions job = bench_.insertions();
    job.ahead = row_.method.ahead;
    job.split = row_.method.split;
    return job;
  }

  void build() {
    std::vector<double> seconds;
    // The first build warms up: it is done again.
    for (std::uint32_t i = 0; i <= row_.method.builds; ++i) {
      table_->clear(row_.method.seed + (i == 0 ? 0 : i - 1));
      const Insertions job = insertions();
      table_->prepare(job);
      const double time = bench_.seconds_of([&] { table_->insert(job); });
      row_.overflow = bench_.totals().overflow;
      const bool is_success = table_->finish() && row_.overflow == 0;
      if (i == 0) continue;
      seconds.push_back(time);
      row_.successes += is_success ? 1 : 0;
    }
    row_.insert.mops = mops(row_.keys.pairs, median(seconds));
  }

  void ask(std::uint32_t hits_percent, Measured& measured) {
    std::vector<double> seconds;
    for (std::uint32_t i = 0; i <= row_.method.rounds; ++i) {
      Lookups job = bench_.make_queries(hits_percent, row_.keys.pairs);
      job.ahead = row_.method.ahead;
      const double time = bench_.seconds_of([&] { table_->find(job); });
      if (i > 0) seconds.push_back(time);
      table_->collect(job);
      judge(bench_.judge_answers(), row_);
    }
    measured.mops = mops(row_.keys.pairs, median(seconds));
  }

  void check_counts() {
    const Lookups job = bench_.make_queries_of_distinct();
    table_->find(job);
    table_->collect(job);
    judge(bench_.judge_counts(), row_);
  }

  /// A build and lookups on tiles that count. Repeated keys are inserted in other ways, whose probes no paper
  /// reports.
  void count_probes() {
    const auto per_operation = [&] {
      return static_cast<double>(bench_.totals().probes) / static_cast<double>(row_.keys.pairs);
    };
    if (row_.keys.distribution == Distribution::unique) {
      table_->clear(row_.method.seed);
      Insertions job = insertions();
      job.count_probes = true;
      table_->insert(job);
      row_.insert.probes = per_operation();
      row_.overflow = std::max<std::uint64_t>(row_.overflow, bench_.totals().overflow);
      table_->finish();
    }
    for (std::size_t i = 0; i < row_.find.size(); ++i) {
      Lookups job = bench_.make_queries(row_.method.hits_percent[i], row_.keys.pairs);
      job.count_probes = true;
      table_->find(job);
      row_.find[i].probes = per_operation();
      judge(bench_.judge_answers(), row_);
    }
  }

  Workbench& bench_;
  Row& row_;
  std::unique_ptr<TableUnderTest> table_;
};

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double mops(std::size_t operations, double seconds) {
  return static_cast<double>(operations) / seconds / 1e6;
}

void describe(const TableUnderTest& table, std::size_t elements, Row& row) {
  const auto held = static_cast<double>(elements), bytes = static_cast<double>(table.bytes());
  row.slots = table.slots();
  row.load = held / static_cast<double>(row.slots);
  row.bytes_per_key = bytes / held;
  row.utilization = row.configuration.element_bytes * held / bytes;
}

void judge(const Verdict& verdict, Row& row) {
  const bool lost = verdict.lost > 0;
  if (verdict.invented > 0 || (lost && row.overflow == 0) ||
      (row.keys.distribution == Distribution::unique && verdict.lost > row.overflow))
    row.outcome = Outcome::wrong;
  if (lost && row.outcome == Outcome::right) row.outcome = Outcome::incomplete;
}

Row run_experiment(Workbench& bench, const TableEntry& entry, const KeyPlan& keys, std::size_t distinct,
                   double load, const Method& method) {
  Row row;
  row.configuration = entry.configuration;
  row.device = bench.device();
  row.keys = keys;
  row.method = method;
  row.method.ahead = method.ahead && entry.configuration.has_first_bucket;
  row.method.split = method.split && entry.configuration.has_first_bucket && bench.splits();
  row.distinct = distinct;
  row.load = load;
  Experiment(bench, entry, row).run();
  return row;
}

}  // namespace warpmer::bench
