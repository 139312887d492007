#pragma once
/// Memory that htslib holds while it reads CRAM.

#include <htslib/sam.h>

#include <cstdint>
#include <optional>
#include <string>

#include "file/byte_file.h"
#include "io/hts/cram_watch.h"
#include "io/text/input_list.h"

namespace warpmer::io {

/// A file that is going to be read.
struct CramNeeds {
  CramSize size;
  std::uint64_t reference_bases = 0;  ///< bases of the longest sequence that may be needed

  /// Returns the bytes that htslib holds for the file when `threads` threads decode it. Measured: for slices
  /// of up to 50 million bases in long and in short reads, headers of up to a million sequences; and two
  /// sequences of the reference, one being read, one being left.
  [[nodiscard]] std::uint64_t bytes(unsigned threads) const;
};

/// The most that htslib writes into a slice unless it is told otherwise: 5 million bases, 10,000 records.
constexpr std::uint64_t kUsualSliceBases = 5'000'000 + 10'000 * CramSize::kRecordBases;

/// Returns what reading a file on disk is going to need, as far as its first containers tell; its slices are
/// taken to be no smaller than usual. Nothing for a pipe, for a file that does not begin like CRAM, and for
/// one that cannot be looked at: opening it will say why. `reference`: FASTA, or empty for what htslib finds
/// by the file's header. InputError for damage.
std::optional<CramNeeds> look_at_cram(const InputFile& input, const std::string& reference);

/// Returns the size that the first slice of a file, or of a pipe, tells, if that comes within 4 MiB; else it
/// is taken to be as usual. InputError for damage.
CramSize look_at_cram(file::ByteFile& file);

/// Returns the length of the longest sequence of a file's header, in bases.
std::uint64_t longest_sequence(const sam_hdr_t& header);
/// Returns the same for FASTA, by its index; without one, the size of `reference`.
std::uint64_t longest_sequence(const std::string& reference);

}  // namespace warpmer::io
