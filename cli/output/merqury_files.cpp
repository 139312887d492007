#include "cli/output/merqury_files.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "cli/pictures/merqury_chart.h"
#include "cli/pictures/picture_files.h"
#include "cli/pictures/spectrum_chart.h"
#include "stats/spectrum_model.h"

namespace warpmer::cli {
namespace {

using backend::CopySpectrum;

/// Returns a file's name without folder and one of these endings.
std::string short_name(const std::string& path, std::initializer_list<std::string_view> endings) {
  std::string name = std::filesystem::path(path).filename().string();
  for (const std::string_view ending : endings) {
    if (name.size() > ending.size() && name.ends_with(ending))
      return name.substr(0, name.size() - ending.size());
  }
  return name;
}

/// Draws spectra of one index of reads.
class SpectrumPlots {
 public:
  SpectrumPlots(const PlotFormats& formats, stats::IndexSpectrum& reads)
      : formats_(formats),
        k_(reads.index().params().k),
        model_(reads.model()),
        last_(last_to_see(reads.index().histogram(), model_)) {}

  /// `name`: with the folder, and without what tells the shape.
  void draw(const std::string& name, const std::string& title, const std::vector<ClassSpectrum>& classes,
            const std::vector<ChartColumn>& only) const {
    constexpr std::array<std::pair<SpectrumShape, std::string_view>, 3> kShapes = {{
        {SpectrumShape::filled, "fl"},
        {SpectrumShape::lines, "ln"},
        {SpectrumShape::stacked, "st"},
    }};
    const std::string whole = fmt::format("{}, k = {}", title, k_);
    for (const auto& [shape, letters] : kShapes) {
      write_plot(formats_, fmt::format("{}.{}", name, letters),
                 draw_chart(class_chart(whole, classes, only, model_, last_, shape), Svg::Frame::file));
    }
  }
  void draw_copies(const std::string& name, const std::string& title, const std::string& none,
                   const CopySpectrum& spectrum, const std::vector<ChartColumn>& only) const {
    std::vector<ClassSpectrum> classes;
    for (std::size_t i = 0; i < CopySpectrum::kClasses; ++i)
      classes.push_back({i == 0 ? none : copies_text(i), &spectrum.of_reads[i]});
    draw(name, title, classes, only);
  }

 private:
  const PlotFormats& formats_;
  std::uint32_t k_;
  const stats::SpectrumModel& model_;
  std::uint64_t last_;
};

/// Returns columns of k-mers that the reads do not have: each once, and their further copies.
std::vector<ChartColumn> only_columns(const CopySpectrum& spectrum) {
  std::uint64_t distinct = 0;
  for (const std::uint64_t kmers : spectrum.not_in_reads) distinct += kmers;
  return {{"fill1", static_cast<double>(distinct)},
          {"fill2", static_cast<double>(spectrum.missing - distinct)}};
}

}  // namespace

void write_plot(const PlotFormats& formats, const std::string& name, const std::string& svg) {
  PictureFiles({formats.svg ? name + ".svg" : "", formats.png ? name + ".png" : ""}).write(svg);
}

MerquryFiles::MerquryFiles(std::string prefix, const std::vector<std::string>& assemblies,
                           const std::vector<std::string>& hapmers)
    : prefix_(std::move(prefix)) {
  for (const std::string& path : assemblies)
    assemblies_.push_back(short_name(path, {".fasta.gz", ".fa.gz", ".fasta", ".fa"}));
  for (const std::string& path : hapmers) hapmers_.push_back(short_name(path, {".wmi"}));
}

std::string MerquryFiles::track(std::size_t assembly, const char* ending) const {
  return (std::filesystem::path(prefix_).parent_path() / (assemblies_[assembly] + "_only" + ending)).string();
}

std::vector<std::string> MerquryFiles::owners() const {
  const std::string& first = assemblies_.front();
  if (!is_pair()) return {"read-only", first};
  return {"read-only", first + "-only", assemblies_.back() + "-only", "shared"};
}

void draw_spectra(const MerquryFiles& files, const PlotFormats& formats, stats::IndexSpectrum& reads,
                  const backend::AssemblySpectra& spectra) {
  if (!formats.any()) return;
  const SpectrumPlots plots(formats, reads);
  const std::vector<std::string>& assemblies = files.assemblies();
  for (std::size_t c = 0; c < spectra.spectra[0].size(); ++c) {
    const bool is_one = c < assemblies.size();
    const CopySpectrum& spectrum = spectra.spectra[0][c];
    plots.draw_copies(files.path((is_one ? assemblies[c] + "." : "") + "spectra-cn"),
                      is_one ? assemblies[c] : assemblies.front() + " and " + assemblies.back(),
                      "in reads only", spectrum, only_columns(spectrum));
  }
  std::vector<ClassSpectrum> owners;
  std::vector<ChartColumn> only;
  for (const std::string& owner : files.owners()) {
    const std::size_t i = owners.size();
    owners.push_back({i == 0 ? "in reads only" : owner, &spectra.by_owner[i]});
    if (i > 0) only.push_back({kFills[i], static_cast<double>(spectra.missing_by_owner[i])});
  }
  plots.draw(files.path("spectra-asm"), "K-mers by assembly", owners, only);
  for (std::size_t a = 0; a < assemblies.size(); ++a) {
    for (std::size_t h = 0; h < files.hapmers().size(); ++h) {
      const std::string& hapmer = files.hapmers()[h];
      plots.draw_copies(files.path(assemblies[a] + "." + hapmer + ".spectra-cn"),
                        fmt::format("{} in {}", hapmer, assemblies[a]), "not in it",
                        spectra.spectra[1 + h][a], {});
    }
  }
}

}  // namespace warpmer::cli
