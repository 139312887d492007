#include "cli/output/multiqc.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cli/framework/printable.h"
#include "file/output/output_path.h"

namespace warpmer::cli {

MultiqcFile::MultiqcFile(const std::string& path) {
  if (path.empty()) return;
  if (!path.ends_with("_mqc.json") && !file::is_stream(path)) {
    throw UsageError(
        fmt::format("--multiqc must name a file that ends in _mqc.json, which MultiQC looks for, not '{}'",
                    printable(path)));
  }
  file_.emplace(path);
}

void MultiqcFile::write(const MultiqcSection& section) {
  if (!file_) return;
  Json pconfig = {{"id", section.id + "_plot"}, {"title", "warpmer: " + section.name}};
  if (section.is_lines) {
    pconfig["xlab"] = section.x_label;
    pconfig["ylab"] = section.y_label;
    pconfig["logswitch"] = pconfig["logswitch_active"] = true;
  }
  Json json = {{"id", section.id},
               {"section_name", section.name},
               {"description", section.description},
               {"plot_type", section.is_lines ? "linegraph" : "table"},
               {"pconfig", std::move(pconfig)}};
  if (!section.is_lines) json["headers"] = section.headers;
  json["data"] = section.data;
  file_->write(json_text(json));
}

void MultiqcFile::finish() {
  if (file_) file_->finish();
}

void add_multiqc_flag(CLI::App& app, std::string& path, const std::string& section) {
  app.add_option(
         "--multiqc", path,
         fmt::format("Also write {} for MultiQC to FILE, whose name has to end in _mqc.json.", section))
      ->type_name("FILE");
}

}  // namespace warpmer::cli
