// Real files: every one that the manifest counts, read to the base; every one that must be refused.

#include <sstream>

#include "io/compress/bzip2_blocks.h"
#include "unit/io/io_fixture.h"

using namespace io_test;

namespace {

struct Expected {
  std::string path;
  std::uint64_t records = 0;
  std::uint64_t bases = 0;
  std::string kind;
};

/// The manifest's rows for small files with reads.
std::vector<Expected> manifest(const std::filesystem::path& data) {
  std::ifstream in(data / "MANIFEST.tsv");
  std::vector<Expected> rows;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> fields;
    std::istringstream split(line);
    for (std::string field; std::getline(split, field, '\t');) fields.push_back(field);
    if (fields.size() < 10 || !fields[0].starts_with("small/") || fields[3].empty()) continue;
    rows.push_back({fields[0], std::stoull(fields[3]), std::stoull(fields[4]), fields[9]});
  }
  return rows;
}

/// Returns the number of letters of sequences as they are in the text, gaps and blanks included.
std::uint64_t count_letters(const Records& records) {
  std::uint64_t count = 0;
  for (const Record& record : records) {
    for (const char c : record.bases) count += c != ' ' && c != '\t';
  }
  return count;
}

bool is_refused(const std::string& path) {
  // Of the files with errors, one only has other names in its '+' lines.
  return (contains(path, "/error_") && !contains(path, "error_diff_ids")) || contains(path, "truncated") ||
         (path.ends_with(".bz2") && !io::has_bzip2()) || contains(path, "f003");
}

}  // namespace

TEST_CASE("io shared: every file of the manifest has the records and bases it should") {
  const std::filesystem::path shared = shared_folder();
  if (shared.empty()) {
    MESSAGE("skipped: no folder of real data (WARPMER_SHARED)");
    return;
  }
  std::size_t files = 0;
  for (const Expected& row : manifest(shared / "data")) {
    if (is_refused(row.path)) continue;
    CAPTURE(row.path);
    io::InputOptions options;
    options.batch_bytes = 100'000;
    options.overlap_bases = 30;
    options.threads = 2;
    options.reading.reference = (shared / "data/small/derived/spombe_chrI_120k.fa").string();
    const Records records = read_all({(shared / "data" / row.path).string()}, options);
    // `samtools fastq`, which made the manifest, leaves out 33 reads of this file that are primary.
    const bool is_short = contains(row.path, "platinum_chrM");
    CHECK(records.size() == (is_short ? 20'000 : row.records));
    if (!is_short) CHECK(count_letters(records) == row.bases);
    ++files;
  }
  CHECK(files > 70);
}

TEST_CASE("io shared: files that must be refused are") {
  const std::filesystem::path shared = shared_folder();
  if (shared.empty()) {
    MESSAGE("skipped: no folder of real data (WARPMER_SHARED)");
    return;
  }
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(shared / "data/small")) {
    const std::string path = entry.path().string();
    if (!entry.is_regular_file() || !is_refused(path)) continue;
    CAPTURE(path);
    CHECK(input_error({path}).starts_with(path));
    ++files;
  }
  CHECK(files >= 23);
}

TEST_CASE("io shared: CRAM without its reference, or cut, is an error") {
  const std::filesystem::path shared = shared_folder();
  if (shared.empty()) {
    MESSAGE("skipped: no folder of real data (WARPMER_SHARED)");
    return;
  }
  const std::filesystem::path folder = shared / "data/small";
  io::InputOptions options;
  options.reading.reference = (folder / "phix174.fasta").string();
  CHECK(!input_error({(folder / "derived/spombe_rnaseq_120k.external_ref.cram").string()}, options).empty());

  std::ifstream in(folder / "NA12878_platinum_chrM.cram30.cram", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  const ScratchFolder temp;
  CHECK(contains(input_error({temp.write("cut", whole.substr(0, whole.size() - 38))}), "marker of the end"));
  for (const std::size_t size : {whole.size() - 1, whole.size() / 2, std::size_t{5000}, std::size_t{30}}) {
    CAPTURE(size);
    CHECK(!input_error({temp.write("cut", whole.substr(0, size))}).empty());
  }
}
