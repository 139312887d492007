#include "tables/dynamic_experiments.h"

#include <algorithm>

namespace warpmer::bench {
namespace {

/// Batches after which rows are made, at most.
constexpr std::size_t kCheckpoints = 16;

Row row_of(Workbench& bench, const TableEntry& entry, const KeyPlan& keys, double load,
           const Method& method) {
  Row row;
  row.configuration = entry.configuration;
  row.device = bench.device();
  row.keys = keys;
  row.distinct = keys.pairs;
  row.load = load;
  row.method = method;
  row.method.count_probes = false;
  row.method.ahead = row.method.split = false;
  return row;
}

/// The range of a batch's pairs.
struct Step {
  std::size_t first, end;
  bool is_checkpoint;
};

std::vector<Step> steps(std::size_t pairs, std::size_t batch) {
  const std::size_t batches = (pairs + batch - 1) / batch;
  std::vector<Step> all;
  for (std::size_t i = 0; i < batches; ++i) {
    const bool is_checkpoint = (i + 1) * kCheckpoints / batches != i * kCheckpoints / batches;
    all.push_back({i * batch, std::min(pairs, (i + 1) * batch), is_checkpoint});
  }
  return all;
}

/// Verifies that the first `size` pairs are in a table, and no others.
void verify(Workbench& bench, TableUnderTest& table, std::size_t size, Row& row) {
  const Lookups job = bench.make_queries(50, size);
  table.find(job);
  table.collect(job);
  judge(bench.judge_answers(), row);
}

/// Inserts pairs, and says how long it took. `emptying`: the table is emptied before, as part of it.
double insert(Workbench& bench, TableUnderTest& table, const Step& step, bool emptying, Row& row) {
  Insertions job = bench.insertions();
  job.pairs += step.first;
  job.size = step.end - step.first;
  table.prepare(job);
  const double time = bench.seconds_of([&] {
    if (emptying) table.clear(row.method.seed);
    table.insert(job);
  });
  row.overflow += bench.totals().overflow;
  return time;
}

/// The row of a checkpoint: so many pairs are in the table.
Row at_checkpoint(Row row, const TableUnderTest& table, std::size_t pairs, double seconds,
                  const char* operation) {
  row.keys.pairs = row.distinct = pairs;
  describe(table, pairs, row);
  row.successes = row.method.builds;
  row.others = {{operation, {mops(pairs, seconds), -1}}};
  return row;
}

}  // namespace

std::vector<Row> run_batches(Workbench& bench, const TableEntry& entry, const KeyPlan& keys, double load,
                             std::size_t batch, const Method& method) {
  Row row = row_of(bench, entry, keys, load, method);
  row.batch = batch;
  const auto table = entry.make({keys.pairs, load, keys.pairs});
  const std::vector<Step> all = steps(keys.pairs, batch);
  std::vector<std::vector<double>> seconds(all.size());  // of each batch, in every build
  std::vector<Row> rows;
  // The first build warms up, and there is looked at what is in the table after each batch.
  for (std::uint32_t build = 0; build <= method.builds; ++build) {
    table->clear(method.seed + (build == 0 ? 0 : build - 1));
    row.overflow = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double time = insert(bench, *table, all[i], false, row);
      if (build > 0) seconds[i].push_back(time);
      if (build == 0) verify(bench, *table, all[i].end, row);
      if (build == method.builds && all[i].is_checkpoint)
        rows.push_back(at_checkpoint(row, *table, all[i].end, 1, "batches"));
    }
    table->finish();
    verify(bench, *table, keys.pairs, row);
  }
  double sum = 0;
  auto out = rows.begin();
  for (std::size_t i = 0; i < all.size(); ++i) {
    sum += median(seconds[i]);
    if (!all[i].is_checkpoint) continue;
    out->others[0].measured.mops = mops(all[i].end, sum);
    out->overflow = row.overflow;
    out->outcome = row.outcome;
    ++out;
  }
  return rows;
}

std::vector<Row> run_rebuilds(Workbench& bench, const TableEntry& entry, const KeyPlan& keys, double load,
                              std::size_t batch, const Method& method) {
  Row row = row_of(bench, entry, keys, load, method);
  row.batch = batch;
  row.method.builds = 1;
  std::vector<Row> rows;
  double sum = 0;
  for (const Step& step : steps(keys.pairs, batch)) {
    const auto table = entry.make({step.end, load, step.end});
    const Step whole{0, step.end, step.is_checkpoint};
    if (step.first == 0) insert(bench, *table, whole, true, row);
    row.overflow = 0;
    sum += insert(bench, *table, whole, true, row);
    table->finish();
    verify(bench, *table, step.end, row);
    if (step.is_checkpoint) rows.push_back(at_checkpoint(row, *table, step.end, sum, "rebuilds"));
  }
  for (Row& one : rows) one.outcome = std::max(one.outcome, row.outcome);
  return rows;
}

Row run_mix(Workbench& bench, const TableEntry& entry, const KeyPlan& keys, double load, const Mix& mix,
            const Method& method) {
  constexpr std::size_t kParts = 4;
  Row row = row_of(bench, entry, keys, load, method);
  row.mix = mix.name();
  const MixPlan plan{mix, keys.pairs, keys.pairs};
  const auto table = entry.make({keys.pairs, load, 2 * keys.pairs});
  std::vector<double> seconds;  // for each operation
  for (std::uint32_t build = 0; build < method.builds; ++build) {
    table->clear(method.seed + build);
    row.overflow = 0;
    insert(bench, *table, {0, keys.pairs, true}, false, row);
    if (build == 0) describe(*table, keys.pairs, row);
    for (std::size_t part = 0; part < kParts; ++part) {
      const std::size_t first = keys.pairs * part / kParts, end = keys.pairs * (part + 1) / kParts;
      if (first == end) continue;
      const Operations job = bench.make_operations(plan, first, end - first);
      const double time = bench.seconds_of([&] { table->serve(job); });
      if (part > 0) seconds.push_back(time / static_cast<double>(end - first));
      judge(bench.judge_operations(), row);
    }
    const Lookups after = bench.make_queries_after(plan);
    table->find(after);
    table->collect(after);
    judge(bench.judge_answers_after(), row);
    row.successes += row.overflow == 0 ? 1 : 0;
  }
  row.others = {{"mixed", {mops(1, median(seconds)), -1}}};
  return row;
}

Row run_allocations(Workbench& bench, const AllocatorEntry& entry, std::size_t requests,
                    const Method& method) {
  Row row;
  row.configuration = {
      .table = entry.name, .group = entry.group, .bucket = 32, .window = 0, .hashes = 2, .most_load = 1};
  row.device = bench.device();
  row.keys.pairs = row.distinct = requests;
  row.method = method;
  row.method.count_probes = row.method.ahead = row.method.split = false;
  const auto allocator = entry.make(requests);
  std::vector<double> taking, freeing;
  for (std::uint32_t round = 0; round <= method.builds; ++round) {
    const double time = bench.seconds_of([&] { allocator->allocate(requests); });
    const AllocatorAccount account = allocator->account();
    const double time_to_free = bench.seconds_of([&] { allocator->free(); });
    const bool is_right = account.refused == 0 && account.shared == 0 && account.taken == requests &&
                          allocator->account().taken == 0;
    if (!is_right) row.outcome = Outcome::wrong;
    row.overflow += account.refused;
    if (round == 0) continue;
    taking.push_back(time);
    freeing.push_back(time_to_free);
    row.successes += account.refused == 0 ? 1 : 0;
  }
  row.slots = allocator->units();
  row.load = static_cast<double>(requests) / static_cast<double>(row.slots);
  row.bytes_per_key = static_cast<double>(allocator->bytes()) / static_cast<double>(requests);
  row.utilization = row.load;
  row.others = {{"allocate", {mops(requests, median(taking)), -1}},
                {"free", {mops(requests, median(freeing)), -1}}};
  return row;
}

}  // namespace warpmer::bench
