#include "cli/arguments/index_target.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "base/warning.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/messages.h"
#include "file/output/output_file.h"
#include "file/output/output_path.h"
#include "host/limits.h"
#include "jobs/export_job.h"
#include "jobs/temporary_index.h"

namespace warpmer::cli {

using formats::Format;

namespace {

Format format_of(const IndexTargetFlags& flags) {
  if (flags.to.empty()) return formats::format_of_path(flags.output).value_or(Format::wmi);
  const std::optional<Format> format = formats::format_of_name(flags.to);
  if (!format)
    throw UsageError(fmt::format("--to must be one of {}, not '{}'", formats::format_names(), flags.to));
  return *format;
}

}  // namespace

void add_index_target_flags(CLI::App& app, IndexTargetFlags& flags) {
  app.add_option(
         "-o,--output", flags.output,
         "The file to write, - for standard output: an index, or what its name ends in: .kff, .jf, "
         ".kmc_pre (and .kmc_suf, written with it), .ktab (with its hidden parts), .yak, .tsv or .fa, "
         "the last two also with .gz. It gets its name when it is complete.")
      ->type_name("FILE");
  app.add_option("--to", flags.to,
                 "Format to write, as 'warpmer convert' makes it of the index. Default: by what the name of "
                 "the output ends in, else wmi, an index.")
      ->type_name(formats::format_names());
}

IndexTarget::IndexTarget(const IndexTargetFlags& flags, bool may_be_terminal)
    : output_(flags.output), format_(format_of(flags)) {
  if (format_ == Format::wmi) {
    check_index_output(output_, formats::Content::index, may_be_terminal);
    return;
  }
  if (output_.empty()) throw UsageError("where to write the k-mers? Add -o FILE");
  formats::check_ending(output_, format_);
  if (!formats::limits_of(format_).is_text && file::is_stream(output_)) {
    throw UsageError(fmt::format("{} is written to a file only, and '{}' is none; choose another name",
                                 formats::name_of(format_), output_));
  }
}

IndexTarget::~IndexTarget() = default;

std::vector<std::string> IndexTarget::files() const { return formats::files_of(output_, format_); }

std::string IndexTarget::index_path(const std::string& directory) {
  if (format_ == Format::wmi) return output_;
  for (const std::string& file : files()) {
    // A pipe's reader would take this for the end.
    if (!file::is_stream(file)) const file::OutputFile probe(file);
  }
  temporary_ = std::make_unique<jobs::TemporaryIndex>(directory, jobs::TemporaryIndex::IfMissing::make);
  return temporary_->path();
}

void IndexTarget::write(const host::Resources& resources) {
  if (format_ == Format::wmi) return;
  host::return_freed_memory_at_once();  // what the job has left
  const formats::FormatLimits limits = formats::limits_of(format_);
  const jobs::ExportOptions job{.order = limits.order,
                                .largest_count = limits.largest_count,
                                .saturate = limits.caps,
                                .resources = resources_or_default(resources),
                                .shown_input = "the result"};
  {
    const index::IndexFile index(temporary_->path(), host::memory_left(job.resources.memory_bytes));
    const auto sink = formats::make_sink(output_, format_, jobs::facts_of(index), 0, job.resources.threads);
    const jobs::ExportReport report = jobs::export_index(index, job, *sink);
    if (report.saturated > 0) {
      warn(fmt::format(
          "{} of {} k-mers occur more often than {}, the largest count of {}: they are capped there",
          with_thousands(report.saturated), with_thousands(report.kmers), job.largest_count,
          formats::name_of(format_)));
    }
  }
  temporary_.reset();
}

std::string IndexTarget::summary(std::uint64_t index_bytes) const {
  std::string shown = shown_output(output_);
  if (format_ != Format::wmi) {
    index_bytes = 0;
    for (const std::string& file : files()) {
      std::error_code failed;
      if (file::is_stream(file)) return shown;
      const std::uintmax_t bytes = std::filesystem::file_size(file, failed);
      if (failed) return shown;
      index_bytes += bytes;
    }
  }
  return fmt::format("{} {}", shown, format_bytes(index_bytes));
}

}  // namespace warpmer::cli
