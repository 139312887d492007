#include "engine/result_bounds.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace warpmer::engine {
namespace {

using Numbers = std::vector<std::uint64_t>;

std::uint64_t saturating_sum(std::span<const std::uint64_t> numbers) {
  std::uint64_t sum = 0;
  for (const std::uint64_t each : numbers) sum += std::min(each, UINT64_MAX - sum);
  return sum;
}

/// Of inputs of which any `samples`, or more, have a k-mer. `least` and `most` are the inputs' bounds, which
/// are in order of the inputs.
CountBounds united(CountRule rule, std::size_t samples, const Numbers& least, const Numbers& most) {
  const std::size_t inputs = least.size();
  Numbers rising = least, falling = most;
  std::sort(rising.begin(), rising.end());
  std::sort(falling.begin(), falling.end(), std::greater<>());
  const auto of_inputs = [&](std::size_t first, std::size_t end) {
    const auto at = [](const Numbers& numbers, std::size_t i) {
      return numbers.begin() + static_cast<std::ptrdiff_t>(i);
    };
    return CountBounds{*std::min_element(at(least, first), at(least, end)),
                       *std::max_element(at(most, first), at(most, end))};
  };
  switch (rule) {
    case CountRule::sum:
      return {saturating_sum(std::span(rising).first(samples)), saturating_sum(most)};
    case CountRule::min:
      return {rising.front(), falling[samples - 1]};
    case CountRule::max:
      return {rising[samples - 1], falling.front()};
    case CountRule::first:  // behind it there are others enough
      return of_inputs(0, inputs - samples + 1);
    case CountRule::last:
      return of_inputs(samples - 1, inputs);
    case CountRule::samples:
      return {samples, inputs};
    case CountRule::difference:
      break;  // of `subtract` only
  }
  return {};
}

CountBounds unfiltered_result(const SetPlan& plan, std::span<const CountBounds> inputs) {
  Numbers least, most;
  for (const CountBounds& each : inputs) {
    least.push_back(each.min);
    most.push_back(each.max);
  }
  switch (plan.operation) {
    case SetOperation::unite:
      return united(plan.counts, plan.min_samples, least, most);
    case SetOperation::intersect:
      return united(plan.counts, inputs.size(), least, most);
    case SetOperation::symmetric_difference:
      return united(CountRule::first, 1, least, most);
    case SetOperation::subtract:
      break;
  }
  if (plan.counts != CountRule::difference) return inputs.front();
  const std::uint64_t taken = saturating_sum(std::span(most).subspan(1));
  return {std::max(taken, least.front() - 1) - taken + 1, most.front()};
}

}  // namespace

CountBounds result_bounds(const SetPlan& plan, std::span<const CountBounds> inputs) {
  const bool is_all =
      std::all_of(inputs.begin(), inputs.end(), [](auto& each) { return each.contains_all(); });
  const CountBounds before = is_all ? CountBounds{} : unfiltered_result(plan, inputs);
  const std::uint64_t least = std::max(before.min, plan.of_result.min);
  return {least, std::max(least, std::min(before.max, plan.of_result.max))};
}

}  // namespace warpmer::engine
