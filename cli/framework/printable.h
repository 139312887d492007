#pragma once
/// What comes from files, names and the command line, as text that does nothing to a terminal or a table.

#include <string>
#include <string_view>

namespace warpmer::cli {

/// `text` with everything escaped that is not to be seen: control characters, a tab and line ends among them,
/// as \t, \n, \r and \xHH, bytes that are no valid UTF-8 likewise, and marks that turn the direction of text
/// or end lines as \u{HHHH}. So it has neither columns nor lines of its own. All else stays as it is,
/// backslashes, too.
std::string printable(std::string_view text);

}  // namespace warpmer::cli
