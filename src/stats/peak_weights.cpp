#include "stats/peak_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace warpmer::stats {

namespace {

/// So near to a foreign peak (in standard deviations of it), there are no repeats.
constexpr double kForeignAlone = 2;

/// Genomes are such; see docs/spectrum.md. Of all places, at least so many have the same k-mer on all
/// haplotypes.
double least_homozygous(unsigned ploidy) { return ploidy == 1 ? 1 : ploidy == 2 ? 0.2 : 0.1; }

/// Returns the sum of products: in four parts, because a compiler may not change the order of one sum.
double dot(const double* a, const double* b, std::size_t n) {
  std::array<double, 4> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= n; i += sums.size()) {
    for (std::size_t part = 0; part < sums.size(); ++part) sums[part] += a[i + part] * b[i + part];
  }
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

double most_repeats(unsigned ploidy, std::size_t copies) {
  const std::size_t of_one = (copies + ploidy - 1) / ploidy;
  const double fewer = std::pow(static_cast<double>(of_one) - 1, -1.5);
  return copies % ploidy == 0 ? 0.3 * fewer : 0.1 / ploidy * fewer;
}

Products::Products(const SpectrumBins& bins, const Curves& curves, const std::vector<double>& variances)
    : n(curves.number()), of_curves(n * n, 0), with_data(n, 0) {
  std::vector<double> inverses(curves.bins), weighed(curves.bins);
  for (std::size_t b = 0; b < curves.bins; ++b) inverses[b] = 1 / variances[b];
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t first = curves.first[i], last = curves.last[i];
    const double* const curve = curves.from(i, first);
    for (std::size_t b = first; b < last; ++b) weighed[b] = curve[b - first] * inverses[b];
    with_data[i] = dot(weighed.data() + first, bins.kmers.data() + first, last - first);
    for (std::size_t j = i; j < n; ++j) {
      const std::size_t begin = std::max(first, curves.first[j]), end = std::min(last, curves.last[j]);
      if (begin >= end) continue;
      of_curves[i * n + j] = of_curves[j * n + i] =
          dot(weighed.data() + begin, curves.from(j, begin), end - begin);
    }
  }
}

void Products::mix(std::size_t i, double own, std::size_t j, double other) {
  with_data[i] = own * with_data[i] + other * with_data[j];
  for (std::size_t c = 0; c < n; ++c)
    of_curves[i * n + c] = own * of_curves[i * n + c] + other * of_curves[j * n + c];
  for (std::size_t r = 0; r < n; ++r)
    of_curves[r * n + i] = own * of_curves[r * n + i] + other * of_curves[r * n + j];
}

WeightFit::WeightFit(const SpectrumBins& bins, const Curves& curves, unsigned ploidy,
                     const std::optional<ForeignPeak>& foreign, double unit)
    : bins_(bins),
      curves_(curves),
      ploidy_(ploidy),
      has_foreign_(foreign.has_value()),
      weights_(curves.number(), 0),
      kmers_(curves.number(), 0) {
  for (std::size_t i = ploidy; i < curves.copies.size(); ++i) {
    double most = 0;
    for (std::size_t copies = curves.copies[i - 1] + 1; copies <= curves.copies[i]; ++copies) {
      const double from_foreign = foreign ? std::abs(static_cast<double>(copies) * unit - foreign->mean) /
                                                std::sqrt(foreign->mean * (1 + foreign->dispersion))
                                          : HUGE_VAL;
      if (from_foreign > kForeignAlone) most += most_repeats(ploidy, copies);
    }
    most_repeats_.push_back(most);
  }
}

void WeightFit::run(const Products& products, int rounds, int most_sweeps) {
  descend(products, most_sweeps);
  make_model();
  std::vector<double> variances(model_.size());
  for (int round = 1; round < rounds; ++round) {
    for (std::size_t b = 0; b < variances.size(); ++b) variances[b] = std::max(0.5, model_[b]);
    descend(Products(bins_, curves_, variances), most_sweeps);
    make_model();
  }
}

double WeightFit::log_likelihood() const {
  double sum = 0;
  for (std::size_t b = 0; b < model_.size(); ++b) {
    const double y = bins_.kmers[b], mu = std::max(1e-6, model_[b]);
    sum += y > 0 ? y - mu - y * std::log(y / mu) : -mu;
  }
  return sum;
}

double WeightFit::chi_square() const {
  double sum = 0, used = 0;
  for (std::size_t b = 0; b < model_.size(); ++b) {
    sum += std::pow(bins_.kmers[b] - model_[b], 2) / std::max(1.0, model_[b]);
    used += model_[b] >= 1 ? 1 : 0;
  }
  return sum / std::max(1.0, used - ploidy_ - 4);
}

std::vector<double> WeightFit::excess() const {
  std::vector<double> excess(model_.size());
  for (std::size_t b = 0; b < model_.size(); ++b) excess[b] = bins_.kmers[b] - model_[b];
  return excess;
}

double WeightFit::explained() const {
  double off = 0;
  for (std::size_t b = 0; b < model_.size(); ++b) off += std::abs(bins_.kmers[b] - model_[b]);
  return bins_.all > 0 ? std::max(0.0, 1 - off / bins_.all) : 0;
}

double WeightFit::brought() const { return least_homozygous(ploidy_); }

/// Returns the k-mers of i copies by place.
double WeightFit::own_share(unsigned i) const {
  return (1 - brought()) * static_cast<double>(ploidy_) / static_cast<double>(i);
}

double WeightFit::places() const {
  double sum = 0;
  for (unsigned i = 0; i < ploidy_; ++i) sum += weights_[i];
  return sum;
}

double WeightFit::most(std::size_t part, double places) const {
  if (part < ploidy_) return HUGE_VAL;
  if (part < curves_.copies.size()) return places * most_repeats_[part - ploidy_];
  return has_foreign_ && part + 1 == weights_.size() ? places : HUGE_VAL;
}

/// Moves one weight after the other, within its bounds, until none moves. What the weights leave of each
/// curve's product with the data is kept: most weights are 0 and stay so, which costs a look each.
void WeightFit::descend(Products products, int most_sweeps) {
  for (unsigned i = 1; i < ploidy_; ++i) products.mix(i - 1, own_share(i), ploidy_ - 1, brought());
  const std::size_t n = weights_.size();
  std::vector<double> rest = std::move(products.with_data);
  const auto move = [&](std::size_t i, double by) {
    const double* const row = products.of_curves.data() + i * n;
    for (std::size_t j = 0; j < n; ++j) rest[j] -= row[j] * by;
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (weights_[i] != 0) move(i, weights_[i]);
  }
  for (int round = 0; round < most_sweeps; ++round) {
    double moved = 0, sum = 0;
    const double of_genome = round == 0 && model_.empty() ? HUGE_VAL : places();
    for (std::size_t i = 0; i < n; ++i) {
      const double own = products.of_curves[i * n + i], limit = most(i, of_genome);
      if (!(own > 0) || std::isnan(limit)) continue;
      const double next = std::clamp(weights_[i] + rest[i] / own, 0.0, limit), by = next - weights_[i];
      sum += next;
      if (by == 0) continue;
      moved += std::abs(by);
      weights_[i] = next;
      move(i, by);
    }
    if (moved <= 1e-6 * sum) break;
  }
}

void WeightFit::make_model() {
  kmers_ = weights_;
  for (unsigned i = 1; i < ploidy_; ++i) {
    kmers_[ploidy_ - 1] += brought() * weights_[i - 1];
    kmers_[i - 1] = own_share(i) * weights_[i - 1];
  }
  model_.assign(curves_.bins, 0);
  for (std::size_t i = 0; i < kmers_.size(); ++i) {
    if (kmers_[i] <= 0) continue;
    const double* value = curves_.from(i, curves_.first[i]);
    for (std::size_t b = curves_.first[i]; b < curves_.last[i]; ++b) model_[b] += kmers_[i] * *value++;
  }
}

}  // namespace warpmer::stats
