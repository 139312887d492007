#include "index/positions/position_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "index/index_layout.h"
#include "index/packed_checks.h"
#include "index/positions/position_codec.h"
#include "kmer/kmer.h"

namespace warpmer::index {

std::uint32_t location_bits_for(std::uint64_t bases) {
  return 1 + (bases == 0 ? 0 : static_cast<std::uint32_t>(std::bit_width(bases - 1)));
}

std::uint32_t bin_bits_for(std::uint64_t occurrences, std::uint32_t k) {
  constexpr std::uint32_t kBinEntryBits = 15, kMostBits = 15;
  const auto bits = static_cast<std::uint32_t>(std::bit_width(occurrences >> kBinEntryBits));
  return std::min({bits, kMostBits, 2 * k});
}

namespace layout {
namespace {

/// In the order of the file.
constexpr std::uint64_t PositionTotals::*kPositionTotals[] = {
    &PositionTotals::occurrences,      &PositionTotals::distinct,  &PositionTotals::unique,
    &PositionTotals::most_occurrences, &PositionTotals::sequences, &PositionTotals::bases};

[[noreturn]] void refuse_positions(const std::string& name, const std::string& what) {
  refuse_damaged(kPositionKind, name, what);
}

}  // namespace

std::optional<std::string> params_fault(const PositionParams& params) {
  if (params.k < 1 || params.k > kMaxK) return fmt::format("its k is {}, not 1 to {}", params.k, kMaxK);
  if (params.bin_bits > kMostBinBits || params.bin_bits > 2 * params.k)
    return fmt::format("it has 2^{} bins for k={}", params.bin_bits, params.k);
  if (params.location_bits < 1 || params.location_bits > kMostLocationBits)
    return fmt::format("its locations have {} bits", params.location_bits);
  return std::nullopt;
}

std::optional<std::string> bin_fault(const BinEntry& bin, const PositionParams& params) {
  if (bin.bucket_bits > 2 * params.k - params.bin_bits || bin.bucket_bits > kMostBucketBits ||
      (bin.entries == 0 && bin.bucket_bits > 0)) {
    return fmt::format("2^{} buckets for {} entries", bin.bucket_bits, bin.entries);
  }
  // More entries than locations would make sizes overflow.
  if (bin.entries >> (params.location_bits - 1) > 1)
    return fmt::format("{} entries, more than there are positions", bin.entries);
  if (bin_layout(bin.entries, bin.bucket_bits, params).words != bin.payload_words)
    return fmt::format("a payload of {} words, not what its entries need", bin.payload_words);
  return std::nullopt;
}

std::optional<std::string> payload_fault(const BinView& view, const PositionParams& params) {
  if (view.entries == 0) return std::nullopt;
  const BinLayout layout = bin_layout(view.entries, view.bucket_bits, params);
  const std::uint64_t buckets = std::uint64_t{1} << view.bucket_bits;
  if (!rest_is_zero(view.payload + layout.entries_at, Key128{view.entries} * layout.entry_bits))
    return "unused bits are not zero";
  if (view.bucket_bits == 0) return std::nullopt;
  if (!rest_is_zero(view.payload, (Key128{buckets} + 1) * layout.offset_bits))
    return "unused bits are not zero";
  if (!offsets_rise(view.payload, buckets, layout.offset_bits, view.entries))
    return "bucket offsets do not rise from 0 to the number of entries";
  return std::nullopt;
}

std::string encode_header(const PositionParams& params) {
  return encode_header(kPositionKind, {params.k, params.canonical, params.bin_bits, params.location_bits,
                                       params.hash_version});
}

std::string encode_directory(std::span<const BinEntry> directory) {
  ByteBuilder out;
  out.reserve(directory.size() * kBinEntryBytes);
  for (const BinEntry& bin : directory) {
    out.u64(bin.offset);
    out.u64(bin.payload_words);
    out.u64(bin.entries);
    out.u32(bin.bucket_bits);
    out.zeros(4);
    out.u64(bin.checksum);
  }
  return out.take();
}

std::string encode_totals(const PositionTotals& totals) {
  ByteBuilder out;
  for (const auto number : kPositionTotals) out.u64(totals.*number);
  return out.take();
}

std::string encode_sequences(std::span<const IndexedSequence> sequences) {
  ByteBuilder out;
  for (const IndexedSequence& sequence : sequences) {
    out.u64(sequence.length);
    out.text(sequence.name);
  }
  return out.take();
}

PositionParams decode_position_header(Bytes head, const std::string& name) {
  const FileHeader fields = decode_header(kPositionKind, head, name);
  const PositionParams params{fields.k, fields.canonical, fields.hash_version, fields.first, fields.second};
  if (const auto fault = params_fault(params)) refuse_positions(name, *fault);
  return params;
}

Trailer decode_trailer(Bytes file, const PositionParams& params, const std::string& name) {
  const Trailer trailer = decode_trailer(kPositionKind, file, name);
  if (trailer.directory.bytes != params.bins() * kBinEntryBytes)
    refuse_positions(name, "its sections do not fit together");
  if (trailer.sections_checksum != sections_checksum(encode_header(params), trailer))
    refuse_positions(name, "its content does not match its checksum");
  return trailer;
}

std::vector<BinEntry> decode_directory(Bytes file, const Trailer& trailer, const PositionParams& params,
                                       const std::string& name) {
  Parser in = parse_section(kPositionKind, file, trailer.directory, name, "directory");
  std::vector<BinEntry> directory(params.bins());
  std::uint64_t end = kHeaderBytes;
  for (std::size_t i = 0; i < directory.size(); ++i) {
    BinEntry& bin = directory[i];
    bin.offset = in.u64();
    bin.payload_words = in.u64();
    bin.entries = in.u64();
    bin.bucket_bits = in.u32();
    in.zeros(4);
    bin.checksum = in.u64();
    if (bin.offset != end || bin.payload_words > (trailer.directory.offset - end) / 8)
      refuse_positions(name, fmt::format("bin {} is not where it should be", i));
    if (const auto fault = bin_fault(bin, params))
      refuse_positions(name, fmt::format("bin {} claims {}", i, *fault));
    end += bin.payload_words * 8;
  }
  if (end != trailer.directory.offset) refuse_positions(name, "its bins and its directory do not meet");
  return directory;
}

PositionTotals decode_totals(Bytes file, const Trailer& trailer, std::span<const BinEntry> directory,
                             const std::string& name) {
  Parser in = parse_section(kPositionKind, file, trailer.totals, name, "totals");
  PositionTotals totals;
  for (const auto number : kPositionTotals) totals.*number = in.u64();
  in.end();
  Key128 entries = 0;
  for (const BinEntry& bin : directory) entries += bin.entries;
  if (entries != totals.occurrences || totals.occurrences > totals.bases)
    refuse_positions(name, "its totals are not those of its bins");
  return totals;
}

SequenceTable decode_sequences(Bytes file, const Trailer& trailer, const PositionTotals& totals,
                               const PositionParams& params, const std::string& name) {
  Parser in = parse_section(kPositionKind, file, trailer.list, name, "list of sequences");
  if (totals.sequences > in.left() / 16 || totals.sequences > UINT32_MAX)
    refuse_positions(name, "its list of sequences is shorter than it says");
  SequenceTable table;
  table.begins.reserve(totals.sequences + 1);
  table.names.reserve(totals.sequences);
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < totals.sequences; ++i) {
    table.begins.push_back(at);
    const std::uint64_t length = in.u64();
    if (length > totals.bases - at) refuse_positions(name, "its sequences have more bases than it says");
    at += length;
    table.names.push_back(in.text());
  }
  table.begins.push_back(at);
  in.end();
  if (at != totals.bases) refuse_positions(name, "its sequences have fewer bases than it says");
  if (params.location_bits != location_bits_for(totals.bases))
    refuse_positions(name, "its locations have not the bits that its sequences need");
  return table;
}

}  // namespace layout
}  // namespace warpmer::index
