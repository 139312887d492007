#pragma once
/// The output for a command's text: standard output, or a file that appears only when it is complete.

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <utility>

#include "formats/text/text_file.h"

namespace warpmer::cli {

/// "-" is standard output; a name that ends in `.gz` is compressed (formats/text/text_file.h).
class TextOutput : public formats::TextFile {
 public:
  using TextFile::TextFile;

  template <typename... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    scratch_.clear();
    fmt::format_to(std::back_inserter(scratch_), format, std::forward<Args>(args)...);
    write(scratch_);
  }

 private:
  std::string scratch_;
};

}  // namespace warpmer::cli
