#include "formats/table/arrow_module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "file/program_module.h"

namespace warpmer::formats {
namespace {

constexpr const char* kArrowModule = "warpmer_arrow.so";

MakeArrowTable open_arrow_module() {
  const std::string path = file::program_module(kArrowModule);
  if (path.empty()) {
    throw ResourceError(
        fmt::format("this warpmer was built without Apache Arrow ({} is not beside it); build it where Arrow "
                    "is installed, or write tsv or npz",
                    kArrowModule));
  }
  void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    throw ResourceError(
        fmt::format("the module for Apache Arrow cannot be opened ({}); install the Arrow that warpmer was "
                    "built with, or write tsv or npz",
                    ::dlerror()));
  }
  const auto make = reinterpret_cast<MakeArrowTable>(::dlsym(module, kMakeArrowTableSymbol));
  if (make == nullptr)
    throw ResourceError(fmt::format("{} is of another version of warpmer; install that of this one", path));
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
