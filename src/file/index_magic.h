#pragma once
/// The first bytes of warpmer's own files, for what reads them and for what tells them from others.

#include <string_view>

namespace warpmer::file {

inline constexpr std::string_view kIndexMagic = "\x89WMI\r\n\x1a\n";
inline constexpr std::string_view kPositionMagic = "\x89WMP\r\n\x1a\n";

}  // namespace warpmer::file
