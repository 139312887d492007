#pragma once
/// The frame that warpmer's file formats have in common: a header of 64 bytes in front, a trailer of 136
/// bytes behind, which names four sections, numbers that are little-endian, checksums over everything.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "file/checksum.h"
#include "file/index_magic.h"
#include "kmer/hash.h"

namespace warpmer::index::layout {

using Bytes = std::span<const std::byte>;

inline constexpr std::uint64_t kHeaderBytes = 64;
inline constexpr std::uint64_t kTrailerBytes = 136;

/// One of the formats, and how messages speak of it.
struct FileKind {
  std::string_view magic, end_magic;  ///< of 8 bytes
  std::uint32_t version, hash_version;
  const char* noun;   ///< "index"
  const char* maker;  ///< "warpmer count"
  const char* redo;   ///< "count again"
};
inline constexpr FileKind kIndexKind{file::kIndexMagic, "\x89WMIEND\n", 2, kHashVersion, "index",
                                     "warpmer count",   "count again"};
inline constexpr FileKind kPositionKind{file::kPositionMagic,
                                        "\x89WMPEND\n",
                                        1,
                                        kKmerHashVersion,
                                        "index of positions",
                                        "warpmer positions",
                                        "run 'warpmer positions' again"};

static_assert(kIndexKind.magic.size() == 8 && kIndexKind.end_magic.size() == 8);
static_assert(kPositionKind.magic.size() == 8 && kPositionKind.end_magic.size() == 8);

/// A part of a file that is checked as a whole.
struct Section {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
};

/// A header's numbers, beside its format's version.
struct FileHeader {
  std::uint32_t k = 0;
  bool canonical = false;
  std::uint32_t first = 0, second = 0;  ///< each kind's own
  std::uint32_t hash_version = 0;
};

/// The last bytes of a file: the sections, in order, each beginning where the one before it ends.
struct Trailer {
  Section directory, totals;
  Section list;  ///< histogram, or sequences
  Section provenance;
  std::uint64_t sections_checksum = 0;
  std::uint64_t file_bytes = 0;
};

/// Throws the InputError for a file that was of this kind once.
[[noreturn]] void refuse_damaged(const FileKind& kind, const std::string& name, const std::string& what);

/// Appends little-endian numbers to a string of bytes.
class ByteBuilder {
 public:
  void u8(std::uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void u32(std::uint32_t value) { append(&value, sizeof value); }
  void u64(std::uint64_t value) { append(&value, sizeof value); }
  void magic(std::string_view magic) { bytes_ += magic; }
  void zeros(std::size_t n) { bytes_.append(n, '\0'); }
  void text(const std::string& text) {
    u64(text.size());
    bytes_ += text;
    zeros((8 - text.size() % 8) % 8);
  }
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  /// Returns the checksum of everything so far.
  [[nodiscard]] std::uint64_t checksum() const noexcept {
    return file::checksum(bytes_.data(), bytes_.size());
  }
  std::string take() { return std::move(bytes_); }

 private:
  void append(const void* data, std::size_t n) { bytes_.append(static_cast<const char*>(data), n); }
  std::string bytes_;
};

/// Takes little-endian numbers off the front of a section, and refuses to run past its end.
class Parser {
 public:
  Parser(const FileKind& kind, Bytes bytes, const std::string& name, const char* section)
      : kind_(&kind), bytes_(bytes), name_(&name), section_(section) {}

  std::uint8_t u8() { return number<std::uint8_t>(); }
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::uint64_t u64() { return number<std::uint64_t>(); }
  void zeros(std::size_t n) {
    for (const std::byte b : take(n)) {
      if (b != std::byte{0})
        refuse_damaged(*kind_, *name_, std::string("unused bytes of its ") + section_ + " are not zero");
    }
  }
  /// Returns a text where it lies.
  std::string_view text() {
    const std::uint64_t size = u64();
    if (size > bytes_.size()) overrun();
    const Bytes taken = take(size);
    zeros((8 - size % 8) % 8);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  [[nodiscard]] std::size_t left() const noexcept { return bytes_.size(); }
  void end() const {
    if (!bytes_.empty())
      refuse_damaged(*kind_, *name_, std::string("its ") + section_ + " is longer than it says");
  }

 private:
  [[noreturn]] void overrun() const {
    refuse_damaged(*kind_, *name_, std::string("its ") + section_ + " is shorter than it says");
  }
  Bytes take(std::size_t n) {
    if (n > bytes_.size()) overrun();
    const Bytes taken = bytes_.first(n);
    bytes_ = bytes_.subspan(n);
    return taken;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  const FileKind* kind_;
  Bytes bytes_;
  const std::string* name_;
  const char* section_;
};

[[nodiscard]] std::string encode_header(const FileKind& kind, const FileHeader& fields);
/// Returns the fields of a header, whose magic, versions, size and checksum are right. `head` is the
/// beginning of the file: all of it, when the file is shorter than a header.
[[nodiscard]] FileHeader decode_header(const FileKind& kind, Bytes head, const std::string& name);

/// Returns the checksum of everything but provenance, from the stored checksums of its parts (the directory
/// holds the payloads').
[[nodiscard]] std::uint64_t sections_checksum(const std::string& header, const Trailer& trailer);

[[nodiscard]] std::string encode_trailer(const FileKind& kind, const Trailer& trailer);
/// Also checks that the sections follow each other without a gap up to the end of the file. The caller checks
/// the sections themselves, and their checksum.
[[nodiscard]] Trailer decode_trailer(const FileKind& kind, Bytes file, const std::string& name);

/// Returns a section's bytes, its checksum verified; `what` names it.
[[nodiscard]] Bytes section_bytes(const FileKind& kind, Bytes file, const Section& section,
                                  const std::string& name, const char* what);
/// Returns the same, to be taken apart.
[[nodiscard]] Parser parse_section(const FileKind& kind, Bytes file, const Section& section,
                                   const std::string& name, const char* what);

}  // namespace warpmer::index::layout
