#pragma once
/// The command lines of FastK's smaller programs.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warpmer::cli {

struct NamedCall;
struct OptionTable;

/// Takes a call's options, or prints its help, in which `usage` stands for the other words. Returns these;
/// nothing after help. UsageError unless there are at least `least` and at most `most` of them.
std::optional<std::vector<std::string>> fastk_arguments(const NamedCall& call, const OptionTable& table,
                                                        std::string_view usage, std::size_t least,
                                                        std::size_t most = SIZE_MAX);

}  // namespace warpmer::cli
