#include "io/compress/gzip_members.h"

#include <algorithm>
#include <array>

#include "io/compress/little_endian.h"

namespace warpmer::io {
namespace {

// RFC 1952, 2.3.1.
constexpr std::array<unsigned char, 3> kMagic = {0x1f, 0x8b, 8};  ///< and the method, deflate
constexpr std::uint32_t kFlagsPlace = 3;
constexpr std::uint32_t kFixedBytes = 10;
constexpr std::uint32_t kMemberTrailerBytes = 8;
constexpr unsigned kHasCrc = 2;
constexpr unsigned kHasExtra = 4;
constexpr unsigned kHasName = 8;
constexpr unsigned kHasComment = 16;
constexpr unsigned kReserved = 0xe0;

unsigned char to_byte(char c) { return static_cast<unsigned char>(c); }

}  // namespace

std::optional<std::size_t> bgzf_size_in(std::string_view extra_fields) {
  while (extra_fields.size() >= 4) {
    const std::size_t size = little_endian(extra_fields, 2, 2);
    if (extra_fields.starts_with("BC") && size == 2 && extra_fields.size() >= 6)
      return little_endian(extra_fields, 4, 2) + std::size_t{1};
    extra_fields.remove_prefix(std::min(4 + size, extra_fields.size()));
  }
  return std::nullopt;
}

/// Goes on to `field`, or to the first one after it that is there.
void GzipHeader::enter(Field field) {
  if (field == Field::extra_size && (flags_ & kHasExtra) == 0) field = Field::name;
  if (field == Field::extra && extra_size_ == 0) field = Field::name;
  if (field == Field::name && (flags_ & kHasName) == 0) field = Field::comment;
  if (field == Field::comment && (flags_ & kHasComment) == 0) field = Field::crc;
  if (field == Field::crc && (flags_ & kHasCrc) == 0) field = Field::none;
  field_ = field;
  place_ = 0;
  value_ = 0;
}

GzipHeader::HeaderStatus GzipHeader::take_fixed(unsigned char byte) {
  if (place_ < kMagic.size() && byte != kMagic[place_]) return HeaderStatus::corrupt;
  if (place_ == kFlagsPlace) flags_ = byte;
  if ((flags_ & kReserved) != 0) return HeaderStatus::corrupt;
  if (++place_ == kFixedBytes) enter(Field::extra_size);
  return HeaderStatus::going_on;
}

GzipHeader::HeaderStatus GzipHeader::take(char c) {
  const unsigned char byte = to_byte(c);
  const std::uint32_t crc_before = crc_;
  if (field_ == Field::fixed || (flags_ & kHasCrc) != 0) crc_ = gzip_crc(crc_, {&c, 1});
  switch (field_) {
    case Field::fixed:
      if (take_fixed(byte) == HeaderStatus::corrupt) return HeaderStatus::corrupt;
      break;
    case Field::extra_size:
      extra_size_ |= std::uint32_t{byte} << (8 * place_);
      if (++place_ == 2) enter(Field::extra);
      break;
    case Field::extra:
      extra_ += c;
      if (++place_ == extra_size_) enter(Field::name);
      break;
    case Field::name:
      if (byte == 0) enter(Field::comment);
      break;
    case Field::comment:
      if (byte == 0) enter(Field::crc);
      break;
    case Field::crc:
      if (place_ == 0) value_ = crc_before & 0xffff;
      if (byte != (value_ >> (8 * place_) & 0xff)) return HeaderStatus::corrupt;
      if (++place_ == 2) enter(Field::none);
      break;
    case Field::none:
      break;
  }
  return field_ == Field::none ? HeaderStatus::complete : HeaderStatus::going_on;
}

void GzipMembers::enter(std::string_view window, unsigned bits, unsigned bit_count) {
  is_first_ = false;
  kind_ = MemberKind::unknown;
  inflater_->start(window, bits, bit_count);
  phase_ = Phase::data;
}

GzipMembers::Status GzipMembers::decode(std::span<const char>& input, std::span<char>& output) {
  Status status = Status::going_on;
  if (is_between()) status = begin_member(input);
  if (phase_ == Phase::header) status = read_header(input);
  if (phase_ == Phase::data) {
    switch (inflater_->inflate(input, output)) {
      case DeflateInflater::InflateStatus::going_on:
        return Status::going_on;
      case DeflateInflater::InflateStatus::corrupt:
        return Status::corrupt;
      case DeflateInflater::InflateStatus::end:
        phase_ = Phase::trailer;
        trailer_bytes_.clear();
    }
  }
  if (phase_ == Phase::trailer) status = read_trailer(input);
  return status;
}

/// Sees to it that nothing but a member follows, or, after the last one, zero bytes, as tapes and block
/// devices leave them.
GzipMembers::Status GzipMembers::begin_member(std::span<const char>& input) {
  if (!input.empty() && !is_first_ && input.front() == 0) phase_ = Phase::padding;
  if (phase_ == Phase::padding) {
    const auto end = std::find_if(input.begin(), input.end(), [](char c) { return c != 0; });
    input = input.subspan(static_cast<std::size_t>(end - input.begin()));
  }
  if (input.empty()) return Status::going_on;
  // The header judges the first member, and a member's second byte and the rest.
  if (phase_ == Phase::padding || (!is_first_ && to_byte(input.front()) != kMagic[0])) return Status::junk;
  is_first_ = false;
  header_.start();
  phase_ = Phase::header;
  return Status::going_on;
}

GzipMembers::Status GzipMembers::read_header(std::span<const char>& input) {
  while (!input.empty()) {
    const GzipHeader::HeaderStatus status = header_.take(input.front());
    if (status == GzipHeader::HeaderStatus::corrupt) return Status::corrupt;
    input = input.subspan(1);
    if (status == GzipHeader::HeaderStatus::complete) {
      enter({}, 0, 0);
      kind_ = header_.is_of_bgzf() ? MemberKind::bgzf : MemberKind::plain;
      break;
    }
  }
  return Status::going_on;
}

GzipMembers::Status GzipMembers::read_trailer(std::span<const char>& input) {
  const std::size_t taken = std::min(input.size(), kMemberTrailerBytes - trailer_bytes_.size());
  trailer_bytes_.append(input.data(), taken);
  input = input.subspan(taken);
  if (trailer_bytes_.size() < kMemberTrailerBytes) return Status::going_on;
  trailer_ = {little_endian(trailer_bytes_, 0, 4), little_endian(trailer_bytes_, 4, 4), kind_};
  phase_ = Phase::between;
  return Status::end_of_member;
}

bool GzipMembers::ends_block(unsigned char last, unsigned bit, std::span<char>& output) {
  // A final block could take what follows for its own end.
  if (phase_ != Phase::data || inflater_->is_in_final_block()) return false;
  // An empty final block with fixed codes, put where the next block starts, ends the stream there, with all
  // of the input taken. A block that goes on there takes it for something else, and has no room for a final
  // one behind its own end.
  constexpr std::uint32_t kEmptyFinalBlock = 3;
  constexpr unsigned kEmptyFinalBlockBits = 10;
  const std::uint32_t end = (last & ((1U << bit) - 1)) | kEmptyFinalBlock << bit;
  std::array<char, DeflateInflater::kTakesBack + 4> bytes = {};
  for (std::size_t i = 0; i < 4; ++i)
    bytes[DeflateInflater::kTakesBack + i] = static_cast<char>(end >> (8 * i) & 0xff);
  std::span<const char> input(bytes.data() + DeflateInflater::kTakesBack,
                              (bit + kEmptyFinalBlockBits + 7) / 8);
  probe_->become(*inflater_);
  std::span<char> room = output;
  if (probe_->inflate(input, room) != DeflateInflater::InflateStatus::end || !input.empty()) return false;
  output = room;
  return true;
}

std::string gzip_start(std::string_view start, std::size_t most) {
  std::string text(most, '\0');
  std::span<const char> input(start.data(), start.size());
  std::span<char> output(text);
  GzipMembers members(make_zlib_inflater);
  while (!input.empty() && !output.empty()) {
    const std::size_t before = input.size() + output.size();
    const GzipMembers::Status status = members.decode(input, output);
    if (status == GzipMembers::Status::corrupt || status == GzipMembers::Status::junk) break;
    if (input.size() + output.size() == before) break;
  }
  text.resize(text.size() - output.size());
  return text;
}

}  // namespace warpmer::io
