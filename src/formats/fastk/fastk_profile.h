#pragma once
/// Profiles of FastK: `X.prof`, a stub, and for each of N parts the hidden files `.X.pidx.i` and `.X.prof.i`.
///
/// The stub: k, N, i32 each. `.X.pidx.i`: k (i32); the number of the part's first sequence, from 0, and how
/// many the part has (i64 each); then for each sequence where its profile ends in `.X.prof.i` (i64). A
/// profile is the counts at all positions of a sequence, of at most 32,767; the first of them in one byte, or
/// from 128 on in two with the highest bit set; then differences: 1 to 63 (u8) for so many of 0; 01 and six
/// bits of a signed number for -31 to 31; else two bytes, the highest bit set, with the lowest 15 bits of the
/// difference. Of two bytes the first is the higher. Verified with FastK of 2024.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "file/output/buffered_output.h"

namespace warpmer::formats {

/// Profiles of sequences that follow one another, or of pieces of sequences.
struct FastkProfiles {
  /// The bytes of the first counts of a piece are made when the piece before is known.
  struct ProfilePiece {
    bool begins = true, ends = true;  ///< the sequence
    std::uint16_t first = 0;          ///< count
    std::uint16_t last = 0;           ///< count
    std::uint8_t run = 0;     ///< positions at the end that have no bytes yet, the count being the last
    std::uint64_t alike = 0;  ///< positions at the beginning that have the first count, and no bytes
    std::size_t end = 0;      ///< of its bytes
  };

  std::string bytes;
  std::vector<ProfilePiece> pieces;

  /// Adds a piece's counts, which may be larger than FastK's. `begins`, `ends`: it is the first and the last
  /// piece of its sequence.
  void add(std::span<const std::uint64_t> counts, bool begins, bool ends);
};

class FastkProfileSink {
 public:
  /// `path`: X.prof, or X. Parts have the same number of sequences, about; if `sequences` is 0, not known,
  /// all are in the first.
  FastkProfileSink(const std::string& path, std::uint32_t k, std::uint32_t parts, std::uint64_t sequences);

  /// Adds those of the next pieces.
  void write(const FastkProfiles& profiles);
  /// Completes the files. Without it none is left.
  void finish();

 private:
  struct ProfilePart {
    explicit ProfilePart(const std::string& path, std::uint32_t number);
    file::BufferedOutput index, profiles;
  };

  void begin_part();
  void end_part();
  void begin_sequence();
  void join(const FastkProfiles::ProfilePiece& piece, std::string_view bytes);
  void end_sequence();

  std::uint32_t k_;
  std::uint64_t sequences_;
  std::string target_;  ///< the stub's path without its ending, links resolved
  file::BufferedOutput stub_;
  std::vector<std::unique_ptr<ProfilePart>> parts_;
  std::size_t part_ = 0;
  std::uint64_t part_begin_ = 0;  ///< number of its first sequence
  std::uint64_t written_ = 0;     ///< sequences
  bool has_counts_ = false;       ///< of the sequence that is being written
  int last_ = 0;                  ///< its last count
  unsigned run_ = 0;              ///< its last positions, which have that count, and no bytes yet
};

}  // namespace warpmer::formats
