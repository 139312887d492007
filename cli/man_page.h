#pragma once
/// Manual pages, made from the declared options; docs/man holds them as files.

#include <string>

namespace warpmer::cli {

struct CommandDoc;

/// The page of a command in roff (man macros).
std::string render_man_page(const CommandDoc& doc);

}  // namespace warpmer::cli
