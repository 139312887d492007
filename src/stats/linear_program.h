#pragma once
/// Small linear programs: some dozens of rows and columns, dense, solved in well under a millisecond each.

#include <optional>
#include <vector>

namespace warpmer::stats {

/// low <= sum of coefficients[i] * x[i] <= high, where 0 <= high; as many coefficients as there are x.
struct LinearConstraint {
  std::vector<double> coefficients;
  double low = 0;
  double high = 0;
};

/// Returns the x >= 0 that keeps all constraints and has the largest sum of objective[i] * x[i], by the
/// simplex method (Dantzig 1951; two phases, Bland's rule once it may be going round in circles). Nothing if
/// no x keeps them, or the sum has no limit.
std::optional<std::vector<double>> maximise(const std::vector<double>& objective,
                                            const std::vector<LinearConstraint>& constraints);

}  // namespace warpmer::stats
