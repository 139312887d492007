#pragma once
/// The output for a command's text: standard output, or a file that appears only when it is complete.

#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "formats/table/table_text.h"
#include "formats/text/ending.h"
#include "formats/text/text_file.h"

namespace warpmer::cli {

/// "-" is standard output; a name that ends in `.gz` is compressed (formats/text/text_file.h).
class TextOutput : public formats::TextFile {
 public:
  explicit TextOutput(const std::string& path, unsigned threads = 1) : TextFile(path, threads), path_(path) {}

  /// Makes the file a table of this content: what is written are its rows, with tabs, without a line of
  /// names. Once, before anything is written.
  void begin_table(formats::Content content, const formats::TableSchema& schema);

  void write(std::string_view text, const Progress& so_far = {}) {
    if (table_) {
      table_->write(text, so_far);
    } else {
      TextFile::write(text, so_far);
    }
  }
  void finish();

  template <typename... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    scratch_.clear();
    fmt::format_to(std::back_inserter(scratch_), format, std::forward<Args>(args)...);
    write(scratch_);
  }

 private:
  std::string path_;
  std::string scratch_;
  std::unique_ptr<formats::TableText> table_;
};

}  // namespace warpmer::cli
