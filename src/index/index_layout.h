#pragma once
/// The bytes of an index file: its parts, and how they are built and checked. The layout is
/// described in docs/index-format.md; writer and reader share nothing else.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "index/file_frame.h"
#include "index/frozen_shard.h"
#include "index/index_file.h"
#include "kmer/kmer.h"
#include "kmer/minimizer.h"

namespace warpmer::index::layout {

inline constexpr std::uint32_t kMaxShardBits = 24;
inline constexpr std::uint64_t kEntryBytes = 48;  ///< of a shard of entries
inline constexpr std::uint64_t kTotalsBytes = 80;

/// One shard in the directory: of entries or of strings (has_strings).
struct DirectoryEntry {
  std::uint64_t offset = 0;  ///< offset of the payload in the file
  std::uint64_t payload_words = 0;
  ShardShape shape;
  std::uint64_t checksum = 0;
  groups::ShardSizes sizes = {};

  [[nodiscard]] std::uint64_t kmers() const noexcept { return shape.entries + sizes.kmers; }
};

/// True when the shards of indexes of this k are strings of k-mers.
[[nodiscard]] constexpr bool has_strings(std::uint32_t k) { return k > kMaxDenseK; }

/// Returns the checksum of k, strand, k-mers and counts alone: indexes of equal content have equal ones,
/// however they were made. Totals depend on that (what was read and filtered), and are left out.
[[nodiscard]] std::uint64_t content_checksum(const IndexParams& params, const Trailer& trailer);

// --- Consistency. Each of these says what is wrong, or nothing. ---

[[nodiscard]] std::optional<std::string> params_fault(const IndexParams& params);
/// Includes whether `payload_words` is what the shape makes it.
[[nodiscard]] std::optional<std::string> shape_fault(const ShardShape& shape, std::uint32_t k,
                                                     std::uint64_t payload_words);
/// Says what is wrong with sizes before the payload is looked at.
[[nodiscard]] std::optional<std::string> sizes_fault(const groups::ShardSizes& sizes);
/// Checks everything in a payload of entries that a lookup relies on to stay inside it: offsets rise from 0
/// to `entries`, exceptions name existing entries in rising order, unused bits are zero.
[[nodiscard]] std::optional<std::string> payload_fault(const ShardView& view, std::uint32_t k);
[[nodiscard]] std::optional<std::string> totals_fault(const Totals& totals, const Histogram& histogram,
                                                      std::span<const DirectoryEntry> directory);

// --- Building. ---

[[nodiscard]] std::string encode_header(const IndexParams& params);
[[nodiscard]] std::string encode_directory(std::span<const DirectoryEntry> directory, std::uint32_t k);
[[nodiscard]] std::string encode_totals(const Totals& totals);
[[nodiscard]] std::string encode_histogram(const Histogram& histogram);
[[nodiscard]] std::string encode_provenance(const Provenance& provenance);

// --- Reading. `name` is how messages call the file; whatever does not hold throws InputError. ---

/// `head` is the beginning of the file: all of it, when the file is shorter than a header.
[[nodiscard]] IndexParams decode_header(Bytes head, const std::string& name);
/// Also checks that the sections follow each other without a gap up to the end of the file.
[[nodiscard]] Trailer decode_trailer(Bytes file, const IndexParams& params, const std::string& name);
/// Also checks that the payloads fill the space between header and directory without a gap.
[[nodiscard]] std::vector<DirectoryEntry> decode_directory(Bytes file, const Trailer& trailer,
                                                           const IndexParams& params,
                                                           const std::string& name);
[[nodiscard]] Totals decode_totals(Bytes file, const Trailer& trailer, const std::string& name);
[[nodiscard]] Histogram decode_histogram(Bytes file, const Trailer& trailer, const std::string& name);
/// Of any kind of file.
[[nodiscard]] Provenance decode_provenance(const FileKind& kind, Bytes file, const Trailer& trailer,
                                           const std::string& name);

/// Throws the InputError for a file that was an index once.
[[noreturn]] void refuse_damaged(const std::string& name, const std::string& what);

}  // namespace warpmer::index::layout
