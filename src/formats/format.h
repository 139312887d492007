#pragma once
/// Formats that there are, and how each is recognised, read and written.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/stream/kmer_stream.h"

namespace warpmer::formats {

enum class Format { wmi, kmc, kff, jellyfish, fastk, yak, tsv, fasta };

/// Returns all names, as `a|b|c`.
std::string format_names();
std::string_view name_of(Format format);
std::optional<Format> format_of_name(std::string_view name);
/// Looks at what a path ends in (formats/text/ending.h): `.wmi`, `.kmc_pre`, `.tsv` or `.tsv.gz` and the
/// like.
std::optional<Format> format_of_path(const std::string& path);
/// UsageError when the name of an output of this format ends as something else does. The prefix of a KMC
/// database may end in anything.
void check_ending(const std::string& path, Format format);

/// Returns the files that a path stands for in a format: the two of a KMC database, the stub and the parts of
/// a FastK table.
std::vector<std::string> files_of(const std::string& path, Format format);

/// Returns the format of a file, by its first bytes; a KMC database is named by its prefix. A file that is
/// nothing else is text, and `tsv` stands for both forms of that. InputError when it cannot be read.
Format detect_format(const std::string& path);

/// Reads what `detect_format` has found, but for `wmi`. `canonical` is for text, which does not say;
/// `threads` may decompress it.
std::unique_ptr<KmerSource> open_source(const std::string& path, Format format, bool canonical,
                                        unsigned threads);

/// The limits of what a format can hold, and how it wants it.
struct FormatLimits {
  KmerOrder order = KmerOrder::any;
  std::uint64_t largest_count = UINT64_MAX;
  std::uint32_t most_count_bytes = 0;  ///< 0: counts have no width
  bool is_text = false;                ///< may be written to standard output
  bool caps = false;                   ///< its own program cuts larger counts down, so we do
  std::uint32_t most_k = kMaxK;
  bool is_canonical = false;  ///< holds only canonical k-mers
};
FormatLimits limits_of(Format format);
/// UsageError for k-mers that a format cannot hold.
void check_kmers(Format format, std::uint32_t k, bool canonical);

/// Makes the sink of any format but `wmi`. Counts are `count_bytes` wide; 0: as wide as facts.largest_count
/// needs, or what the format is usually found with. Counts that do not fit must not come. `threads` may
/// compress text.
std::unique_ptr<KmerSink> make_sink(const std::string& path, Format format, const StreamFacts& facts,
                                    std::uint32_t count_bytes = 0, unsigned threads = 1);

}  // namespace warpmer::formats
