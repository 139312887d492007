#pragma once
/// The tier decides how much a test does: everything, or a few cases of each kind. tests/CMakeLists.txt says
/// which tier is used where.

#include <cstdlib>
#include <string_view>

namespace warpmer::tests {

/// True in the full tier.
inline bool is_full_tier() {
  const char* tier = std::getenv("WARPMER_TIER");
  return tier == nullptr || std::string_view(tier) != "sample";
}

/// Returns the value that a test takes in the full tier, or in the sample tier.
template <class T>
T by_tier(T full, T sample) {
  return is_full_tier() ? full : sample;
}

/// Returns how often tests of random cases repeat themselves, with other seeds each time: once, or as often
/// as WARPMER_ROUNDS says.
inline unsigned rounds() {
  const char* text = std::getenv("WARPMER_ROUNDS");
  return text == nullptr ? 1 : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

}  // namespace warpmer::tests
