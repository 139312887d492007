#include "formats/table/arrow_module.h"

#include <fmt/format.h>

#include "base/error.h"
#include "file/program_module.h"

namespace warpmer::formats {
namespace {

constexpr file::ProgramModule kArrowModule{
    "warpmer_arrow.so", "Apache Arrow", kMakeArrowTableSymbol,
    "install the Arrow that warpmer was built with, or write tsv or npz"};

MakeArrowTable open_arrow_module() {
  const auto make = reinterpret_cast<MakeArrowTable>(file::module_function(kArrowModule));
  if (make == nullptr) {
    throw ResourceError(
        fmt::format("this warpmer was built without Apache Arrow ({} is not beside it); build it where Arrow "
                    "is installed, or write tsv or npz",
                    kArrowModule.name));
  }
  return make;
}

MakeArrowTable opened() {
  static const MakeArrowTable make = open_arrow_module();
  return make;
}

}  // namespace

void require_arrow() { opened(); }

std::unique_ptr<TableWriter> make_arrow_table(bool is_parquet, const TableSchema& schema,
                                              const WriteTable& write) {
  return std::unique_ptr<TableWriter>(opened()(is_parquet, schema, write));
}

}  // namespace warpmer::formats
