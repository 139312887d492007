#pragma once
/// The data of an open index.

#include <memory>
#include <string>

#include "backend/lookup/lookup.h"
#include "index/index_file.h"
#include "library/argument_checks.h"
#include "warpmer/warpmer.h"

namespace warpmer {

struct Index::Impl {
  explicit Impl(const std::string& path)
      : file((library::check_name(path), path)), lookup(backend::make_cpu_lookup(file, {.lenient = true})) {}

  index::IndexFile file;
  std::unique_ptr<backend::Lookup> lookup;  ///< in `file`
};

}  // namespace warpmer
