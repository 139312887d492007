#include "index/index_layout.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <iterator>

#include "groups/shard_directory.h"
#include "index/packed_checks.h"
#include "kmer/bit_stream.h"

namespace warpmer::index::layout {
namespace {

__extension__ using Wide = unsigned __int128;

/// In the order of the file.
constexpr std::uint64_t Totals::*kTotalNumbers[] = {&Totals::counted_kmers,   &Totals::counted_distinct,
                                                    &Totals::counted_unique,  &Totals::stored_kmers,
                                                    &Totals::stored_distinct, &Totals::largest_count,
                                                    &Totals::min_count,       &Totals::max_count,
                                                    &Totals::records,         &Totals::bases};
/// Marks `min_count` where k-mers are chosen.
constexpr std::uint64_t kChosen = std::uint64_t{1} << 63;
static_assert(std::size(kTotalNumbers) * sizeof(std::uint64_t) == kTotalsBytes);

/// Sizes in bits of the three parts of a payload.
struct PayloadBits {
  Wide offsets = 0, entries = 0, exceptions = 0;
  [[nodiscard]] static Wide words(Wide bits) noexcept { return (bits + 63) / 64; }
  [[nodiscard]] Wide words() const noexcept { return words(offsets) + words(entries) + words(exceptions); }
};

unsigned offset_width(const ShardShape& shape) {
  return static_cast<unsigned>(std::bit_width(shape.entries));
}
unsigned number_width(const ShardShape& shape) {
  return shape.entries == 0 ? 0u : static_cast<unsigned>(std::bit_width(shape.entries - 1));
}

/// The widths have been checked: bucket_bits is below 64, no product reaches 2^128.
PayloadBits payload_bits(const ShardShape& shape, std::uint32_t k) {
  PayloadBits bits;
  if (shape.bucket_bits > 0) bits.offsets = ((Wide{1} << shape.bucket_bits) + 1) * offset_width(shape);
  bits.entries = Wide{shape.entries} * (2 * k - shape.bucket_bits + shape.count_bits);
  bits.exceptions = Wide{shape.exceptions} * (number_width(shape) + shape.exception_bits);
  return bits;
}

}  // namespace

void refuse_damaged(const std::string& name, const std::string& what) {
  refuse_damaged(kIndexKind, name, what);
}

std::uint64_t content_checksum(const IndexParams& params, const Trailer& trailer) {
  const std::string header = encode_header(params);
  ByteBuilder parts;
  parts.u64(file::checksum(header.data(), kHeaderBytes - 8));  // as stored in the header
  parts.u64(trailer.directory.checksum);
  return parts.checksum();
}

std::optional<std::string> params_fault(const IndexParams& params) {
  if (params.k < 1 || params.k > kMaxK) return fmt::format("its k is {}, not 1 to {}", params.k, kMaxK);
  if (params.minimizer_length > params.k) {
    return fmt::format("its minimizers are {} long, longer than k ({})", params.minimizer_length, params.k);
  }
  if (params.shard_bits > kMaxShardBits) {
    return fmt::format("it has 2^{} shards, more than 2^{}", params.shard_bits, kMaxShardBits);
  }
  if (has_strings(params.k) &&
      (params.minimizer_length != minimizer_length(params.k) || params.shard_bits != shard_bits(params.k))) {
    return fmt::format("its minimizers are {} long and it has 2^{} shards, not as k = {} has them",
                       params.minimizer_length, params.shard_bits, params.k);
  }
  return std::nullopt;
}

std::optional<std::string> shape_fault(const ShardShape& shape, std::uint32_t k,
                                       std::uint64_t payload_words) {
  const std::uint64_t entries = shape.entries;
  if (2 * k < 64 && entries > std::uint64_t{1} << (2 * k)) {
    return fmt::format("{} entries are more than there are k-mers for k={}", entries, k);
  }
  if (shape.exceptions > entries)
    return fmt::format("{} exceptions of {} entries", shape.exceptions, entries);
  if (shape.bucket_bits > 2 * k || shape.bucket_bits > 48 || (entries == 0 && shape.bucket_bits > 0)) {
    return fmt::format("2^{} buckets for {} entries", shape.bucket_bits, entries);
  }
  if (shape.count_bits < 1 || shape.count_bits > 64 || (entries == 0 && shape.count_bits != 1)) {
    return fmt::format("counts of {} bits for {} entries", shape.count_bits, entries);
  }
  if (shape.exception_bits > 64 || (shape.exception_bits == 0) != (shape.exceptions == 0)) {
    return fmt::format("{} exceptions of {} bits", shape.exceptions, shape.exception_bits);
  }
  const Wide expected = payload_bits(shape, k).words();
  if (expected != payload_words)
    return fmt::format("a payload of {} words, not what its entries need", payload_words);
  return std::nullopt;
}

std::optional<std::string> sizes_fault(const groups::ShardSizes& sizes) {
  // A string of c k-mers has at least c bases.
  if (sizes.words > UINT64_MAX / 64 || sizes.kmers > sizes.words * 32 || sizes.groups > sizes.kmers ||
      sizes.large_groups > sizes.groups || sizes.buckets > sizes.kmers || sizes.offset_bits > 64 ||
      (sizes.kmers == 0) != (sizes.words == 0) || (sizes.kmers == 0) != (sizes.groups == 0) ||
      (sizes.kmers == 0) != (sizes.buckets == 0) || (sizes.kmers == 0) != (sizes.offset_bits == 0)) {
    return fmt::format("{} k-mers of {} groups in {} words", sizes.kmers, sizes.groups, sizes.words);
  }
  return std::nullopt;
}

std::optional<std::string> payload_fault(const ShardView& view, std::uint32_t k) {
  const ShardShape& shape = view.shape;
  const PayloadBits bits = payload_bits(shape, k);
  const std::uint64_t* offsets = view.payload;
  const std::uint64_t* entries = offsets + static_cast<std::size_t>(PayloadBits::words(bits.offsets));
  const std::uint64_t* exceptions = entries + static_cast<std::size_t>(PayloadBits::words(bits.entries));
  if (!rest_is_zero(offsets, bits.offsets) || !rest_is_zero(entries, bits.entries) ||
      !rest_is_zero(exceptions, bits.exceptions)) {
    return "unused bits are not zero";
  }
  if (shape.bucket_bits > 0 &&
      !offsets_rise(offsets, std::uint64_t{1} << shape.bucket_bits, offset_width(shape), shape.entries)) {
    return "bucket offsets do not rise from 0 to the number of entries";
  }
  const unsigned width = number_width(shape);
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < shape.exceptions; ++i) {
    const std::uint64_t position = i * (width + shape.exception_bits) + shape.exception_bits;
    const auto number = read_bits<std::uint64_t>(exceptions, position, width);
    if (number < next || number >= shape.entries) return "its large counts belong to no entries";
    next = number + 1;
  }
  return std::nullopt;
}

std::optional<std::string> totals_fault(const Totals& totals, const Histogram& histogram,
                                        std::span<const DirectoryEntry> directory) {
  Wide entries = 0;
  for (const DirectoryEntry& entry : directory) entries += entry.kmers();
  if (entries != totals.stored_distinct) {
    return fmt::format("its totals speak of {} distinct k-mers, its shards of another number",
                       totals.stored_distinct);
  }
  // Below 2^128: distinct counts below 2^64 with numbers whose sum must stay below 2^64.
  Wide numbers = 0, kmers = 0;
  for (const auto& [count, number] : histogram) {
    if (count == 0 || number == 0) return std::string("its histogram has a count or a number of zero");
    numbers += number;
    if (numbers > totals.stored_distinct) break;
    kmers += Wide{count} * number;
  }
  if (numbers != totals.stored_distinct)
    return std::string("its histogram and its distinct k-mers do not add up");
  if (kmers != totals.stored_kmers)
    return std::string("its histogram and its k-mer occurrences do not add up");
  const std::uint64_t largest = histogram.empty() ? 0 : histogram.rbegin()->first;
  if (largest != totals.largest_count) return std::string("its largest count is not the histogram's");
  return std::nullopt;
}

std::string encode_header(const IndexParams& params) {
  return encode_header(kIndexKind, {params.k, params.canonical, params.minimizer_length, params.shard_bits,
                                    params.hash_version});
}

namespace {

std::string encode_string_directory(std::span<const DirectoryEntry> directory) {
  std::vector<groups::ShardEntry> shards;
  shards.reserve(directory.size());
  for (const DirectoryEntry& entry : directory) shards.push_back({entry.sizes, entry.checksum});
  const std::vector<std::uint64_t> words = groups::pack_directory(shards);
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof words[0]};
}

/// Reads the sizes and checksums of shards of strings.
std::vector<DirectoryEntry> decode_string_directory(Bytes section, const IndexParams& params,
                                                    std::uint64_t payloads_end, const std::string& name) {
  std::vector<std::uint64_t> words(section.size() / sizeof(std::uint64_t));
  if (section.size() % sizeof words[0] != 0)
    refuse_damaged(name, "its directory is no whole number of words");
  std::memcpy(words.data(), section.data(), section.size());
  std::vector<groups::ShardEntry> shards(params.shards());
  if (const auto fault = groups::unpack_directory(words, shards)) refuse_damaged(name, *fault);
  std::vector<DirectoryEntry> directory(shards.size());
  std::uint64_t end = kHeaderBytes;
  for (std::uint32_t shard = 0; shard < params.shards(); ++shard) {
    DirectoryEntry& entry = directory[shard];
    entry = {end, shards[shard].sizes.words, {}, shards[shard].checksum, shards[shard].sizes};
    if (const auto fault = sizes_fault(entry.sizes))
      refuse_damaged(name, fmt::format("shard {} claims {}", shard, *fault));
    if (entry.payload_words > (payloads_end - end) / sizeof(std::uint64_t))
      refuse_damaged(name, fmt::format("shard {} is not where it should be", shard));
    end += entry.payload_words * sizeof(std::uint64_t);
  }
  if (end != payloads_end) refuse_damaged(name, "its shards and its directory do not meet");
  return directory;
}

}  // namespace

std::string encode_directory(std::span<const DirectoryEntry> directory, std::uint32_t k) {
  if (has_strings(k)) return encode_string_directory(directory);
  ByteBuilder out;
  out.reserve(directory.size() * kEntryBytes);
  for (const DirectoryEntry& entry : directory) {
    out.u64(entry.offset);
    out.u64(entry.payload_words);
    out.u64(entry.shape.entries);
    out.u64(entry.shape.exceptions);
    out.u8(entry.shape.bucket_bits);
    out.u8(entry.shape.count_bits);
    out.u8(entry.shape.exception_bits);
    out.zeros(5);
    out.u64(entry.checksum);
  }
  return out.take();
}

std::string encode_totals(const Totals& totals) {
  ByteBuilder out;
  Totals marked = totals;
  marked.min_count = std::min(totals.min_count, kChosen - 1) | (totals.are_chosen != 0 ? kChosen : 0);
  for (const auto number : kTotalNumbers) out.u64(marked.*number);
  return out.take();
}

std::string encode_histogram(const Histogram& histogram) {
  ByteBuilder out;
  out.reserve(8 + histogram.size() * 16);
  out.u64(histogram.size());
  for (const auto& [count, number] : histogram) {
    out.u64(count);
    out.u64(number);
  }
  return out.take();
}

std::string encode_provenance(const Provenance& provenance) {
  ByteBuilder out;
  out.text(provenance.tool_version);
  out.text(provenance.command_line);
  out.u64(provenance.inputs.size());
  for (const std::string& input : provenance.inputs) out.text(input);
  return out.take();
}

IndexParams decode_header(Bytes head, const std::string& name) {
  const FileHeader fields = decode_header(kIndexKind, head, name);
  const IndexParams params{fields.k, fields.canonical, fields.first, fields.second, fields.hash_version};
  if (const auto fault = params_fault(params)) refuse_damaged(name, *fault);
  return params;
}

Trailer decode_trailer(Bytes file, const IndexParams& params, const std::string& name) {
  const Trailer trailer = decode_trailer(kIndexKind, file, name);
  const bool is_of_entries = trailer.directory.bytes == params.shards() * kEntryBytes;
  if ((!has_strings(params.k) && !is_of_entries) || trailer.totals.bytes != kTotalsBytes)
    refuse_damaged(name, "its sections do not fit together");
  if (trailer.sections_checksum != sections_checksum(encode_header(params), trailer))
    refuse_damaged(name, "its content does not match its checksum");
  return trailer;
}

std::vector<DirectoryEntry> decode_directory(Bytes file, const Trailer& trailer, const IndexParams& params,
                                             const std::string& name) {
  if (has_strings(params.k)) {
    const Bytes section = section_bytes(kIndexKind, file, trailer.directory, name, "directory");
    return decode_string_directory(section, params, trailer.directory.offset, name);
  }
  Parser in = parse_section(kIndexKind, file, trailer.directory, name, "directory");
  std::vector<DirectoryEntry> directory(params.shards());
  std::uint64_t end = kHeaderBytes;
  for (std::size_t shard = 0; shard < directory.size(); ++shard) {
    DirectoryEntry& entry = directory[shard];
    entry.offset = in.u64();
    entry.payload_words = in.u64();
    entry.shape.entries = in.u64();
    entry.shape.exceptions = in.u64();
    entry.shape.bucket_bits = in.u8();
    entry.shape.count_bits = in.u8();
    entry.shape.exception_bits = in.u8();
    in.zeros(5);
    entry.checksum = in.u64();
    if (entry.offset != end || entry.payload_words > (trailer.directory.offset - end) / 8) {
      refuse_damaged(name, fmt::format("shard {} is not where it should be", shard));
    }
    if (const auto fault = shape_fault(entry.shape, params.k, entry.payload_words)) {
      refuse_damaged(name, fmt::format("shard {} claims {}", shard, *fault));
    }
    end += entry.payload_words * 8;
  }
  if (end != trailer.directory.offset) refuse_damaged(name, "its shards and its directory do not meet");
  return directory;
}

Totals decode_totals(Bytes file, const Trailer& trailer, const std::string& name) {
  Parser in = parse_section(kIndexKind, file, trailer.totals, name, "totals");
  Totals totals;
  for (const auto number : kTotalNumbers) totals.*number = in.u64();
  totals.are_chosen = (totals.min_count & kChosen) != 0 ? 1 : 0;
  totals.min_count &= kChosen - 1;
  in.end();
  return totals;
}

Histogram decode_histogram(Bytes file, const Trailer& trailer, const std::string& name) {
  Parser in = parse_section(kIndexKind, file, trailer.list, name, "histogram");
  const std::uint64_t pairs = in.u64();
  if (pairs != in.left() / 16) refuse_damaged(name, "its histogram is not as long as it says");
  Histogram histogram;
  for (std::uint64_t i = 0; i < pairs; ++i) {
    const std::uint64_t count = in.u64();
    if (!histogram.empty() && count <= histogram.rbegin()->first) {
      refuse_damaged(name, "its histogram is not in order");
    }
    histogram.emplace_hint(histogram.end(), count, in.u64());
  }
  in.end();
  return histogram;
}

Provenance decode_provenance(const FileKind& kind, Bytes file, const Trailer& trailer,
                             const std::string& name) {
  Parser in = parse_section(kind, file, trailer.provenance, name, "provenance");
  Provenance provenance;
  provenance.tool_version = in.text();
  provenance.command_line = in.text();
  const std::uint64_t inputs = in.u64();
  if (inputs > in.left() / 8) refuse_damaged(kind, name, "its provenance is shorter than it says");
  for (std::uint64_t i = 0; i < inputs; ++i) provenance.inputs.emplace_back(in.text());
  in.end();
  return provenance;
}

}  // namespace warpmer::index::layout
