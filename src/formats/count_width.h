#pragma once
/// Counts in fields of whole bytes.

#include <cstdint>
#include <span>

#include "formats/kmer_stream.h"

namespace warpmer::formats {

/// The largest count that `bytes` bytes, 1 to 8, can hold.
constexpr std::uint64_t largest_of_bytes(std::uint32_t bytes) {
  return ~std::uint64_t{0} >> (64 - 8 * bytes);
}

/// Bytes, 1 to 8, that counts up to `largest` need.
std::uint32_t bytes_of_count(std::uint64_t largest);

/// InputError for the first count that `bytes` bytes cannot hold, with its k-mer.
void check_counts(std::span<const CountedKmer> kmers, std::uint32_t k, std::uint32_t bytes);

}  // namespace warpmer::formats
