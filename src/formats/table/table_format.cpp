#include "formats/table/table_format.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "formats/table/arrow_module.h"
#include "formats/table/npz_table.h"

namespace warpmer::formats {
namespace {

struct NamedTable {
  std::string_view name;
  Content content;
};

constexpr NamedTable kTables[] = {
    {"npz", Content::npz}, {"arrow", Content::arrow}, {"parquet", Content::parquet}};

}  // namespace

std::optional<Content> table_named(std::string_view name) {
  const auto* const found = std::ranges::find(kTables, name, &NamedTable::name);
  return found == std::end(kTables) ? std::nullopt : std::optional(found->content);
}

std::string settled_format(const std::string& format, const std::string& path, std::string_view otherwise) {
  if (!format.empty()) return format;
  const auto* const found = std::ranges::find(kTables, content_of_path(path).content, &NamedTable::content);
  return std::string(found == std::end(kTables) ? otherwise : found->name);
}

void check_table(const std::string& path, Content content) {
  check_ending(path, {content});
  if (content != Content::npz) require_arrow();
}

std::unique_ptr<TableWriter> make_table_writer(Content content, const TableSchema& schema,
                                               const std::string& directory, WriteTable write) {
  switch (content) {
    case Content::npz:
      return std::make_unique<NpzTable>(schema, directory, std::move(write));
    case Content::arrow:
    case Content::parquet:
      return make_arrow_table(content == Content::parquet, schema, write);
    default:
      throw InternalError("no table is written in this format");
  }
}

}  // namespace warpmer::formats
