#pragma once
/// The formats of tables.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "formats/table/table.h"
#include "formats/text/ending.h"

namespace warpmer::formats {

/// Returns the content that `--format` means by a name, if that is one of tables: `npz`, `arrow` (its IPC
/// file, which is Feather of version 2) or `parquet`.
std::optional<Content> table_named(std::string_view name);

/// Returns `format` or, where that is empty, the name that `--format` has for a table under such a path;
/// `otherwise` if it promises none.
std::string settled_format(const std::string& format, const std::string& path, std::string_view otherwise);

/// Checks that an output may be a table of this content: UsageError for its name, ResourceError where this
/// program cannot write such.
void check_table(const std::string& path, Content content);

/// `directory` is for temporary files.
std::unique_ptr<TableWriter> make_table_writer(Content content, const TableSchema& schema,
                                               const std::string& directory, WriteTable write);

}  // namespace warpmer::formats
