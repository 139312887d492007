#pragma once
/// Checks packed numbers of a file before they are trusted.

#include <cstdint>

#include "kmer/kmer.h"

namespace warpmer::index::layout {

/// True when the bits of the last word behind `bits` bits are zero.
bool rest_is_zero(const std::uint64_t* words, Key128 bits);

/// True when `buckets` + 1 offsets of `width` bits (1 to 64) rise, or stay, from 0 to `entries`. Reads up to
/// kReadAheadWords behind them. Every byte of an index that is used passes here, so it is made to be fast.
bool offsets_rise(const std::uint64_t* words, std::uint64_t buckets, std::uint32_t width,
                  std::uint64_t entries);

}  // namespace warpmer::index::layout
