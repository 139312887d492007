#pragma once
/// Numbers in environment variables.

#include <cstdint>
#include <cstdlib>
#include <optional>

#include "base/number_text.h"

namespace warpmer {

/// Returns the number that a variable begins with; none where it is 0, which means "no limit" to all that set
/// such variables.
inline std::optional<std::uint64_t> environment_number(const char* name) {
  const char* text = std::getenv(name);
  const auto number = text == nullptr ? std::nullopt : number_in(text);
  return number == std::uint64_t{0} ? std::nullopt : number;
}

}  // namespace warpmer
