#include "formats/table/npz_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "io/compress/inflater.h"

namespace warpmer::formats {
namespace {

static_assert(std::endian::native == std::endian::little);

/// APPNOTE.TXT, the description of ZIP, has these records; all sizes are those of ZIP64.
constexpr std::uint32_t kLocalHeader = 0x04034b50, kDescriptor = 0x08074b50, kCentralHeader = 0x02014b50;
constexpr std::uint32_t kEnd64 = 0x06064b50, kLocator64 = 0x07064b50, kEnd = 0x06054b50;
constexpr std::uint16_t kVersion = 45, kChecksumFollows = 8, kFirstOf1980 = 0x21, kExtra64 = 1;
constexpr std::uint32_t kIn64 = UINT32_MAX;

template <class Number>
void put_number(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

template <class... Numbers>
std::string record(Numbers... numbers) {
  std::string out;
  (put_number(out, numbers), ...);
  return out;
}

/// Returns the fields that local and central headers have in common, from the version on.
std::string common_fields(std::uint32_t crc, std::size_t name_bytes, std::uint16_t extra_bytes) {
  return record(kVersion, kChecksumFollows, std::uint16_t{0}, std::uint16_t{0}, kFirstOf1980, crc, kIn64,
                kIn64, static_cast<std::uint16_t>(name_bytes), extra_bytes);
}

/// Returns what stands before the numbers of a .npy file, version 1.0: a multiple of 64 bytes.
std::string array_header(std::string_view type, const NpzWriter::Shape& shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (", type);
  for (const std::uint64_t n : shape) text += fmt::format("{},", n);
  text += "), }";
  constexpr std::size_t kBefore = 10, kMultiple = 64;
  const std::size_t bytes = (kBefore + text.size() + 1 + kMultiple - 1) / kMultiple * kMultiple - kBefore;
  text.resize(bytes - 1, ' ');
  text += '\n';
  return std::string("\x93NUMPY\1\0", 8) + record(static_cast<std::uint16_t>(bytes)) + text;
}

/// Returns the characters of a text.
std::u32string characters(std::string_view text) {
  std::u32string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t bytes = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    char32_t code = bytes == 1 ? first : first & (0x7fu >> bytes);
    for (std::size_t i = 1; i < bytes && at + i < text.size(); ++i)
      code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3f);
    out += code;
    at += bytes;
  }
  return out;
}

std::string_view bytes_of(const void* data, std::size_t bytes) {
  return {static_cast<const char*>(data), bytes};
}

}  // namespace

void NpzWriter::add(const std::string& name, std::span<const std::uint64_t> numbers, const Shape& shape) {
  begin(name, shape);
  append(bytes_of(numbers.data(), numbers.size_bytes()));
  end();
}

void NpzWriter::add(const std::string& name, std::span<const double> numbers, const Shape& shape) {
  begin_reals(name, shape);
  append(bytes_of(numbers.data(), numbers.size_bytes()));
  end();
}

void NpzWriter::add(const std::string& name, std::span<const std::string> texts) {
  std::vector<std::u32string> all;
  std::size_t longest = 1;
  for (const std::string& text : texts)
    longest = std::max(longest, all.emplace_back(characters(text)).size());
  begin(name, fmt::format("<U{}", longest), longest * sizeof(char32_t), {texts.size()});
  for (std::u32string& text : all) {
    text.resize(longest);
    append(bytes_of(text.data(), longest * sizeof(char32_t)));
  }
  end();
}

void NpzWriter::begin(const std::string& name, const Shape& shape) {
  begin(name, "<u8", sizeof(std::uint64_t), shape);
}

void NpzWriter::begin_reals(const std::string& name, const Shape& shape) {
  begin(name, "<f8", sizeof(double), shape);
}

void NpzWriter::begin_bytes(const std::string& name, std::uint64_t items, std::size_t width) {
  begin(name, fmt::format("|S{}", width), width, {items});
}

void NpzWriter::begin(const std::string& name, std::string_view type, std::size_t item_bytes,
                      const Shape& shape) {
  const std::string header = array_header(type, shape);
  std::uint64_t bytes = header.size(), items = 1;
  for (const std::uint64_t n : shape) items *= n;
  bytes += items * item_bytes;
  members_.push_back({name + ".npy", offset_, bytes, 0});
  const std::string& file = members_.back().name;
  put(record(kLocalHeader) + common_fields(0, file.size(), 20) + file +
      record(kExtra64, std::uint16_t{16}, bytes, bytes));
  left_ = bytes;
  append(header);
}

void NpzWriter::append(std::string_view bytes) {
  members_.back().crc = io::gzip_crc(members_.back().crc, bytes);
  left_ -= bytes.size();
  put(bytes);
}

void NpzWriter::end() {
  if (left_ != 0) throw InternalError("an array has not the shape that it was to have");
  const Member& member = members_.back();
  put(record(kDescriptor, member.crc, member.bytes, member.bytes));
}

void NpzWriter::finish() {
  const std::uint64_t begin = offset_;
  for (const Member& member : members_) {
    put(record(kCentralHeader, kVersion) + common_fields(member.crc, member.name.size(), 28) +
        record(std::uint16_t{0}, std::uint16_t{0}, std::uint16_t{0}, std::uint32_t{0}, kIn64) + member.name +
        record(kExtra64, std::uint16_t{24}, member.bytes, member.bytes, member.offset));
  }
  const std::uint64_t bytes = offset_ - begin, end = offset_, number = members_.size();
  put(record(kEnd64, std::uint64_t{44}, kVersion, kVersion, std::uint32_t{0}, std::uint32_t{0}, number,
             number, bytes, begin) +
      record(kLocator64, std::uint32_t{0}, end, std::uint32_t{1}) +
      record(kEnd, std::uint16_t{0}, std::uint16_t{0}, std::uint16_t{UINT16_MAX}, std::uint16_t{UINT16_MAX},
             kIn64, kIn64, std::uint16_t{0}));
}

void NpzWriter::put(std::string_view bytes) {
  offset_ += bytes.size();
  write_(bytes);
}

}  // namespace warpmer::formats
