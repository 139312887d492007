#pragma once
/// Where a command's text goes: standard output, or a file that appears only when it is complete.

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <utility>

#include "index/buffered_output.h"

namespace warpmer::cli {

/// "-" is standard output.
class TextOutput : public index::BufferedOutput {
 public:
  using BufferedOutput::BufferedOutput;

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
