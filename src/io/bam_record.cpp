#include "io/bam_record.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "io/little_endian.h"

namespace warpmer::io {
namespace {

/// Where fields are; the size of what follows comes first.
constexpr std::size_t kSizeBytes = 4;
constexpr std::size_t kNameLength = kSizeBytes + 8;
constexpr std::size_t kCigarOps = kSizeBytes + 12;
constexpr std::size_t kFlag = kSizeBytes + 14;
constexpr std::size_t kSequenceLength = kSizeBytes + 16;
constexpr std::size_t kName = kSizeBytes + 32;

constexpr std::string_view kBaseCodes = "=ACMGRSVTWYHKDBN";
constexpr std::string_view kTagsOfBases[] = {"MM", "ML", "MN", "OQ", "BQ", "E2", "U2"};

constexpr std::array<std::uint8_t, 256> make_codes() {
  std::array<std::uint8_t, 256> codes{};
  codes.fill(15);
  for (std::size_t code = 0; code < kBaseCodes.size(); ++code) {
    const auto base = static_cast<unsigned char>(kBaseCodes[code]);
    codes[base] = static_cast<std::uint8_t>(code);
    codes[base | 0x20] = static_cast<std::uint8_t>(code);
  }
  codes['U'] = codes['u'] = codes['T'];
  return codes;
}
constexpr std::array<std::uint8_t, 256> kCodes = make_codes();

/// A code has a bit for each of A, C, G and T: its complement has them in the other order.
constexpr unsigned complement(unsigned code) {
  return (code & 1) << 3 | (code & 2) << 1 | (code & 4) >> 1 | (code & 8) >> 3;
}

/// Bytes of the tag at the front of `tags`, its name and type included; more than there are when it is
/// damaged.
std::size_t tag_bytes(std::string_view tags) {
  constexpr std::size_t kDamaged = SIZE_MAX;
  if (tags.size() < 4) return kDamaged;
  const auto bytes_of_item = [](char type) -> std::size_t {
    constexpr std::string_view kTypes = "AcCsSiIfd";
    constexpr std::uint8_t kBytes[] = {1, 1, 1, 2, 2, 4, 4, 4, 8};
    const std::size_t found = kTypes.find(type);
    return found == std::string_view::npos ? 0 : kBytes[found];
  };
  const char type = tags[2];
  if (type == 'Z' || type == 'H') return std::min(tags.find('\0', 3), kDamaged - 1) + 1;
  if (type != 'B') return bytes_of_item(type) == 0 ? kDamaged : 3 + bytes_of_item(type);
  if (tags.size() < 8 || bytes_of_item(tags[3]) == 0) return kDamaged;
  return 8 + bytes_of_item(tags[3]) * little_endian(tags, 4, 4);
}

/// Appends those tags that do not say something about each base. False when one is damaged.
bool append_kept_tags(std::string_view tags, std::string& to) {
  while (!tags.empty()) {
    const std::size_t size = tag_bytes(tags);
    if (size > tags.size()) return false;
    const std::string_view name = tags.substr(0, 2);
    if (std::find(std::begin(kTagsOfBases), std::end(kTagsOfBases), name) == std::end(kTagsOfBases)) {
      to.append(tags.substr(0, size));
    }
    tags.remove_prefix(size);
  }
  return true;
}

}  // namespace

BamRecord::BamRecord(std::string_view bytes)
    : bytes_(bytes.substr(0, kSizeBytes + little_endian(bytes, 0, kSizeBytes))) {}

std::uint32_t BamRecord::flag() const noexcept { return little_endian(bytes_, kFlag, 2); }

std::size_t BamRecord::length() const noexcept { return little_endian(bytes_, kSequenceLength, 4); }

std::size_t BamRecord::sequence_offset() const noexcept {
  return kName + little_endian(bytes_, kNameLength, 1) + 4 * std::size_t{little_endian(bytes_, kCigarOps, 2)};
}

std::uint8_t BamRecord::quality(std::size_t position) const noexcept {
  const std::size_t stored = is_reverse() ? length() - 1 - position : position;
  return static_cast<std::uint8_t>(bytes_[sequence_offset() + (length() + 1) / 2 + stored]);
}

bool BamRecord::append_with_bases(std::string_view bases, std::size_t first, std::string& to) const {
  const std::size_t begin = to.size();
  const std::size_t name_length = little_endian(bytes_, kNameLength, 1);
  to.append(bytes_.substr(0, kName + name_length));  // no CIGAR: there is no alignment
  const std::size_t count = bases.size();
  const auto code_at = [&](std::size_t stored) -> unsigned {
    if (stored >= count) return 0;
    const auto base = static_cast<unsigned char>(bases[is_reverse() ? count - 1 - stored : stored]);
    return is_reverse() ? complement(kCodes[base]) : kCodes[base];
  };
  for (std::size_t i = 0; i < count; i += 2) to += static_cast<char>(code_at(i) << 4 | code_at(i + 1));
  const std::size_t quality_offset = sequence_offset() + (length() + 1) / 2;
  to.append(bytes_.substr(quality_offset + (is_reverse() ? length() - first - count : first), count));
  if (!append_kept_tags(bytes_.substr(quality_offset + length()), to)) return false;

  const auto put = [&](std::size_t offset, std::uint64_t value, std::size_t size) {
    std::string field;
    append_little_endian(field, value, size);
    to.replace(begin + offset, size, field);
  };
  put(0, to.size() - begin - kSizeBytes, kSizeBytes);
  put(kCigarOps, 0, 2);
  put(kSequenceLength, count, 4);
  return true;
}

}  // namespace warpmer::io
