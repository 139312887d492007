#pragma once
/// Shell completion, made from the declared options; the build writes it to files (generate_documents.cmake).

#include <string>

namespace warpmer::cli {

struct CommandDoc;

/// Returns a script for bash's programmable completion; `root` is the program's documentation.
std::string render_bash_completion(const CommandDoc& root);
/// Returns a `_warpmer` function for zsh's completion system.
std::string render_zsh_completion(const CommandDoc& root);
/// Returns `complete` commands for fish.
std::string render_fish_completion(const CommandDoc& root);

}  // namespace warpmer::cli
