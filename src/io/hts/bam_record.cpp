#include "io/hts/bam_record.h"

#include <array>

#include "io/compress/little_endian.h"
#include "io/hts/base_tags.h"

namespace warpmer::io {
namespace {

/// Offsets of fields; the size of what follows comes first.
constexpr std::size_t kSizeBytes = 4;
constexpr std::size_t kNameLength = kSizeBytes + 8;
constexpr std::size_t kCigarOps = kSizeBytes + 12;
constexpr std::size_t kFlag = kSizeBytes + 14;
constexpr std::size_t kSequenceLength = kSizeBytes + 16;
constexpr std::size_t kName = kSizeBytes + 32;

constexpr std::string_view kBaseCodes = "=ACMGRSVTWYHKDBN";

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
  if (!append_tags(bytes_.substr(quality_offset + length()), {length(), first, count}, to)) return false;

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
