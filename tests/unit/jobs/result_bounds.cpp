// The bounds of a set operation's counts, against all k-mers that there can be.
// ctest: one thread

#include "jobs/result_bounds.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <vector>

using namespace warpmer::backend;
using namespace warpmer::jobs;

namespace {

/// The count of a k-mer with these counts in the inputs (0: not there), if the result has it.
std::optional<std::uint64_t> count_of(const SetPlan& plan, const std::vector<std::uint64_t>& counts) {
  std::vector<std::uint64_t> there;
  for (const std::uint64_t count : counts) {
    if (count > 0) there.push_back(count);
  }
  if (there.empty()) return std::nullopt;
  std::uint64_t sum = 0;
  for (const std::uint64_t count : there) sum += count;
  switch (plan.rule.operation) {
    case SetOperation::unite:
      if (there.size() < plan.rule.min_samples) return std::nullopt;
      break;
    case SetOperation::intersect:
      if (there.size() < counts.size()) return std::nullopt;
      break;
    case SetOperation::subtract:
      if (counts[0] == 0) return std::nullopt;
      if (plan.rule.counts == CountRule::difference) {
        if (2 * counts[0] <= sum) return std::nullopt;
        return 2 * counts[0] - sum;
      }
      if (there.size() > 1) return std::nullopt;
      break;
    case SetOperation::symmetric_difference:
      if (there.size() > 1) return std::nullopt;
      break;
  }
  switch (plan.rule.counts) {
    case CountRule::sum:
      return sum;
    case CountRule::min:
      return *std::ranges::min_element(there);
    case CountRule::max:
      return *std::ranges::max_element(there);
    case CountRule::first:
      return there.front();
    case CountRule::last:
      return there.back();
    case CountRule::samples:
      return there.size();
    case CountRule::difference:
      break;
  }
  return std::nullopt;
}

/// Calls `visit` with the counts of every k-mer that inputs of these bounds can have.
template <class Visit>
void for_each_kmer(const std::vector<CountBounds>& inputs, std::vector<std::uint64_t>& counts,
                   const Visit& visit) {
  if (counts.size() == inputs.size()) return visit(counts);
  const CountBounds& bounds = inputs[counts.size()];
  counts.push_back(0);
  for_each_kmer(inputs, counts, visit);
  for (counts.back() = bounds.min; counts.back() <= bounds.max; ++counts.back())
    for_each_kmer(inputs, counts, visit);
  counts.pop_back();
}

void check_plan(const SetPlan& plan, const std::vector<CountBounds>& inputs) {
  std::uint64_t least = UINT64_MAX, most = 0;
  std::vector<std::uint64_t> counts;
  for_each_kmer(inputs, counts, [&](const std::vector<std::uint64_t>& kmer) {
    const auto count = count_of(plan, kmer);
    if (!count || !plan.rule.of_result.contains(*count)) return;
    least = std::min(least, *count);
    most = std::max(most, *count);
  });
  if (most == 0) return;  // nothing can be in it
  const CountBounds bounds = result_bounds(plan, inputs);
  CAPTURE(static_cast<int>(plan.rule.operation));
  CAPTURE(static_cast<int>(plan.rule.counts));
  CAPTURE(plan.rule.min_samples);
  for (const CountBounds& each : inputs) CAPTURE(each.min * 100 + each.max);
  CHECK(bounds.min <= least);
  CHECK(bounds.max >= most);
  // No more is promised than is true, and no less than can be, but that of a filter of the result which no
  // count may be equal to.
  if (plan.rule.of_result.contains_all()) {
    if (plan.rule.counts != CountRule::difference) CHECK(bounds.min == least);
    CHECK(bounds.max == most);
  }
}

void check_inputs(const std::vector<CountBounds>& inputs) {
  for (const CountBounds of_result : {CountBounds{}, CountBounds{2, 4}}) {
    const auto check_one = [&](SetOperation operation, CountRule rule, std::uint32_t samples) {
      check_plan({.rule = {operation, rule, samples, of_result}, .of_inputs = {}, .memory = {}}, inputs);
    };
    for (const CountRule rule : {CountRule::sum, CountRule::min, CountRule::max, CountRule::first,
                                 CountRule::last, CountRule::samples}) {
      for (std::uint32_t samples = 1; samples <= inputs.size(); ++samples)
        check_one(SetOperation::unite, rule, samples);
      check_one(SetOperation::intersect, rule, 1);
    }
    if (inputs.size() < 2) continue;
    check_one(SetOperation::subtract, CountRule::first, 1);
    check_one(SetOperation::subtract, CountRule::difference, 1);
    check_one(SetOperation::symmetric_difference, CountRule::first, 1);
  }
}

}  // namespace

TEST_CASE("the bounds of a result are the smallest and the largest count that it can have") {
  const CountBounds ranges[] = {{1, 1}, {1, 4}, {2, 3}, {3, 3}, {4, 7}};
  for (const CountBounds& one : ranges) {
    check_inputs({one});
    for (const CountBounds& two : ranges) {
      check_inputs({one, two});
      for (const CountBounds& three : ranges) check_inputs({one, two, three});
    }
  }
}

TEST_CASE("bounds at the largest count there is") {
  SetPlan plan;
  const CountBounds all, filtered{2, UINT64_MAX}, few{1, 3};
  const auto bounds = [&](std::vector<CountBounds> inputs) {
    const CountBounds result = result_bounds(plan, inputs);
    return std::pair(result.min, result.max);
  };
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  CHECK(bounds({all, all}) == Pair(1, UINT64_MAX));
  CHECK(bounds({filtered, all}) == Pair(1, UINT64_MAX));
  CHECK(bounds({filtered, filtered}) == Pair(2, UINT64_MAX));
  CHECK(bounds({few, few}) == Pair(1, 6));
  plan.rule.operation = SetOperation::intersect;
  CHECK(bounds({all, all}) == Pair(1, UINT64_MAX));  // nothing was filtered
  CHECK(bounds({filtered, filtered}) == Pair(4, UINT64_MAX));
  plan.rule.operation = SetOperation::subtract;
  plan.rule.counts = CountRule::difference;
  CHECK(bounds({filtered, all}) == Pair(1, UINT64_MAX));
  CHECK(bounds({{9, UINT64_MAX}, few, few}) == Pair(3, UINT64_MAX));
  plan.rule.of_result = {5, 2000};
  CHECK(bounds({all, all}) == Pair(5, 2000));
}
