#pragma once
/// The tier decides how much a test does: everything, or a few cases of each kind. tests/CMakeLists.txt says
/// which tier is used where.

#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <vector>

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

/// Returns all cases; in the sample tier `number` of them, spread evenly, the first among them.
template <class Case>
std::vector<Case> some(std::vector<Case> cases, std::size_t number = 1) {
  if (is_full_tier() || cases.size() <= number) return cases;
  std::vector<Case> few;
  for (std::size_t i = 0; i < number; ++i) few.push_back(cases[i * cases.size() / number]);
  return few;
}

/// Returns how often tests of random cases repeat themselves, with other seeds each time: once, or as often
/// as WARPMER_ROUNDS says.
inline unsigned rounds() {
  const char* text = std::getenv("WARPMER_ROUNDS");
  return text == nullptr ? 1 : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

}  // namespace warpmer::tests
