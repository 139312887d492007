#pragma once
/// Arrow IPC and Parquet files, which a module of its own writes (formats/arrow), so that the program does
/// not need Apache Arrow.

#include <memory>

#include "formats/table/table.h"

namespace warpmer::formats {

/// Opens the module. ResourceError, in one sentence, if it is not there or cannot be opened.
void require_arrow();

/// Does so, and makes the table.
std::unique_ptr<TableWriter> make_arrow_table(bool is_parquet, const TableSchema& schema,
                                              const WriteTable& write);

/// The name of the module's function, as a C symbol.
inline constexpr const char* kMakeArrowTableSymbol = "warpmer_make_arrow_table";
using MakeArrowTable = TableWriter* (*)(bool is_parquet, const TableSchema& schema, const WriteTable& write);

}  // namespace warpmer::formats
