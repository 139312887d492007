#include "file/input_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <iterator>
#include <system_error>

namespace warpmer::file {
namespace {

bool printable(char character) { return character >= ' ' && character <= '~'; }

unsigned code(char character) { return static_cast<unsigned char>(character); }

}  // namespace

std::string quoted(char character) {
  if (printable(character)) return fmt::format("'{}'", character);
  return fmt::format("the unprintable character 0x{:02x}", code(character));
}

std::string quoted(std::string_view text, std::size_t limit) {
  std::string shown = "'";
  for (const char c : text.substr(0, limit)) {
    if (printable(c)) {
      shown += c;
    } else {
      fmt::format_to(std::back_inserter(shown), "\\x{:02x}", code(c));
    }
  }
  shown += text.size() > limit ? "...'" : "'";
  return shown;
}

std::string system_message(int error_number) { return std::generic_category().message(error_number); }

BecameShorter::BecameShorter(std::string_view shown)
    : InputError(fmt::format(
          "{} has become shorter while it was read; run warpmer again when nobody writes to it", shown)) {}

void fail_at(const InputPlace& place, std::string_view what) {
  std::string message(place.file);
  if (place.record > 0) fmt::format_to(std::back_inserter(message), ", record {}", place.record);
  if (!place.name.empty()) fmt::format_to(std::back_inserter(message), " ({})", quoted(place.name, 80));
  if (place.line > 0) fmt::format_to(std::back_inserter(message), ", line {}", place.line);
  message += ": ";
  message += what;
  throw InputError(message);
}

void fail_opening(std::string_view file, int error_number) {
  if (file.empty()) throw InputError("the name of an input is empty; see whether a variable is not set");
  const std::string what = fmt::format("cannot be opened: {}", system_message(error_number));
  switch (error_number) {
    case EMFILE:
      throw ResourceError(
          fmt::format("{}: {}; raise the number of files that a process may have (ulimit -n)", file, what));
    case ENFILE:
    case ENOMEM:
      throw ResourceError(fmt::format("{}: {}", file, what));
    default:
      fail_at({file}, what);
  }
}

}  // namespace warpmer::file
