#pragma once
/// Words of a command line as a shell reads them back.

#include <string>
#include <string_view>

namespace warpmer::file {

/// `text` as one word for a shell: as it is where that will do, else in quotes; with control characters in
/// the form $'...' of bash, zsh and POSIX 2024.
std::string shell_word(std::string_view text);

/// Does the same for a file's name, as an argument that no program takes for an option.
std::string shell_path(std::string_view path);

/// Does the same for an input by the name that messages have for it; FILE stands for standard input.
std::string shell_input(std::string_view shown);

}  // namespace warpmer::file
