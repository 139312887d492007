#pragma once
/// The numbers of an index as they are reported: what was counted, and what the spectrum says.

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/framework/text_output.h"
#include "cli/output/index_summary.h"
#include "index/index_file.h"
#include "stats/spectrum_model.h"

namespace warpmer::cli {

/// A label and a value; a label that is indented is a part of the one before.
class ReportFields {
 public:
  template <class Value>
  void add(std::string label, const Value& value) {
    fields_.emplace_back(std::move(label), fmt::format("{}", value));
  }
  [[nodiscard]] auto begin() const { return fields_.begin(); }
  [[nodiscard]] auto end() const { return fields_.end(); }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

void print_fields(const ReportFields& fields, TextOutput& output);

/// Returns parameters and totals.
ReportFields counted_fields(const index::IndexParams& params, const index::Totals& totals);
/// Returns what the model says of a genome, or why it says nothing.
ReportFields spectrum_fields(const stats::SpectrumModel& model);

/// Returns the same; every name is there, and what there is no estimate of is null.
Json spectrum_json(const stats::SpectrumModel& model);

}  // namespace warpmer::cli
