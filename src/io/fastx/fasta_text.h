#pragma once
/// FASTA text to joined sequences, by many at once, each with sixteen characters: which of them belong to
/// sequences, and what those behind have to know of them. For devices; the host reads FASTA with
/// RecordParser, and what this takes for plain both read alike:
///
///   - a line that begins with '>' is a header; every other line, an empty one too, is sequence;
///   - a line end is '\n' with a '\r' before it, if there is one, and there is no other '\r';
///   - sequences have no blanks, which are no bases, and nothing that begins a record: no '@', which at the
///     begin of a line would be FASTQ, and no '>', where two files were joined without a line end.
///
/// A text begins within a sequence line (io/fastx/fasta_chunk.h).

#include <bit>
#include <cstdint>

#include "kmer/platform.h"

namespace warpmer::io {

WARPMER_HD std::uint32_t ones_in(std::uint32_t mask) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__popc(mask));
#else
  return static_cast<std::uint32_t>(std::popcount(mask));
#endif
}

/// Up to sixteen consecutive characters of a text. The i-th has bit i in masks.
struct FastaCharacters {
  static constexpr std::uint32_t kCount = 16;

  std::uint32_t all = 0;  ///< those there are: fewer only at the end of the text
  std::uint32_t line_feeds = 0, returns = 0, headers = 0, ats = 0;  ///< masks of '\n', '\r', '>', '@'
  std::uint32_t blanks = 0;                                         ///< mask of other characters up to ' '
  bool follows_line_feed = false;                                   ///< the character before them is one
  bool precedes_line_feed = false;                                  ///< the character behind them is one

  [[nodiscard]] WARPMER_HD std::uint32_t line_begins() const {
    return (line_feeds << 1 | (follows_line_feed ? 1u : 0u)) & all;
  }
  /// Returns the '>' of headers.
  [[nodiscard]] WARPMER_HD std::uint32_t header_begins() const { return line_begins() & headers; }
  /// Returns those before the first line that begins here: what they are depends on what comes before.
  [[nodiscard]] WARPMER_HD std::uint32_t before_lines() const {
    const std::uint32_t begins = line_begins();
    return begins == 0 ? all : (begins & (0 - begins)) - 1;
  }
  /// Returns those in headers that begin here.
  [[nodiscard]] WARPMER_HD std::uint32_t in_new_headers() const {
    std::uint32_t in_header = 0;
    for (std::uint32_t rest = line_begins(); rest != 0; rest &= rest - 1) {
      const std::uint32_t here_on = 0 - (rest & (0 - rest));
      in_header = (rest & (0 - rest) & headers) != 0 ? in_header | here_on : in_header & ~here_on;
    }
    return in_header & all;
  }
  /// Returns those in headers, if a header is what the text before ends in, or not.
  [[nodiscard]] WARPMER_HD std::uint32_t in_headers(bool begins_in_header) const {
    return in_new_headers() | (begins_in_header ? before_lines() : 0);
  }
  [[nodiscard]] WARPMER_HD std::uint32_t line_ends() const {
    return line_feeds | (returns & (line_feeds >> 1 | (precedes_line_feed ? 1u << (kCount - 1) : 0u)));
  }
  /// Returns those that joined text has: characters of sequences and, for each header, its '>', in whose
  /// place a separator comes.
  [[nodiscard]] WARPMER_HD std::uint32_t joined(bool begins_in_header) const {
    return (all & ~line_ends() & ~in_headers(begins_in_header)) | header_begins();
  }
  /// True when there are characters that are not plain.
  [[nodiscard]] WARPMER_HD bool are_odd(bool begins_in_header) const {
    const std::uint32_t odd_in_sequences = blanks | headers | ats;
    return ((odd_in_sequences & ~in_headers(begins_in_header)) | (returns & ~line_ends())) != 0;
  }
};

/// The facts that those behind a stretch of text have to know of it.
struct FastaStretch {
  enum LineKind : std::uint32_t { goes_on, sequence, header };

  std::uint32_t open;  ///< characters joined of what is before its first line, if that is no header
  std::uint32_t rest;  ///< characters joined of what follows
  LineKind line;       ///< the last that begins in it, if any does

  /// Characters joined of a stretch from the beginning of a text, which is in a sequence line.
  [[nodiscard]] WARPMER_HD std::uint32_t joined() const { return open + rest; }
  [[nodiscard]] WARPMER_HD bool ends_in_header() const { return line == header; }
};

WARPMER_HD FastaStretch stretch_of(const FastaCharacters& characters) {
  const std::uint32_t joined = characters.joined(false), open = joined & characters.before_lines();
  const std::uint32_t last = characters.all ^ characters.all >> 1;  // of all from the first on
  const FastaStretch::LineKind line = characters.line_begins() == 0               ? FastaStretch::goes_on
                                      : (characters.in_new_headers() & last) != 0 ? FastaStretch::header
                                                                                  : FastaStretch::sequence;
  return {ones_in(open), ones_in(joined & ~open), line};
}

/// Joins two stretches, one after the other, to one. They can be joined in any grouping, so that many threads
/// can find out at once what is before them; with `FastaStretch{}` for one without characters.
WARPMER_HD FastaStretch operator+(const FastaStretch& a, const FastaStretch& b) {
  const std::uint32_t open = a.line == FastaStretch::goes_on ? a.open + b.open : a.open;
  std::uint32_t rest = a.rest + b.rest;
  if (a.line == FastaStretch::sequence) rest += b.open;
  return {open, rest, b.line == FastaStretch::goes_on ? a.line : b.line};
}

}  // namespace warpmer::io
