#include "io/fastx/record_guess.h"

#include <cstddef>
#include <cstring>
#include <optional>

namespace warpmer::io {
namespace {

/// Lines looked at for the beginning of a record.
constexpr int kMostLines = 16;

/// A line of a text: [begin, end), and the line end behind it.
struct TextLine {
  const char* begin;
  const char* end;
  [[nodiscard]] std::ptrdiff_t size() const { return end - begin; }
};

std::optional<TextLine> line_at(const char* at, const char* end) {
  if (at >= end) return std::nullopt;
  const auto* line_end = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
  if (line_end == nullptr) return std::nullopt;
  return TextLine{at, line_end};
}

/// True when a record of four lines seems to begin at `at`. In such a file nothing else looks like one: of
/// two lines, the second after the first, '@' and '+' begin a header and its '+' line, for if they were
/// qualities, or a '+' line, the other would be a sequence or a header.
bool begins_record(const char* at, const char* end) {
  if (at >= end || *at != '@') return false;
  const auto header = line_at(at, end);
  const auto bases = header ? line_at(header->end + 1, end) : std::nullopt;
  const auto plus = bases ? line_at(bases->end + 1, end) : std::nullopt;
  const auto quality = plus ? line_at(plus->end + 1, end) : std::nullopt;
  if (!quality || *plus->begin != '+' || quality->size() != bases->size()) return false;
  return quality->end + 1 == end || quality->end[1] == '@';
}

}  // namespace

const char* guess_first_record(const char* text, const char* end) {
  const char* at = text;
  for (int i = 0; i < kMostLines; ++i) {
    const auto line = line_at(at, end);
    if (!line) return nullptr;
    at = line->end + 1;
    if (begins_record(at, end)) return at;
  }
  return nullptr;
}

}  // namespace warpmer::io
