#include "io/record_formats.h"

#include <array>

#include "io/compress/content.h"
#include "io/hts/alignment_reader.h"

namespace warpmer::io {
namespace {

/// The list. Files are asked in this order.
constexpr std::array kFormats = {
    &kBamFormat,
    &kCramFormat,
    &kSamFormat,
};

}  // namespace

const RecordFormat* record_format_of(file::ByteFile& file) {
  for (const RecordFormat* format : kFormats) {
    if (format->is_format_of(file)) return format;
  }
  return nullptr;
}

std::string_view record_format_name(file::ByteFile& file) {
  const RecordFormat* format = record_format_of(file);
  return format ? format->name : std::string_view();
}

std::string record_format_names() {
  std::string names;
  std::string_view last;
  for (const RecordFormat* format : kFormats) {
    if (!format->is_in_help) continue;
    if (!last.empty()) names += names.empty() ? last : ", " + std::string(last);
    last = format->name;
  }
  return names + " or " + std::string(last);
}

}  // namespace warpmer::io
