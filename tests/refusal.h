#pragma once
/// The sentences of errors.

#include <string>

namespace warpmer::tests {

/// Returns what the error of this type says that `call` throws; an empty text if it throws nothing. Any other
/// exception passes.
template <class Error, class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Returns a sentence without its numbers.
inline std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

}  // namespace warpmer::tests
