// ctest: one thread

#include "formats/text/matrix_file.h"

#include <doctest/doctest.h>

#include <string>

#include "base/error.h"
#include "unit/index/index_file_common.h"

using namespace warpmer;
using namespace warpmer::formats;

namespace {

/// A matrix in a file that is there for a test.
struct TextFile {
  explicit TextFile(const std::string& text) { index::test::write_bytes(path(), text); }
  [[nodiscard]] std::string path() const { return folder / "matrix.tsv"; }
  index::test::ScratchFolder folder;
};

MatrixFormat of_three_bases() {
  MatrixFormat format;
  format.k = 3;
  return format;
}

/// 3-mers, as a counter; a row for each of `n`, all of the same length.
std::string rows_of(std::size_t n) {
  std::string text;
  for (std::size_t i = 0; i < n; ++i) {
    for (const std::size_t shift : {4u, 2u, 0u}) text += "ACGT"[(i >> shift) & 3];
    text += "\t" + std::to_string(i % 10) + "\t7\n";
  }
  return text;
}

}  // namespace

TEST_CASE("what a header says is read back") {
  for (const bool flag : {false, true}) {
    const MatrixFormat format{flag ? 3u : 64u, flag, !flag, flag ? 1u : 12u, 1};
    const TextFile file(matrix_header(format, {"a sample", "b#2"}));
    const MatrixFile matrix(file.path(), 1);
    CHECK(matrix.format().k == format.k);
    CHECK(matrix.format().canonical == format.canonical);
    CHECK(matrix.format().presence == format.presence);
    CHECK(matrix.format().min_samples == format.min_samples);
    CHECK(matrix.samples() == std::vector<std::string>{"a sample", "b#2"});
  }
}

TEST_CASE("rows are handed out whole, in order, with their lines, and then the end once") {
  const std::string header = matrix_header(of_three_bases(), {"one", "two"});
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{200000}}) {
    const std::string text = rows_of(n);
    const TextFile file(header + text);
    MatrixFile matrix(file.path(), 1);
    MatrixRows rows;
    std::string seen, before;
    std::uint64_t line = 3, ordinal = 0;
    while (matrix.next(rows)) {
      CHECK(rows.ordinal == ordinal++);
      CHECK(rows.first_line == line);
      CHECK(rows.row_before == before);
      CHECK(rows.is_end == rows.text.empty());
      if (rows.is_end) break;
      REQUIRE(rows.text.back() == '\n');
      CHECK(rows.text.size() <= 3 * MatrixFile::kRowBytes);
      seen += rows.text;
      line += rows.text.size() / 8;
      before = rows.text.substr(rows.text.size() - 8, 3);
    }
    CHECK(rows.is_end);
    CHECK(!matrix.next(rows));
    CHECK(seen == text);
  }
}

TEST_CASE("a row says its k-mer, its length and how many samples have it") {
  const TextFile file(matrix_header(of_three_bases(), {"one", "two", "three"}));
  const MatrixFile matrix(file.path(), 1);
  const MatrixRow row = matrix.read_row("ACG\t0\t18446744073709551615\t10\nACT\t", 3);
  CHECK(row.kmer == "ACG");
  CHECK(row.samples == 2);
  CHECK(row.bytes == 29);
  for (const char* bad :
       {"", "AC", "ACG", "ACG\t1\t2\n", "ACG\t1\t2\t3\t4\n", "ACG\t1\t2\t18446744073709551616\n",
        "ACG\t1\t2\t+3\n", "ACG\t1\t2\t3 \n", "ACG\t\t2\t3\n", "ACG 1\t2\t3\n", "ACGT\t2\t3\t4\n"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(static_cast<void>(matrix.read_row(bad, 3)), InputError);
  }
}
