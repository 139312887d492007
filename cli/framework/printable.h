#pragma once
/// Makes text from files, names and the command line harmless for a terminal or a table.

#include <string>
#include <string_view>

namespace warpmer::cli {

/// Returns `text` with all invisible characters escaped: control characters, a tab and line ends among them,
/// as \t, \n, \r and \xHH, bytes that are no valid UTF-8 likewise, and marks that turn the direction of text
/// or end lines as \u{HHHH}. So it has neither columns nor lines of its own. All else stays as it is,
/// backslashes, too.
std::string printable(std::string_view text);

}  // namespace warpmer::cli
