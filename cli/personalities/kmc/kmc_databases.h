#pragma once
/// Databases as KMC's programs name, read and write them.

#include <cstdint>
#include <memory>
#include <string>

#include "backend/count_bounds.h"
#include "formats/format.h"
#include "formats/kmc_database.h"
#include "host/limits.h"
#include "index/index_file.h"
#include "jobs/merged_kmers.h"
#include "jobs/temporary_index.h"

namespace warpmer::cli {

/// Which files a name stands for where there are both: `kmc_tools` reads the KFF file, `kmc_dump` and
/// `kmc -fkmc` the two of KMC.
enum class PreferredFiles : std::uint8_t { kff, kmc };

/// A database to read: of KMC, or a KFF file.
class NamedDatabase {
 public:
  /// `name` is a prefix: of a KFF file, with its ending or without, or of the two files of KMC. InputError
  /// when there is none, or it is damaged.
  explicit NamedDatabase(const std::string& name, PreferredFiles preferred = PreferredFiles::kff);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool is_kff() const noexcept { return format_ == formats::Format::kff; }
  [[nodiscard]] const formats::StreamFacts& facts() const noexcept { return facts_; }
  /// Returns what KMC's header says; of a KFF file, what it would.
  [[nodiscard]] const formats::KmcHeader& header() const noexcept { return header_; }
  /// Returns the files.
  [[nodiscard]] std::vector<std::string> files() const { return formats::files_of(path_, format_); }

  /// Returns the k-mers whose counts are within `bounds`, in the order of the file.
  [[nodiscard]] std::unique_ptr<formats::KmerSource> open(const backend::CountBounds& bounds) const;
  /// Returns how many of them have each count.
  [[nodiscard]] index::Histogram histogram(const backend::CountBounds& bounds, unsigned threads) const;
  /// Returns them in lexicographic order. A KFF file is sorted by way of temporary files beside `output`.
  [[nodiscard]] jobs::RangedKmers sorted(const backend::CountBounds& bounds, const host::Resources& resources,
                                         const std::string& output) const;

 private:
  std::string path_;
  formats::Format format_;
  formats::StreamFacts facts_;
  formats::KmcHeader header_;
};

/// A database to write.
struct DatabaseOutput {
  std::string name;  ///< without the ending of KFF
  formats::Format format = formats::Format::kmc;
  backend::CountBounds bounds;
  std::uint64_t largest_counter = 255;  ///< larger counts become this
  bool tells_of_capped = true;

  /// Returns the output's name as 'warpmer' has it.
  [[nodiscard]] std::string path() const { return format == formats::Format::kff ? name + ".kff" : name; }
  [[nodiscard]] std::vector<std::string> files() const { return formats::files_of(path(), format); }
  /// Returns the bytes of its counters, as KMC chooses them.
  [[nodiscard]] std::uint32_t counter_bytes() const;
};

/// Writes k-mers, and says on stderr how many counts were capped.
void write_database(const jobs::RangedKmers& kmers, const DatabaseOutput& output,
                    const host::Resources& resources);
void write_database(const index::IndexFile& index, const DatabaseOutput& output,
                    const host::Resources& resources);
/// Does so with what a source has, as text, in its order.
void write_text(formats::KmerSource& source, const DatabaseOutput& output, const host::Resources& resources);

/// Makes an index of a database, for a job that needs one; nothing is left out.
void import_database(const NamedDatabase& database, const host::Resources& resources,
                     const jobs::TemporaryIndex& index);

}  // namespace warpmer::cli
