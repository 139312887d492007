#include "formats/table/table_text.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

using namespace warpmer;
using namespace warpmer::formats;

namespace {

/// The columns that a writer was given, as text again.
struct Taken {
  std::string rows;
  unsigned batches = 0;
  bool is_finished = false;
};

class TakingWriter : public TableWriter {
 public:
  explicit TakingWriter(Taken& taken) : taken_(taken) {}

  void append(const TableBatch& batch, const Progress& /*so_far*/) override {
    ++taken_.batches;
    for (std::size_t row = 0; row < batch.rows; ++row) {
      const ColumnValues& lacking = batch.columns[2];
      taken_.rows += std::string(batch.columns[0].text_of(row)) + ' ' +
                     std::to_string(batch.columns[1].numbers[row]) + ' ' +
                     (lacking.lacks[row] != 0 ? "none" : std::to_string(lacking.numbers[row])) + ' ' +
                     std::to_string(batch.columns[3].reals[row]) + '\n';
    }
  }
  void finish() override { taken_.is_finished = true; }

 private:
  Taken& taken_;
};

const TableSchema kSchema = {3,
                             {{"name", ColumnType::text, "name"},
                              {"count", ColumnType::number, "count"},
                              {"min", ColumnType::number, "min", true},
                              {"share", ColumnType::real, "share"}}};

/// Hands text over in pieces.
Taken table_of(std::string_view text, std::size_t piece) {
  Taken taken;
  TableText table(kSchema, std::make_unique<TakingWriter>(taken));
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) table.write(text.substr(0, piece));
  table.finish();
  return taken;
}

}  // namespace

TEST_CASE("a table is that of its text, wherever pieces of this end") {
  const std::string text =
      "a\t1\t2\t0.5\n\t18446744073709551615\tNA\t-1e3\nNA\t0\t0\t0\nname with blanks\t7\t8\t9\n";
  const std::string wanted =
      "a 1 2 0.500000\n 18446744073709551615 none -1000.000000\nNA 0 0 0.000000\n"
      "name with blanks 7 8 9.000000\n";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    const Taken taken = table_of(text, piece);
    CHECK(taken.rows == wanted);
    CHECK(taken.batches == 1);
    CHECK(taken.is_finished);
  }
  CHECK(table_of("", 1).batches == 0);
}

TEST_CASE("batches depend on the rows alone") {
  std::string text, wanted;
  for (unsigned row = 0; row < 300'000; ++row) {
    const std::string name = "read" + std::to_string(row * 7919);
    text += name + '\t' + std::to_string(row) + "\tNA\t0\n";
    wanted += name + ' ' + std::to_string(row) + " none 0.000000\n";
  }
  const Taken whole = table_of(text, text.size());
  CHECK(whole.batches == 2);
  CHECK(whole.rows == wanted);
  const Taken parts = table_of(text, 12345);
  CHECK(parts.batches == 2);
  CHECK(parts.rows == wanted);
}

TEST_CASE("rows that are none of the table") {
  for (const std::string text : {"a\t1\t2\n", "a\t1\t2\t3\t4\n", "a\tx\t2\t3\n", "a\tNA\t2\t3\n",
                                 "a\t1\t-2\t3\n", "a\t18446744073709551616\t2\t3\n", "\n", "a\t1\t2\t3"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(table_of(text, text.size()), InternalError);
  }
}
