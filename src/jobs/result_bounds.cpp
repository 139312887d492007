#include "jobs/result_bounds.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace warpmer::jobs {
namespace {

using Numbers = std::vector<std::uint64_t>;

std::uint64_t saturating_sum(std::span<const std::uint64_t> numbers) {
  std::uint64_t sum = 0;
  for (const std::uint64_t each : numbers) sum += std::min(each, UINT64_MAX - sum);
  return sum;
}

/// Returns the bounds for inputs of which any `samples`, or more, have a k-mer. `least` and `most` are the
/// inputs' bounds, which are in order of the inputs.
backend::CountBounds united(backend::CountRule rule, std::size_t samples, const Numbers& least,
                            const Numbers& most) {
  const std::size_t inputs = least.size();
  Numbers rising = least, falling = most;
  std::sort(rising.begin(), rising.end());
  std::sort(falling.begin(), falling.end(), std::greater<>());
  const auto of_inputs = [&](std::size_t first, std::size_t end) {
    const auto at = [](const Numbers& numbers, std::size_t i) {
      return numbers.begin() + static_cast<std::ptrdiff_t>(i);
    };
    return backend::CountBounds{*std::min_element(at(least, first), at(least, end)),
                                *std::max_element(at(most, first), at(most, end))};
  };
  switch (rule) {
    case backend::CountRule::sum:
      return {saturating_sum(std::span(rising).first(samples)), saturating_sum(most)};
    case backend::CountRule::min:
      return {rising.front(), falling[samples - 1]};
    case backend::CountRule::max:
      return {rising[samples - 1], falling.front()};
    case backend::CountRule::first:  // behind it there are others enough
      return of_inputs(0, inputs - samples + 1);
    case backend::CountRule::last:
      return of_inputs(samples - 1, inputs);
    case backend::CountRule::samples:
      return {samples, inputs};
    case backend::CountRule::difference:
      break;  // of `subtract` only
  }
  return {};
}

backend::CountBounds unfiltered_result(const backend::SetPlan& plan,
                                       std::span<const backend::CountBounds> inputs) {
  Numbers least, most;
  for (const backend::CountBounds& each : inputs) {
    least.push_back(each.min);
    most.push_back(each.max);
  }
  switch (plan.rule.operation) {
    case backend::SetOperation::unite:
      return united(plan.rule.counts, plan.rule.min_samples, least, most);
    case backend::SetOperation::intersect:
      return united(plan.rule.counts, inputs.size(), least, most);
    case backend::SetOperation::symmetric_difference:
      return united(backend::CountRule::first, 1, least, most);
    case backend::SetOperation::subtract:
      break;
  }
  if (plan.rule.counts != backend::CountRule::difference) return inputs.front();
  const std::uint64_t taken = saturating_sum(std::span(most).subspan(1));
  return {std::max(taken, least.front() - 1) - taken + 1, most.front()};
}

}  // namespace

backend::CountBounds result_bounds(const backend::SetPlan& plan,
                                   std::span<const backend::CountBounds> inputs) {
  const bool is_all =
      std::all_of(inputs.begin(), inputs.end(), [](auto& each) { return each.contains_all(); });
  const backend::CountBounds before = is_all ? backend::CountBounds{} : unfiltered_result(plan, inputs);
  const std::uint64_t least = std::max(before.min, plan.rule.of_result.min);
  return {least, std::max(least, std::min(before.max, plan.rule.of_result.max))};
}

}  // namespace warpmer::jobs
