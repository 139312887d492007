/// `yak qv`: the quality of an assembly by the counts of reads, with yak's model of k-mers that are found by
/// chance.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/lookup/lookup.h"
#include "base/error.h"
#include "base/warning.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/text_output.h"
#include "cli/personalities/named_jobs.h"
#include "cli/personalities/option_table.h"
#include "cli/personalities/personality.h"
#include "cli/personalities/yak/yak.h"
#include "formats/yak_file.h"
#include "io/input_set.h"
#include "jobs/temporary_index.h"

namespace warpmer::cli {
namespace {

constexpr double kDecibelsOfE = -4.3429448190325175;  // -10 / ln 10

struct QvCall {
  std::uint64_t least_bases = 0;
  double least_share = 0.5;
  double false_positives = 0.00004;
  bool prints_sequences = false, prints_errors = false;
};

TakeOption store_share(double& to) {
  return [&to](const GivenOption& given) {
    const std::optional<double> share = parse_decimal(given.value);
    if (!share || *share < 0 || *share > 1)
      throw UsageError(fmt::format("{} must have a number from 0 to 1, not '{}'", given.name, given.value));
    to = *share;
  };
}

/// Takes a number of bases as yak does: 100000, 100k or 0.1m.
TakeOption store_bases(std::uint64_t& to) {
  return [&to](const GivenOption& given) {
    constexpr std::string_view kUnits = "kmg";
    std::string_view digits = given.value;
    const std::size_t unit =
        digits.empty() ? std::string_view::npos : kUnits.find(static_cast<char>(digits.back() | 0x20));
    if (unit != std::string_view::npos) digits.remove_suffix(1);
    const double factor = unit != std::string_view::npos ? std::pow(1000, static_cast<double>(unit + 1)) : 1;
    const double bases = parse_decimal(digits).value_or(-1) * factor;
    if (!(bases >= 0 && bases < 1e18)) {
      throw UsageError(fmt::format("{} must have a number of bases such as 100000 or 100k, not '{}'",
                                   given.name, given.value));
    }
    to = static_cast<std::uint64_t>(std::llround(bases));
  };
}

OptionTable qv_options(QvCall& call) {
  using enum ValuePlace;
  return {
      "yak qv",
      {taken("-l", free, "leave out sequences of fewer bases", store_bases(call.least_bases)),
       taken("-f", free, "leave out sequences of which a smaller share of k-mers is found; 0.5 unless given",
             store_share(call.least_share)),
       taken("-e", free, "share of false k-mers that is found; 0.00004 unless given",
             store_share(call.false_positives)),
       taken("-p", none, "print the quality of each sequence", set_flag(call.prints_sequences)),
       taken("-E", none, "print the positions of k-mers that are not found", set_flag(call.prints_errors)),
       ignored("-t", free, "threads"), ignored("-K", free, "bases at a time")},
      true};
}

/// Returns the quality of a share of k-mers that are found.
double quality(double all, double found, double k) {
  return kDecibelsOfE * std::log(std::log(all / found) / k);
}

/// A sequence of the assembly, which comes in pieces.
class QvSequence {
 public:
  QvSequence(const QvCall& call, double k, YakRow& sum, TextOutput& output)
      : call_(call), k_(k), sum_(sum), output_(output) {}

  /// Adds a piece's counts; with the last one prints what is asked, and adds the counts to the sum.
  void add(std::string_view name, std::span<const std::uint64_t> counts, const io::Piece& piece) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == backend::Profile::kNoKmer) continue;
      ++kmers_;
      found_ += counts[i] > 0 ? 1 : 0;
      counts_.at(counts[i]) += 1;
      if (counts[i] == 0 && call_.prints_errors) errors_.push_back(piece.first_base + i);
    }
    const std::uint64_t bases = piece.first_base + piece.length;
    const bool is_long = bases >= call_.least_bases;
    if (is_long) print_errors(name);
    if (!piece.last) return;
    if (is_long) print(name, bases);
    errors_.clear();
    counts_ = {};
    kmers_ = found_ = 0;
  }

 private:
  void print_errors(std::string_view name) {
    for (const std::uint64_t position : errors_) output_.print("EK\t{}\t{}\n", name, position);
    errors_.clear();
  }
  void print(std::string_view name, std::uint64_t bases) {
    const auto kmers = static_cast<double>(kmers_), found = static_cast<double>(found_);
    if (call_.prints_sequences) {
      constexpr double kNoError = 99;
      const double qv = kmers_ == 0        ? -1
                        : found_ == 0      ? 0
                        : found_ == kmers_ ? kNoError
                                           : quality(kmers, found, k_);
      output_.print("SQ\t{}\t{}\t{}\t{}\t{:.2f}\n", name, bases, kmers_, found_, qv);
    }
    if (found < kmers * call_.least_share) return;
    for (std::size_t count = 0; count < counts_.size(); ++count) sum_.at(count) += counts_.at(count);
  }

  const QvCall& call_;
  const double k_;
  YakRow& sum_;
  TextOutput& output_;
  YakRow counts_{};
  std::uint64_t kmers_ = 0, found_ = 0;
  std::vector<std::uint64_t> errors_;  ///< as long as the sequence may be too short to be printed
};

YakRow counts_of(const QvCall& call, const std::string& assembly, const index::IndexFile& index,
                 const host::Resources& resources, TextOutput& output) {
  io::InputSet input({assembly}, sequences_to_look_up(index, resources));
  const auto lookup = backend::make_cpu_lookup(index, {.lenient = true});
  io::Batch batch;
  backend::Profile profile;
  std::vector<std::uint64_t> counts;
  YakRow sum{};
  QvSequence sequence(call, index.params().k, sum, output);
  while (input.next(batch)) {
    lookup->profile(batch, profile);
    for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
      const io::Piece& piece = batch.pieces[i];
      sequence.add(batch.name(piece), profile.exact(i, counts), piece);
    }
  }
  return sum;
}

/// The assembly's quality.
struct QvResult {
  double kmers = 0, errors = 0, coverage = 0;
  double raw = -1, adjusted = -1;
  double false_positives_least = 0, false_positives_most = 1;
  YakRow counts{};  ///< of the assembly's k-mers, but for those that are found by chance
};

/// Returns the parabola through points, by least squares: its three coefficients, lowest power first.
std::array<double, 3> parabola(std::span<const double> x, std::span<const double> y) {
  std::array<std::array<double, 4>, 3> rows{};  // normal equations
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::array<double, 3> powers = {1, x[i], x[i] * x[i]};
    for (std::size_t r = 0; r < 3; ++r) {
      for (std::size_t c = 0; c < 3; ++c) rows.at(r).at(c) += powers.at(r) * powers.at(c);
      rows.at(r)[3] += powers.at(r) * y[i];
    }
  }
  for (std::size_t step = 0; step < 3; ++step) {
    std::size_t best = step;
    for (std::size_t r = step + 1; r < 3; ++r) {
      if (std::abs(rows.at(r).at(step)) > std::abs(rows.at(best).at(step))) best = r;
    }
    std::swap(rows.at(step), rows.at(best));
    for (std::size_t r = 0; r < 3; ++r) {
      if (r == step) continue;
      const double factor = rows.at(r).at(step) / rows.at(step).at(step);
      for (std::size_t c = step; c < 4; ++c) rows.at(r).at(c) -= factor * rows.at(step).at(c);
    }
  }
  return {rows[0][3] / rows[0][0], rows[1][3] / rows[1][1], rows[2][3] / rows[2][2]};
}

/// The counts between which the model is fitted: the least of them, and the peak behind it.
struct FitRange {
  std::size_t least = 0, peak = 0;
};

std::optional<FitRange> fit_range(const YakRow& assembly) {
  const auto begin = assembly.begin() + 2;
  const auto peak = std::max_element(begin, assembly.end() - 1);
  if (*peak <= 0) return std::nullopt;
  const auto least = std::min_element(begin, peak);
  return FitRange{static_cast<std::size_t>(least - assembly.begin()),
                  static_cast<std::size_t>(peak - assembly.begin())};
}

/// Bounds the share of false k-mers that is found by what the counts allow; returns the one to go on with.
double bounded_share(double share, const YakRow& reads, const YakRow& assembly, const FitRange& range,
                     QvResult& result) {
  for (std::size_t count = 2; count < range.peak; ++count) {
    const double most = assembly.at(count) / (result.coverage * reads.at(count));
    if (result.false_positives_most > most) result.false_positives_most = most;
  }
  if (share > result.false_positives_most) share = result.false_positives_most / 2;
  if (range.least > 2 && reads[2] > reads.at(range.least)) {
    const double least =
        (assembly[2] - assembly.at(range.least)) / (result.coverage * (reads[2] - reads.at(range.least)));
    result.false_positives_least = std::max(result.false_positives_least, least);
  }
  if (result.false_positives_least >= result.false_positives_most)
    warn("yak: the upper bound of false k-mers that are found is not above the lower one; trust the lower");
  return std::max(share, result.false_positives_least);
}

/// Fits how k-mers become fewer below the peak, and goes on with that down to 0.
void extrapolate(const FitRange& range, std::size_t points, YakRow& counts) {
  std::vector<double> x, y;
  for (std::size_t count = range.least; count < range.least + points; ++count) {
    x.push_back(static_cast<double>(count));
    y.push_back(counts.at(count + 1) / counts.at(count));
  }
  const auto [a, b, c] = parabola(x, y);
  constexpr double kLeastStep = 1.01;
  for (std::size_t count = range.least; count-- > 0;) {
    const auto at = static_cast<double>(count);
    const double step = a + b * at + c * at * at;
    counts.at(count) = counts.at(count + 1) / (step < kLeastStep ? kLeastStep : step);
  }
}

QvResult solve(double false_positives, const YakRow& reads, const YakRow& assembly, double k) {
  QvResult result;
  result.counts = assembly;
  result.errors = assembly[0];
  for (const double kmers : assembly) result.kmers += kmers;
  if (result.kmers > assembly[0]) result.raw = quality(result.kmers, result.kmers - assembly[0], k);
  const std::optional<FitRange> range = fit_range(assembly);
  if (!range) {
    result.coverage = -std::numeric_limits<double>::quiet_NaN();
    return result;
  }
  result.coverage = assembly.at(range->peak) / reads.at(range->peak);
  const double share = bounded_share(false_positives, reads, assembly, *range, result);
  // Counts of few reads tell nothing.
  constexpr std::size_t kLeastPeak = 5, kLeastPoints = 3, kMostPoints = 8;
  const std::size_t points = std::min(range->peak - range->least + 1, kMostPoints);
  if (range->peak < kLeastPeak || points < kLeastPoints) return result;
  for (std::size_t count = range->least; count < range->peak; ++count) {
    const double false_kmers = (reads.at(count) - assembly.at(count) / result.coverage) / (1 - share);
    const double left = assembly.at(count) - false_kmers * result.coverage * share;
    result.counts.at(count) = left < 0 ? 0 : left;
  }
  extrapolate(*range, points, result.counts);
  double true_kmers = 0;
  for (const double kmers : result.counts) true_kmers += kmers;
  if (true_kmers <= result.kmers) {
    result.errors = result.kmers - true_kmers;
    result.adjusted = quality(result.kmers, true_kmers, k);
  } else {
    warn("yak: the adjusted quality cannot be estimated; it is printed as the raw one");
    result.errors = 0;
    result.adjusted = result.raw;
  }
  return result;
}

constexpr std::string_view kComments =
    "CC\tCT  kmer_occurrence    short_read_kmer_count  raw_input_kmer_count  adjusted_input_kmer_count\n"
    "CC\tFR  fpr_lower_bound    fpr_upper_bound\n"
    "CC\tER  total_input_kmers  adjusted_error_kmers\n"
    "CC\tCV  coverage\n"
    "CC\tQV  raw_quality_value  adjusted_quality_value\n"
    "CC\n";

void print_result(const QvResult& result, const YakRow& reads, const YakRow& assembly, TextOutput& output) {
  for (std::size_t count = kYakCounts; count-- > 0;) {
    output.print("CT\t{}\t{:.0f}\t{:.0f}\t{:.3f}\n", count, reads.at(count), assembly.at(count),
                 result.counts.at(count));
  }
  output.print("FR\t{:.3g}\t{:.3g}\nER\t{:.0f}\t{:.3f}\nCV\t{:.3f}\nQV\t{:.3f}\t{:.3f}\n",
               result.false_positives_least, result.false_positives_most, result.kmers, result.errors,
               result.coverage, result.raw, result.adjusted);
}

}  // namespace

YakQuality yak_quality(const YakRow& reads, const YakRow& kmers, double k) {
  const QvResult result = solve(QvCall().false_positives, reads, kmers, k);
  return {.raw = result.raw, .adjusted = result.adjusted};
}

YakRow yak_row(const index::IndexFile& index) {
  YakRow row{};
  for (const auto& [count, kmers] : index.histogram()) row.at(count) = static_cast<double>(kmers);
  return row;
}

int run_yak_qv(const std::vector<std::string>& words, const index::Provenance& provenance) {
  QvCall call;
  const OptionTable table = qv_options(call);
  if (std::ranges::find(words, "--help") != words.end()) {
    print_on_standard_output(help_text(table, "<kmer.yak> <seq.fa>"));
    return kDone;
  }
  const std::vector<std::string> files = take_all_options(table, words);
  if (files.size() < 2)
    throw UsageError("yak qv: it takes counts of reads and an assembly (see 'yak qv --help')");
  say_ignored("yak qv", std::span(files).subspan(2));
  const host::Resources resources = host::settled(named_resources());
  const jobs::TemporaryIndex temporary(folder_for_temporary("-"));
  {
    formats::YakSource source(files[0]);
    import_into(source, files[0], resources, provenance, temporary);
  }
  const index::IndexFile index(temporary.path());
  const YakRow reads = yak_row(index);
  TextOutput output("-");
  output.write(kComments);
  const YakRow assembly = counts_of(call, files[1], index, resources, output);
  print_result(solve(call.false_positives, reads, assembly, index.params().k), reads, assembly, output);
  output.finish();
  return kDone;
}

}  // namespace warpmer::cli
