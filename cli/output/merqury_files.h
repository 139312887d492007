#pragma once
/// The names of Merqury's files, and its pictures.

#include <cstddef>
#include <string>
#include <vector>

#include "backend/indexes/copy_spectra.h"
#include "stats/index_spectrum.h"

namespace warpmer::cli {

struct PlotFormats {
  bool svg = true;
  bool png = false;

  [[nodiscard]] bool any() const { return svg || png; }
};

/// Writes a picture, which is SVG, under a name that gets the ending of each format.
void write_plot(const PlotFormats& formats, const std::string& name, const std::string& svg);

/// Names of all that is written about assemblies by reads and, maybe, two sets of hap-mers.
class MerquryFiles {
 public:
  MerquryFiles(std::string prefix, const std::vector<std::string>& assemblies,
               const std::vector<std::string>& hapmers);

  [[nodiscard]] const std::vector<std::string>& assemblies() const { return assemblies_; }
  [[nodiscard]] const std::vector<std::string>& hapmers() const { return hapmers_; }
  [[nodiscard]] bool is_pair() const { return assemblies_.size() == 2; }
  /// Returns the path of a file that begins with the prefix.
  [[nodiscard]] std::string path(const std::string& rest) const { return prefix_ + "." + rest; }
  /// Returns that of a track, which stands in the same folder, and which Merqury calls by the assembly alone.
  [[nodiscard]] std::string track(std::size_t assembly, const char* ending) const;
  /// Returns the names of who has k-mers, as in AssemblySpectra::by_owner.
  [[nodiscard]] std::vector<std::string> owners() const;

 private:
  std::string prefix_;
  std::vector<std::string> assemblies_, hapmers_;
};

/// Writes the pictures of all spectra. ResourceError where one cannot be written.
void draw_spectra(const MerquryFiles& files, const PlotFormats& formats, stats::IndexSpectrum& reads,
                  const backend::AssemblySpectra& spectra);

}  // namespace warpmer::cli
