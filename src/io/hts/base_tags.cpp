#include "io/hts/base_tags.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "io/compress/little_endian.h"

namespace warpmer::io {
namespace {

constexpr std::string_view kOfWholeRead[] = {"MM", "ML", "MN", "Mm", "Ml", "OQ",
                                             "BQ", "E2", "U2", "CS", "CQ"};
constexpr std::string_view kKinetics[] = {"fi", "fp", "ip", "pw"};
constexpr std::string_view kReverseKinetics[] = {"ri", "rp"};
constexpr std::string_view kMoves = "mv";

constexpr std::size_t kNameAndType = 3;
/// Bytes in front of an array's items: the type of its items and their number come first.
constexpr std::size_t kArrayHeader = kNameAndType + 5;
/// `XX:T:` in text.
constexpr std::size_t kTextPrefix = 5;

template <std::size_t N>
bool is_any(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// SAMtags reserves names of capital letters that do not begin with X, Y or Z.
bool is_reserved(std::string_view name) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return !(name[0] >= 'X' && name[0] <= 'Z') && !is_lower(name[0]) && !is_lower(name[1]);
}

/// The way a tag is treated.
struct Fate {
  bool is_kept = true;
  std::size_t first = 0;  ///< first of the values that are kept, when they are fewer
  bool is_cut = false;
};

/// `values`: how many an array or a string has; 0 for what is neither.
Fate fate_of(std::string_view name, std::size_t values, const RemainingBases& bases) {
  constexpr Fate kGone{.is_kept = false};
  if (is_any(name, kOfWholeRead)) return kGone;
  if (bases.count == bases.length || values == 0) return {};
  if (name == kMoves) return kGone;
  const bool is_reverse = is_any(name, kReverseKinetics);
  const bool is_kinetics = is_reverse || is_any(name, kKinetics);
  if (values != bases.length) return {.is_kept = !is_kinetics};
  if (!is_kinetics) return {.is_kept = is_reserved(name)};
  if (bases.count == 0 || bases.first + bases.count > bases.length) return kGone;
  return {.first = is_reverse ? bases.length - bases.first - bases.count : bases.first, .is_cut = true};
}

/// Returns the bytes of a number or of an item of an array; 0 for no type.
std::size_t bytes_of_item(char type) {
  constexpr std::string_view kTypes = "AcCsSiIfd";
  constexpr std::uint8_t kBytes[] = {1, 1, 1, 2, 2, 4, 4, 4, 8};
  const std::size_t found = kTypes.find(type);
  return found == std::string_view::npos ? 0 : kBytes[found];
}

/// Returns the bytes of the tag at the front of `tags`, its name and type included; more than there are when
/// it is damaged.
std::size_t tag_bytes(std::string_view tags) {
  constexpr std::size_t kDamaged = SIZE_MAX;
  if (tags.size() < 4) return kDamaged;
  const char type = tags[2];
  if (type == 'Z' || type == 'H') return std::min(tags.find('\0', kNameAndType), kDamaged - 1) + 1;
  if (type != 'B') return bytes_of_item(type) == 0 ? kDamaged : kNameAndType + bytes_of_item(type);
  if (tags.size() < kArrayHeader || bytes_of_item(tags[3]) == 0) return kDamaged;
  return kArrayHeader + bytes_of_item(tags[3]) * little_endian(tags, 4, 4);
}

/// Values of a whole tag.
std::size_t values_of(std::string_view tag) {
  switch (tag[2]) {
    case 'B':
      return little_endian(tag, 4, 4);
    case 'Z':
      return tag.size() - kNameAndType - 1;
    case 'H':
      return (tag.size() - kNameAndType - 1) / 2;
    default:
      return 0;
  }
}

void append_cut(std::string_view tag, std::size_t first, std::size_t count, std::string& to) {
  if (tag[2] != 'B') {  // a string: kinetics are arrays, and what is not as it should be goes
    return;
  }
  const std::size_t item = bytes_of_item(tag[3]);
  to.append(tag.substr(0, kNameAndType + 1));
  append_little_endian(to, count, 4);
  to.append(tag.substr(kArrayHeader + first * item, count * item));
}

/// True when a field of a header line is a tag as SAM writes it.
bool is_text_tag(std::string_view field) {
  const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return field.size() >= kTextPrefix && is_letter(field[0]) && (is_letter(field[1]) || is_digit(field[1])) &&
         field[2] == ':' && std::string_view("AifZHB").find(field[3]) != std::string_view::npos &&
         field[4] == ':';
}

std::size_t values_of_text(std::string_view field) {
  const std::string_view value = field.substr(kTextPrefix);
  switch (field[3]) {
    case 'B':
      return static_cast<std::size_t>(std::count(value.begin(), value.end(), ','));
    case 'Z':
      return value.size();
    case 'H':
      return value.size() / 2;
    default:
      return 0;
  }
}

}  // namespace

bool append_tags(std::string_view tags, const RemainingBases& bases, std::string& to) {
  while (!tags.empty()) {
    const std::size_t size = tag_bytes(tags);
    if (size > tags.size()) return false;
    const std::string_view tag = tags.substr(0, size);
    const Fate fate = fate_of(tag.substr(0, 2), values_of(tag), bases);
    if (fate.is_cut) {
      append_cut(tag, fate.first, bases.count, to);
    } else if (fate.is_kept) {
      to.append(tag);
    }
    tags.remove_prefix(size);
  }
  return true;
}

void append_header(std::string_view header, const RemainingBases& bases, std::string& to) {
  std::size_t begin = 0;
  while (begin <= header.size()) {
    // With the tab before it.
    const std::size_t end = std::min(header.find('\t', begin + 1), header.size());
    const std::string_view field = header.substr(begin, end - begin);
    const std::string_view tag = field.substr(field.starts_with('\t') ? 1 : 0);
    const bool is_tag = begin > 0 && is_text_tag(tag);
    const Fate fate = is_tag ? fate_of(tag.substr(0, 2), values_of_text(tag), bases) : Fate{};
    if (fate.is_kept && !fate.is_cut) to.append(field);
    if (end == header.size()) return;
    begin = end;
  }
}

}  // namespace warpmer::io
