#pragma once
/// What htslib holds while it reads CRAM.

#include <cstdint>
#include <string>

namespace warpmer::io {

/// Whether a file on disk begins like CRAM. False when it cannot be looked at: opening it will say why.
bool is_cram(const std::string& path);

/// Bytes that htslib holds for an open CRAM file which `threads` threads decode. Measured, for slices of 5
/// million bases, the most that htslib writes; with the two longest sequences of `reference` (FASTA; empty
/// for none): one being read, one being left.
std::uint64_t cram_memory_bytes(unsigned threads, const std::string& reference);

}  // namespace warpmer::io
