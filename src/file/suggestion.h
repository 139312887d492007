#pragma once
/// Suggests commands that work when they are pasted.

#include <string>
#include <string_view>
#include <vector>

namespace warpmer::file {

/// Takes note of the words of the command line that this process was started by. `file_flags` are followed by
/// names of inputs that cannot be pipes. The program calls it, before there are other threads; without it,
/// suggestions are examples.
void note_command_line(std::vector<std::string> words, std::vector<std::string> file_flags);

/// Returns, as messages quote it, a command that has an input read by another program first, and is else the
/// command that runs: `lzip -dc a.lz | warpmer count -k 21 -o a.wmi -`. In `converter` "{}" stands for the
/// input; `shown` is its name in messages. Where the command does not name the input, or is very long, there
/// is an example.
std::string piped_in(std::string_view converter, std::string_view shown);

}  // namespace warpmer::file
