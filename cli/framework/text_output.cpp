#include "cli/framework/text_output.h"

#include "formats/table/table_format.h"
#include "host/tmp_directory.h"

namespace warpmer::cli {

void TextOutput::begin_table(formats::Content content, const formats::TableSchema& schema) {
  table_ = std::make_unique<formats::TableText>(
      schema, formats::make_table_writer(content, schema, host::tmp_directory({}, path_),
                                         [this](std::string_view bytes, const Progress& so_far) {
                                           TextFile::write(bytes, so_far);
                                         }));
}

void TextOutput::finish() {
  if (table_) table_->finish();
  TextFile::finish();
}

}  // namespace warpmer::cli
