#include "formats/text/ending.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "file/output/output_path.h"

namespace warpmer::formats {
namespace {

struct Ending {
  std::string_view text;
  Content content;
  std::string_view name;  ///< name of the content
};

/// Among endings with the same content, the first is the one that messages propose.
constexpr Ending kEndings[] = {
    {".wmi", Content::index, "an index"},
    {".wmp", Content::positions, "an index of positions"},
    {".kmc_pre", Content::kmc, "a KMC database"},
    {".kmc_suf", Content::kmc, "a KMC database"},
    {".kff", Content::kff, "KFF"},
    {".jf", Content::jellyfish, "a Jellyfish database"},
    {".ktab", Content::fastk, "a FastK table"},
    {".yak", Content::yak, "counts of yak"},
    {".tsv", Content::tsv, "tab-separated text"},
    {".tab", Content::tsv, "tab-separated text"},
    {".txt", Content::text, "text"},
    {".fa", Content::fasta, "FASTA"},
    {".fasta", Content::fasta, "FASTA"},
    {".fna", Content::fasta, "FASTA"},
    {".ffn", Content::fasta, "FASTA"},
    {".fas", Content::fasta, "FASTA"},
    {".fq", Content::fastq, "FASTQ"},
    {".fastq", Content::fastq, "FASTQ"},
    {".bam", Content::bam, "BAM"},
    {".json", Content::json, "JSON"},
    {".svg", Content::svg, "SVG"},
    {".png", Content::png, "PNG"},
    {".html", Content::html, "HTML"},
    {".npz", Content::npz, "NumPy"},
    {".arrow", Content::arrow, "Arrow"},
    {".feather", Content::arrow, "Arrow"},
    {".parquet", Content::parquet, "Parquet"},
    {".pq", Content::parquet, "Parquet"},
    {".bed", Content::bed, "BED"},
    {".bedgraph", Content::bedgraph, "bedGraph"},
    {".bdg", Content::bedgraph, "bedGraph"},
    {".bg", Content::bedgraph, "bedGraph"},
    // Endings that no command writes.
    {".sam", Content::other, "SAM"},
    {".cram", Content::other, "CRAM"},
    {".ubam", Content::other, "BAM"},
    {".fai", Content::other, "an index of FASTA"},
    {".gzi", Content::other, "an index of BGZF"},
    {".bai", Content::other, "an index of BAM"},
    {".csi", Content::other, "an index of BAM"},
    {".crai", Content::other, "an index of CRAM"},
    {".csv", Content::other, "comma-separated text"},
    {".jsonl", Content::other, "JSON lines"},
    {".ndjson", Content::other, "JSON lines"},
    {".yaml", Content::other, "YAML"},
    {".yml", Content::other, "YAML"},
    {".xml", Content::other, "XML"},
    {".avro", Content::other, "Avro"},
    {".orc", Content::other, "ORC"},
    {".h5", Content::other, "HDF5"},
    {".hdf5", Content::other, "HDF5"},
    {".h5ad", Content::other, "HDF5"},
    {".loom", Content::other, "HDF5"},
    {".zarr", Content::other, "Zarr"},
    {".npy", Content::other, "NumPy"},
    {".mtx", Content::other, "Matrix Market"},
    {".rds", Content::other, "R data"},
    {".rdata", Content::other, "R data"},
    {".pkl", Content::other, "a pickle"},
    {".pickle", Content::other, "a pickle"},
    {".sqlite", Content::other, "SQLite"},
    {".xls", Content::other, "a spreadsheet"},
    {".xlsx", Content::other, "a spreadsheet"},
    {".ods", Content::other, "a spreadsheet"},
    {".jpg", Content::other, "JPEG"},
    {".jpeg", Content::other, "JPEG"},
    {".gif", Content::other, "GIF"},
    {".tif", Content::other, "TIFF"},
    {".tiff", Content::other, "TIFF"},
    {".webp", Content::other, "WebP"},
    {".pdf", Content::other, "PDF"},
    {".eps", Content::other, "PostScript"},
    {".svgz", Content::other, "compressed SVG"},
    {".wig", Content::other, "wiggle"},
    {".bw", Content::other, "bigWig"},
    {".bigwig", Content::other, "bigWig"},
    {".bb", Content::other, "bigBed"},
    {".bigbed", Content::other, "bigBed"},
    {".gff", Content::other, "GFF"},
    {".gff3", Content::other, "GFF"},
    {".gtf", Content::other, "GTF"},
    {".vcf", Content::other, "VCF"},
    {".bcf", Content::other, "BCF"},
    {".paf", Content::other, "PAF"},
    {".gfa", Content::other, "GFA"},
    {".2bit", Content::other, "2bit"},
    {".sra", Content::other, "SRA"},
    {".meryl", Content::other, "a Meryl database"},
    {".unik", Content::other, "a unikmer file"},
    {".tar", Content::other, "an archive"},
    {".tgz", Content::other, "an archive"},
    {".tbz2", Content::other, "an archive"},
    {".txz", Content::other, "an archive"},
    {".zip", Content::other, "an archive"},
    {".7z", Content::other, "an archive"},
    {".rar", Content::other, "an archive"},
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

const Ending& first_ending(Content content) {
  return *std::ranges::find(kEndings, content, &Ending::content);
}

/// "an index (.wmi) or KFF (.kff)"
std::string list_of(std::initializer_list<Content> written) {
  std::string list;
  for (const Content* content = written.begin(); content != written.end(); ++content) {
    if (content != written.begin()) list += content + 1 == written.end() ? " or " : ", ";
    const Ending& ending = first_ending(*content);
    list += fmt::format("{} ({})", ending.name, ending.text);
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
  if (const auto* const found = std::ranges::find(kEndings, ending, &Ending::text);
      found != std::end(kEndings)) {
    named.content = found->content;
    named.name = found->name;
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
