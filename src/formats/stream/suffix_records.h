#pragma once
/// For sinks with a table of how many k-mers begin with which prefix: their records have what follows it.

#include <cstdint>
#include <cstring>
#include <span>

#include "formats/stream/kmer_stream.h"

namespace warpmer::formats {

/// Encodes each k-mer, `padding` zero bits behind it, as its last `suffix_bytes` bytes (up to 15), the
/// highest first, and its count in `count_bytes`; it goes to the run of what is before these.
inline void encode_suffixes(std::span<const CountedKmer> kmers, std::uint32_t padding,
                            std::uint32_t suffix_bytes, std::uint32_t count_bytes, EncodedKmers& to) {
  /// Bytes that may be written behind a record, to be written over.
  constexpr std::size_t kWholeWords = 24;
  const std::uint32_t suffix_bits = 8 * suffix_bytes;
  char* out = to.bytes.reserve(kmers.size() * (suffix_bytes + count_bytes) + kWholeWords);
  for (const CountedKmer& each : kmers) {
    const Key128 aligned = each.kmer << padding;
    to.add_to_run(static_cast<std::uint64_t>(aligned >> suffix_bits));
    // Whole words are written, and what is too much of them written over.
    const Key128 suffix = suffix_bits == 0 ? 0 : aligned << (128 - suffix_bits);
    const std::uint64_t words[] = {__builtin_bswap64(static_cast<std::uint64_t>(suffix >> 64)),
                                   __builtin_bswap64(static_cast<std::uint64_t>(suffix))};
    std::memcpy(out, words, sizeof words);
    out += suffix_bytes;
    std::memcpy(out, &each.count, sizeof each.count);
    out += count_bytes;
  }
  to.bytes.commit(out);
  to.kmers += kmers.size();
}

}  // namespace warpmer::formats
