#include "formats/text/ending.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "file/output/output_path.h"

namespace warpmer::formats {
namespace {

struct NamedEndings {
  std::string_view name;  ///< name of the content
  Content content;
  std::string_view endings[7];  ///< the first is the one that messages propose; the rest may be empty
};

constexpr NamedEndings kEndings[] = {
    {"an index", Content::index, {".wmi"}},
    {"an index of positions", Content::positions, {".wmp"}},
    {"a KMC database", Content::kmc, {".kmc_pre", ".kmc_suf"}},
    {"KFF", Content::kff, {".kff"}},
    {"a Jellyfish database", Content::jellyfish, {".jf"}},
    {"a FastK table", Content::fastk, {".ktab"}},
    {"counts of yak", Content::yak, {".yak"}},
    {"tab-separated text", Content::tsv, {".tsv", ".tab"}},
    {"text", Content::text, {".txt"}},
    {"FASTA", Content::fasta, {".fa", ".fasta", ".fna", ".ffn", ".fas"}},
    {"FASTQ", Content::fastq, {".fq", ".fastq"}},
    {"BAM", Content::bam, {".bam"}},
    {"JSON", Content::json, {".json"}},
    {"SVG", Content::svg, {".svg"}},
    {"PNG", Content::png, {".png"}},
    {"HTML", Content::html, {".html"}},
    {"NumPy", Content::npz, {".npz"}},
    {"Arrow", Content::arrow, {".arrow", ".feather"}},
    {"Parquet", Content::parquet, {".parquet", ".pq"}},
    {"BED", Content::bed, {".bed"}},
    {"bedGraph", Content::bedgraph, {".bedgraph", ".bdg", ".bg"}},
    // Endings that no command writes.
    {"SAM", Content::other, {".sam"}},
    {"CRAM", Content::other, {".cram"}},
    {"BAM", Content::other, {".ubam"}},
    {"an index of FASTA", Content::other, {".fai"}},
    {"an index of BGZF", Content::other, {".gzi"}},
    {"an index of BAM", Content::other, {".bai", ".csi"}},
    {"an index of CRAM", Content::other, {".crai"}},
    {"comma-separated text", Content::other, {".csv"}},
    {"JSON lines", Content::other, {".jsonl", ".ndjson"}},
    {"YAML", Content::other, {".yaml", ".yml"}},
    {"XML", Content::other, {".xml"}},
    {"Avro", Content::other, {".avro"}},
    {"ORC", Content::other, {".orc"}},
    {"HDF5", Content::other, {".h5", ".hdf5", ".h5ad", ".loom"}},
    {"Zarr", Content::other, {".zarr"}},
    {"NumPy", Content::other, {".npy"}},
    {"Matrix Market", Content::other, {".mtx"}},
    {"R data", Content::other, {".rds", ".rdata"}},
    {"a pickle", Content::other, {".pkl", ".pickle"}},
    {"SQLite", Content::other, {".sqlite"}},
    {"a spreadsheet", Content::other, {".xls", ".xlsx", ".ods"}},
    {"JPEG", Content::other, {".jpg", ".jpeg"}},
    {"GIF", Content::other, {".gif"}},
    {"TIFF", Content::other, {".tif", ".tiff"}},
    {"WebP", Content::other, {".webp"}},
    {"PDF", Content::other, {".pdf"}},
    {"PostScript", Content::other, {".eps"}},
    {"compressed SVG", Content::other, {".svgz"}},
    {"wiggle", Content::other, {".wig"}},
    {"bigWig", Content::other, {".bw", ".bigwig"}},
    {"bigBed", Content::other, {".bb", ".bigbed"}},
    {"GFF", Content::other, {".gff", ".gff3"}},
    {"GTF", Content::other, {".gtf"}},
    {"VCF", Content::other, {".vcf"}},
    {"BCF", Content::other, {".bcf"}},
    {"PAF", Content::other, {".paf"}},
    {"GFA", Content::other, {".gfa"}},
    {"2bit", Content::other, {".2bit"}},
    {"SRA", Content::other, {".sra"}},
    {"a Meryl database", Content::other, {".meryl"}},
    {"a unikmer file", Content::other, {".unik"}},
    {"an archive", Content::other, {".tar", ".tgz", ".tbz2", ".txz", ".zip", ".7z", ".rar"}},
};

constexpr std::string_view kCompressed[] = {".gz", ".bgz", ".bgzf"};
constexpr std::string_view kOtherCompressed[] = {".zst", ".zstd", ".bz2", ".bz",     ".xz", ".lzma",
                                                 ".lz4", ".lz",   ".br",  ".snappy", ".z"};

/// Takes the last ending in small letters, and the name before it.
std::string take_ending(std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return {};
  std::string ending = name.substr(dot);
  name.resize(dot);
  std::ranges::transform(ending, ending.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c; });
  return ending;
}

/// Returns what is before the endings; nothing for what is no file.
std::string file_name(const std::string& path) {
  return file::is_stream(path) ? std::string() : std::filesystem::path(path).filename().string();
}

bool is_text(Content content) {
  switch (content) {
    case Content::text:
    case Content::tsv:
    case Content::fasta:
    case Content::fastq:
    case Content::json:
    case Content::svg:
    case Content::html:
    case Content::bed:
    case Content::bedgraph:
      return true;
    default:
      return false;
  }
}

/// "an index (.wmi) or KFF (.kff)"
std::string list_of(std::initializer_list<Content> written) {
  std::string list;
  for (const Content* content = written.begin(); content != written.end(); ++content) {
    if (content != written.begin()) list += content + 1 == written.end() ? " or " : ", ";
    const NamedEndings& named = *std::ranges::find(kEndings, *content, &NamedEndings::content);
    list += fmt::format("{} ({})", named.name, named.endings[0]);
  }
  return list;
}

}  // namespace

NamedContent content_of_path(const std::string& path) {
  std::string name = file_name(path);
  std::string ending = take_ending(name);
  if (std::ranges::find(kOtherCompressed, ending) != std::end(kOtherCompressed)) {
    throw UsageError(
        fmt::format("'{}' ends in {}, and that compression is not written; text can end in .gz, and be piped",
                    path, ending));
  }
  NamedContent named;
  named.is_compressed = std::ranges::find(kCompressed, ending) != std::end(kCompressed);
  if (named.is_compressed) ending = take_ending(name);
  if (ending.empty()) return named;
  for (const NamedEndings& each : kEndings) {
    if (std::ranges::find(each.endings, ending) == std::end(each.endings)) continue;
    named.content = each.content;
    named.name = each.name;
    break;
  }
  return named;
}

bool is_compressed_name(const std::string& path) {
  std::string name = file_name(path);
  return std::ranges::find(kCompressed, take_ending(name)) != std::end(kCompressed);
}

void check_ending(const std::string& path, std::initializer_list<Content> written, std::string_view advice) {
  const NamedContent named = content_of_path(path);
  const bool has_text = std::ranges::any_of(written, is_text);
  const auto fail = [&](std::string_view what) {
    throw UsageError(fmt::format("'{}' ends {}, and what is written is {}; choose another name{}{}", path,
                                 what, list_of(written), advice.empty() ? "" : ", or ", advice));
  };
  const bool is_alike = named.content == Content::unknown ||
                        std::ranges::find(written, named.content) != written.end() ||
                        (named.content == Content::text && has_text);
  if (!is_alike) fail(fmt::format("as {} does", named.name));
  if (named.is_compressed && !has_text) fail("as compressed text does");
}

}  // namespace warpmer::formats
