#include "index/file_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace warpmer::index::layout {
namespace {

static_assert(std::endian::native == std::endian::little, "files are mapped as they are stored");

/// In the order of the file.
constexpr Section Trailer::*kSections[] = {&Trailer::directory, &Trailer::totals, &Trailer::list,
                                           &Trailer::provenance};
constexpr std::uint64_t Section::*kSectionNumbers[] = {&Section::offset, &Section::bytes, &Section::checksum};

[[noreturn]] void refuse_version(const FileKind& kind, const std::string& name, std::uint32_t version) {
  if (version < kind.version) {
    throw InputError(
        fmt::format("{} is an {} of format version {}, which this warpmer does not read any more; {}", name,
                    kind.noun, version, kind.redo));
  }
  throw InputError(fmt::format(
      "{} is an {} of format version {}; this warpmer reads version {}: use the version of warpmer that "
      "wrote it or a later one, or {}",
      name, kind.noun, version, kind.version, kind.redo));
}

[[noreturn]] void refuse_truncated(const FileKind& kind, const std::string& name) {
  throw InputError(fmt::format(
      "{} is truncated: its writing or copying did not complete; copy it again, or {}", name, kind.redo));
}

/// True when `head` begins like a file of this kind, as far as it goes.
bool begins_like(const FileKind& kind, Bytes head) {
  return std::memcmp(head.data(), kind.magic.data(), std::min(head.size(), kind.magic.size())) == 0;
}

void check_magic(const FileKind& kind, Bytes head, const std::string& name) {
  if (head.empty()) throw InputError(fmt::format("{} is empty, not a warpmer {}", name, kind.noun));
  if (begins_like(kind, head)) return;
  for (const FileKind* other : {&kIndexKind, &kPositionKind}) {
    if (begins_like(*other, head)) {
      throw InputError(fmt::format("{} is an index such as '{}' makes; here one is needed such as '{}' makes",
                                   name, other->maker, kind.maker));
    }
  }
  const std::string_view also =
      &kind == &kIndexKind ? ", or with 'warpmer convert' of what another program has counted" : "";
  throw InputError(fmt::format("{} is not a warpmer {}: it does not begin like one; make one with '{}'{}",
                               name, kind.noun, kind.maker, also));
}

void check_hash_version(const FileKind& kind, const std::string& name, std::uint32_t version) {
  if (version == kind.hash_version) return;
  throw InputError(
      fmt::format("{} was made with hash functions of version {}; this warpmer knows version {}: use the "
                  "version of warpmer that wrote it, or {}",
                  name, version, kind.hash_version, kind.redo));
}

}  // namespace

void refuse_damaged(const FileKind& kind, const std::string& name, const std::string& what) {
  throw InputError(fmt::format("{} is damaged: {}; copy it again, or {}", name, what, kind.redo));
}

std::string encode_header(const FileKind& kind, const FileHeader& fields) {
  ByteBuilder out;
  out.magic(kind.magic);
  out.u32(kind.version);
  out.u32(kHeaderBytes);
  out.u32(fields.k);
  out.u32(fields.canonical ? 1 : 0);
  out.u32(fields.first);
  out.u32(fields.second);
  out.u32(fields.hash_version);
  out.zeros(20);
  out.u64(out.checksum());
  return out.take();
}

FileHeader decode_header(const FileKind& kind, Bytes head, const std::string& name) {
  check_magic(kind, head, name);
  if (head.size() < kHeaderBytes) refuse_truncated(kind, name);
  Parser in(kind, head.first(kHeaderBytes - 8), name, "header");
  in.u64();
  if (const std::uint32_t version = in.u32(); version != kind.version) refuse_version(kind, name, version);
  const std::uint32_t header_bytes = in.u32();
  std::uint64_t stored = 0;
  std::memcpy(&stored, head.data() + kHeaderBytes - 8, sizeof stored);
  if (stored != file::checksum(head.data(), kHeaderBytes - 8))
    refuse_damaged(kind, name, "its header does not match its checksum");
  if (header_bytes != kHeaderBytes) refuse_damaged(kind, name, "its header is not one of this version");
  FileHeader fields;
  fields.k = in.u32();
  const std::uint32_t flags = in.u32();
  fields.canonical = (flags & 1) != 0;
  fields.first = in.u32();
  fields.second = in.u32();
  fields.hash_version = in.u32();
  in.zeros(20);
  if (flags > 1) refuse_damaged(kind, name, "its header is not one of this version");
  check_hash_version(kind, name, fields.hash_version);
  return fields;
}

std::uint64_t sections_checksum(const std::string& header, const Trailer& trailer) {
  ByteBuilder parts;
  parts.u64(file::checksum(header.data(), kHeaderBytes - 8));  // as stored in the header
  for (const Section& section : {trailer.directory, trailer.totals, trailer.list})
    parts.u64(section.checksum);
  return parts.checksum();
}

std::string encode_trailer(const FileKind& kind, const Trailer& trailer) {
  ByteBuilder out;
  for (const auto section : kSections) {
    for (const auto number : kSectionNumbers) out.u64(trailer.*section.*number);
  }
  out.u64(trailer.sections_checksum);
  out.u64(trailer.file_bytes);
  out.u32(kind.version);
  out.u32(kTrailerBytes);
  out.u64(out.checksum());
  out.magic(kind.end_magic);
  return out.take();
}

Trailer decode_trailer(const FileKind& kind, Bytes file, const std::string& name) {
  if (file.size() < kHeaderBytes + kTrailerBytes) refuse_truncated(kind, name);
  const Bytes bytes = file.last(kTrailerBytes);
  if (std::memcmp(bytes.data() + kTrailerBytes - 8, kind.end_magic.data(), kind.end_magic.size()) != 0) {
    throw InputError(
        fmt::format("{} is truncated, or something was appended to it: it does not end like an {}; copy it "
                    "again, or {}",
                    name, kind.noun, kind.redo));
  }
  Parser in(kind, bytes, name, "trailer");
  Trailer trailer;
  for (const auto section : kSections) {
    for (const auto number : kSectionNumbers) trailer.*section.*number = in.u64();
  }
  trailer.sections_checksum = in.u64();
  trailer.file_bytes = in.u64();
  const std::uint32_t version = in.u32();
  const std::uint32_t trailer_bytes = in.u32();
  if (in.u64() != file::checksum(bytes.data(), kTrailerBytes - 16))
    refuse_damaged(kind, name, "its trailer does not match its checksum");
  if (version != kind.version || trailer_bytes != kTrailerBytes)
    refuse_damaged(kind, name, "its trailer is not one of its header's version");
  if (trailer.file_bytes != file.size()) {
    refuse_damaged(kind, name,
                   fmt::format("it has {} bytes but was written with {}", file.size(), trailer.file_bytes));
  }
  // Each section begins where the one before ends, so no byte is left unaccounted for.
  const std::uint64_t trailer_at = file.size() - kTrailerBytes;
  std::uint64_t end = trailer.directory.offset;
  bool chained = end >= kHeaderBytes && end % 8 == 0 && end <= trailer_at;
  for (const auto each : kSections) {
    const Section& section = trailer.*each;
    chained = chained && section.offset == end && section.bytes <= trailer_at - end;
    if (!chained) break;
    end += section.bytes;
  }
  if (!chained || end != trailer_at) refuse_damaged(kind, name, "its sections do not fit together");
  return trailer;
}

Bytes section_bytes(const FileKind& kind, Bytes file, const Section& section, const std::string& name,
                    const char* what) {
  const Bytes bytes = file.subspan(section.offset, section.bytes);
  if (file::checksum(bytes.data(), bytes.size()) != section.checksum)
    refuse_damaged(kind, name, fmt::format("its {} does not match its checksum", what));
  return bytes;
}

Parser parse_section(const FileKind& kind, Bytes file, const Section& section, const std::string& name,
                     const char* what) {
  return {kind, section_bytes(kind, file, section, name, what), name, what};
}

}  // namespace warpmer::index::layout
