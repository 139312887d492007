#pragma once
/// A record as it is in a BAM file: what of it a filter wants to know, and the same record of fewer bases.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace warpmer::io {

/// A view of a record's bytes, its size first (SAMv1, section 4.2). Positions are those of the read as it was
/// sequenced, which `is_reverse` records hold turned around.
class BamRecord {
 public:
  static constexpr std::uint8_t kNoQuality = 0xff;

  /// `bytes` begins with the record.
  explicit BamRecord(std::string_view bytes);

  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool is_aligned() const noexcept { return (flag() & kUnmapped) == 0; }
  [[nodiscard]] bool is_reverse() const noexcept { return (flag() & kReverse) != 0; }
  [[nodiscard]] std::size_t length() const noexcept;
  /// Returns the Phred quality of a base; kNoQuality if the record has none.
  [[nodiscard]] std::uint8_t quality(std::size_t position) const noexcept;

  /// Appends this record, which is not aligned, with other bases: the i-th of `bases` (IUPAC codes, as
  /// sequenced) is in place of position `first` + i, whose quality it keeps; there are no others. Tags that
  /// say something about each base are cut or left out (io/hts/base_tags.h). False when tags are damaged.
  [[nodiscard]] bool append_with_bases(std::string_view bases, std::size_t first, std::string& to) const;

 private:
  static constexpr std::uint32_t kUnmapped = 4;
  static constexpr std::uint32_t kReverse = 16;

  [[nodiscard]] std::uint32_t flag() const noexcept;
  [[nodiscard]] std::size_t sequence_offset() const noexcept;

  std::string_view bytes_;
};

}  // namespace warpmer::io
