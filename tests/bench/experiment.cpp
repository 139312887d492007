// That an experiment notices a table that is wrong.

#include "tables/experiment.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "tables/table_lists.h"

using namespace warpmer;
using namespace warpmer::bench;

namespace {

/// What a table does besides what it should.
using Mischief = std::function<void(const Lookups&)>;
Mischief mischief;
std::uint64_t keys_given_back = 0;  ///< that it says to have no place for

/// A table that changes answers after they were given.
class Liar : public TableUnderTest {
 public:
  explicit Liar(std::unique_ptr<TableUnderTest> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] std::size_t slots() const override { return inner_->slots(); }
  [[nodiscard]] std::size_t bytes() const override { return inner_->bytes(); }
  void clear(std::uint32_t seed) override { inner_->clear(seed); }
  void insert(const Insertions& job) override {
    inner_->insert(job);
    job.totals->homeless += keys_given_back;
  }
  bool finish() override { return inner_->finish(); }
  void find(const Lookups& job) override {
    inner_->find(job);
    mischief(job);
  }

 private:
  std::unique_ptr<TableUnderTest> inner_;
};

TableEntry honest() { return kHostWordTables[0]; }
std::unique_ptr<TableUnderTest> make_liar(const TablePlan& plan) {
  return std::make_unique<Liar>(honest().make(plan));
}

/// What an experiment says of it. `change` is done to the answers of lookups.
Outcome outcome_of(Distribution distribution, std::uint64_t given_back, Mischief change) {
  mischief = std::move(change);
  keys_given_back = given_back;
  const auto bench = make_host_workbench(2);
  KeyPlan keys;
  keys.distribution = distribution;
  keys.pairs = 2000;
  keys.universe = distribution == Distribution::unique ? 2000 : 300;
  const std::size_t distinct = bench->make_pairs(keys);
  TableEntry entry = honest();
  entry.make = make_liar;
  return run_experiment(*bench, entry, keys, distinct, 0.7, {}).outcome;
}

void nothing(const Lookups& /*job*/) {}

}  // namespace

TEST_CASE("an honest table is right") {
  for (const auto distribution : {Distribution::unique, Distribution::uniform, Distribution::zipf})
    CHECK(outcome_of(distribution, 0, nothing) == Outcome::right);
}

TEST_CASE("a value that is wrong, a key that is invented or lost, an answer that is missing") {
  const auto wrong_value = [](const Lookups& job) {
    if (job.answers[77] != kAbsent) job.answers[77] ^= 1;
  };
  const auto invented = [](const Lookups& job) {
    for (std::size_t i = 0; i < job.size; ++i) {
      if (job.answers[i] == kAbsent) job.answers[i] = value_of(job.keys[i]);
    }
  };
  const auto lost = [](const Lookups& job) { job.answers[5] = kAbsent; };
  const auto missing = [](const Lookups& job) { job.answers[job.size - 1] = kAbsent - 1; };
  CHECK(outcome_of(Distribution::unique, 0, wrong_value) == Outcome::wrong);
  CHECK(outcome_of(Distribution::unique, 0, invented) == Outcome::wrong);
  CHECK(outcome_of(Distribution::unique, 0, lost) == Outcome::wrong);
  CHECK(outcome_of(Distribution::unique, 0, missing) == Outcome::wrong);
  // Counts are looked at one by one.
  CHECK(outcome_of(Distribution::zipf, 0, wrong_value) == Outcome::wrong);
  CHECK(outcome_of(Distribution::zipf, 0, invented) == Outcome::wrong);
}

TEST_CASE("keys that had no place may be missing, as many as were named") {
  const auto lose = [](std::size_t n) {
    return [n](const Lookups& job) {
      std::size_t left = n;
      for (std::size_t i = 0; i < job.size && left > 0; ++i) {
        if (job.answers[i] == kAbsent) continue;
        job.answers[i] = kAbsent;
        --left;
      }
    };
  };
  CHECK(outcome_of(Distribution::unique, 3, lose(3)) == Outcome::incomplete);
  CHECK(outcome_of(Distribution::unique, 3, lose(4)) == Outcome::wrong);
}

TEST_CASE("keys are different, values are no marks, and Zipf's ranks are as frequent as he says") {
  std::map<Key32, int> keys;
  for (std::uint64_t i = 0; i < 100000; ++i) keys[key_number(i)] += 1;
  CHECK(keys.size() == 100000);
  for (std::uint64_t i = 0; i < 1000; ++i) CHECK(value_of(key_number(i)) < kAbsent / 2 + 1);
  constexpr std::size_t kDraws = 400000, kRanks = 1000;
  const ZipfRanks ranks(kRanks, kZipfExponent);
  std::vector<double> times(kRanks);
  for (std::size_t i = 0; i < kDraws; ++i) times.at(ranks(i)) += 1;
  double sum = 0;
  for (std::size_t r = 1; r <= kRanks; ++r) sum += std::pow(r, -kZipfExponent);
  double chi_squared = 0;
  for (std::size_t r = 1; r <= kRanks; ++r) {
    const double expected = kDraws * std::pow(r, -kZipfExponent) / sum;
    chi_squared += (times[r - 1] - expected) * (times[r - 1] - expected) / expected;
  }
  // 999 degrees of freedom: beyond this once in 10^6 draws of the seed, which is fixed.
  CHECK(chi_squared < 1220);
}
