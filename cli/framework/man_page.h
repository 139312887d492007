#pragma once
/// Makes manual pages from the declared options; the build writes them to files (generate_documents.cmake).

#include <string>

namespace warpmer::cli {

struct CommandDoc;

/// Returns the page of a command in roff (man macros).
std::string render_man_page(const CommandDoc& doc);

}  // namespace warpmer::cli
