#include "stats/linear_program.h"

#include <algorithm>
#include <cstddef>

namespace warpmer::stats {

namespace {

/// Numbers below this are what rounding leaves of 0; coefficients are about 1.
constexpr double kZero = 1e-11;
/// Amount that may be missing from a constraint in the end.
constexpr double kMissing = 1e-9;

/// Rows are equations between variables that are not negative; each has one variable, its own, that stands
/// in no other and is not 0 in the solution at hand.
class Tableau {
 public:
  Tableau(std::size_t columns, const std::vector<LinearConstraint>& constraints) : columns_(columns) {
    std::size_t slacks = 0;
    for (const LinearConstraint& constraint : constraints) slacks += constraint.low > 0 ? 2 : 1;
    first_artificial_ = columns + slacks;
    std::size_t slack = columns, artificial = first_artificial_;
    for (const LinearConstraint& constraint : constraints) {
      add_row(constraint, constraint.high, slack++, 1);
      if (constraint.low > 0) {
        std::vector<double>& row = add_row(constraint, constraint.low, slack++, -1);
        row.resize(artificial + 1);
        row[artificial] = 1;
        own_.back() = artificial++;
      }
    }
    width_ = artificial;
    for (std::vector<double>& row : rows_) row.resize(width_);
  }

  /// Makes what stands in for lower limits vanish; false if that cannot be.
  bool find_any() {
    std::vector<double> objective(width_);
    std::fill(objective.begin() + static_cast<std::ptrdiff_t>(first_artificial_), objective.end(), -1.0);
    if (!climb(objective, width_)) return false;
    double missing = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r) missing += own_[r] >= first_artificial_ ? values_[r] : 0;
    return missing <= kMissing;
  }

  /// Climbs from there; false if there is no top.
  bool find_best(std::vector<double> objective) {
    objective.resize(width_);
    return climb(objective, first_artificial_);
  }

  [[nodiscard]] std::vector<double> solution() const {
    std::vector<double> x(columns_);
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (own_[r] < columns_) x[own_[r]] = std::max(0.0, values_[r]);
    }
    return x;
  }

 private:
  static constexpr int kMostSteps = 20000, kStepsBeforeBland = 2000;

  std::vector<double>& add_row(const LinearConstraint& constraint, double value, std::size_t slack,
                               double sign) {
    std::vector<double>& row = rows_.emplace_back(constraint.coefficients);
    row.resize(slack + 1);
    row[slack] = sign;
    values_.push_back(value);
    own_.push_back(slack);
    return row;
  }

  /// Uses columns [0, end).
  bool climb(std::vector<double> gains, std::size_t end) {
    for (std::size_t r = 0; r < rows_.size(); ++r) subtract(gains, rows_[r], gains[own_[r]]);
    const double least_gain = kZero * std::max(1.0, *std::max_element(gains.begin(), gains.end()));
    for (int step = 0; step < kMostSteps; ++step) {
      std::size_t column = end;
      for (std::size_t c = 0; c < end; ++c) {
        if (gains[c] <= least_gain || (column < end && gains[c] <= gains[column])) continue;
        column = c;
        if (step >= kStepsBeforeBland) break;
      }
      if (column == end) return true;
      const std::size_t row = first_to_vanish(column);
      if (row == rows_.size()) return false;
      exchange(row, column);
      subtract(gains, rows_[row], gains[column]);
    }
    return true;  // as good as it gets: every step keeps the constraints
  }

  /// Returns the row whose own variable is the first to become 0 as the column's grows.
  [[nodiscard]] std::size_t first_to_vanish(std::size_t column) const {
    std::size_t best = rows_.size();
    double least = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const double slope = rows_[r][column];
      if (slope <= kZero) continue;
      const double ratio = values_[r] / slope;
      const bool is_less = best == rows_.size() || ratio < least - kZero;
      if (is_less || (ratio <= least + kZero && own_[r] < own_[best])) {
        best = r;
        least = ratio;
      }
    }
    return best;
  }

  void exchange(std::size_t row, std::size_t column) {
    const double pivot = rows_[row][column];
    for (double& value : rows_[row]) value /= pivot;
    values_[row] /= pivot;
    own_[row] = column;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (r == row) continue;
      const double factor = rows_[r][column];
      subtract(rows_[r], rows_[row], factor);
      values_[r] = std::max(0.0, values_[r] - factor * values_[row]);
    }
  }

  static void subtract(std::vector<double>& from, const std::vector<double>& row, double factor) {
    if (factor == 0) return;
    for (std::size_t c = 0; c < row.size(); ++c) from[c] -= factor * row[c];
  }

  std::size_t columns_, first_artificial_ = 0, width_ = 0;
  std::vector<std::vector<double>> rows_;
  std::vector<double> values_;    ///< values of each row's own variable
  std::vector<std::size_t> own_;  ///< its column
};

}  // namespace

std::optional<std::vector<double>> maximise(const std::vector<double>& objective,
                                            const std::vector<LinearConstraint>& constraints) {
  Tableau tableau(objective.size(), constraints);
  if (!tableau.find_any() || !tableau.find_best(objective)) return std::nullopt;
  return tableau.solution();
}

}  // namespace warpmer::stats
