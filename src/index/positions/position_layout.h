#pragma once
/// The bytes of a position index: its parts, and how they are built and checked. The layout is described in
/// docs/position-index-format.md; writer and reader share nothing else.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "index/file_frame.h"
#include "index/positions/position_file.h"

namespace warpmer::index::layout {

inline constexpr std::uint32_t kMostBinBits = 24;
inline constexpr std::uint32_t kMostBucketBits = 48;
inline constexpr std::uint32_t kMostLocationBits = 56;
inline constexpr std::uint64_t kBinEntryBytes = 40;

/// One bin in the directory.
struct BinEntry {
  std::uint64_t offset = 0;  ///< offset of the payload in the file
  std::uint64_t payload_words = 0;
  std::uint64_t entries = 0;
  std::uint32_t bucket_bits = 0;
  std::uint64_t checksum = 0;
};

/// Sequences where they lie in the file.
struct SequenceTable {
  std::vector<std::uint64_t> begins;  ///< begin of each in all sequences; and the end of the last
  std::vector<std::string_view> names;
};

// --- Consistency. Each of these says what is wrong, or nothing. ---

[[nodiscard]] std::optional<std::string> params_fault(const PositionParams& params);
/// Says what is wrong where the payload is not as long as its entries make it.
[[nodiscard]] std::optional<std::string> bin_fault(const BinEntry& bin, const PositionParams& params);
/// Checks everything in a payload that a lookup relies on to stay inside it.
[[nodiscard]] std::optional<std::string> payload_fault(const BinView& view, const PositionParams& params);

// --- Building. ---

[[nodiscard]] std::string encode_header(const PositionParams& params);
[[nodiscard]] std::string encode_directory(std::span<const BinEntry> directory);
[[nodiscard]] std::string encode_totals(const PositionTotals& totals);
[[nodiscard]] std::string encode_sequences(std::span<const IndexedSequence> sequences);

// --- Reading. `name` is how messages call the file; whatever does not hold throws InputError. ---

[[nodiscard]] PositionParams decode_position_header(Bytes head, const std::string& name);
[[nodiscard]] Trailer decode_trailer(Bytes file, const PositionParams& params, const std::string& name);
[[nodiscard]] std::vector<BinEntry> decode_directory(Bytes file, const Trailer& trailer,
                                                     const PositionParams& params, const std::string& name);
/// Also checks them against the directory.
[[nodiscard]] PositionTotals decode_totals(Bytes file, const Trailer& trailer,
                                           std::span<const BinEntry> directory, const std::string& name);
/// Also checks them against totals and parameters. Names point into `file`.
[[nodiscard]] SequenceTable decode_sequences(Bytes file, const Trailer& trailer, const PositionTotals& totals,
                                             const PositionParams& params, const std::string& name);

}  // namespace warpmer::index::layout
