#include "file/shell_word.h"

#include <fmt/format.h>

#include <algorithm>

#include "file/input_error.h"

namespace warpmer::file {
namespace {

bool is_safe(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("@%+=:,./_-").find(c) != std::string_view::npos;
}

bool needs_escape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

std::string shell_word(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, is_safe)) return std::string(text);
  const bool has_controls = std::ranges::any_of(text, needs_escape);
  std::string word = has_controls ? "$'" : "'";
  for (const char c : text) {
    if (has_controls && (c == '\'' || c == '\\')) {
      word += {'\\', c};
    } else if (needs_escape(c)) {
      word += fmt::format("\\{:03o}", static_cast<unsigned>(c));
    } else {
      word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
  }
  return word + "'";
}

std::string shell_path(std::string_view path) {
  return shell_word(path.starts_with('-') ? "./" + std::string(path) : std::string(path));
}

std::string shell_input(std::string_view shown) {
  return shown == kStandardInput ? "FILE" : shell_path(shown);
}

}  // namespace warpmer::file
