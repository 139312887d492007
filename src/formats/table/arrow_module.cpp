#include "formats/table/arrow_module.h"

#include "file/program_module.h"

namespace warpmer::formats {
namespace {

constexpr file::ProgramModule kArrowModule{.name = "warpmer_arrow.so",
                                           .subject = "Apache Arrow",
                                           .symbol = kMakeArrowTableSymbol,
                                           .library = "Apache Arrow",
                                           .package = nullptr,
                                           .instead = "write tsv or npz"};

MakeArrowTable opened() {
  static const auto make = reinterpret_cast<MakeArrowTable>(file::module_function(kArrowModule));
  return make;
}

}  // namespace

void require_arrow() { opened(); }

std::unique_ptr<TableWriter> make_arrow_table(bool is_parquet, const TableSchema& schema,
                                              const WriteTable& write) {
  return std::unique_ptr<TableWriter>(opened()(is_parquet, schema, write));
}

}  // namespace warpmer::formats
