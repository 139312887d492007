#pragma once
/// FASTA text in chunks that many threads take up at once, with no word between them.
///
/// A file is cut at any places: in lines as long as chromosomes there need not be a line begin near. From
/// what stands around such a place, x, follows where the chunk that is cut off there begins, the same for
/// the thread that takes it and for the one that takes the chunk before, which ends there:
///
///   x is the begin of a line          at the line end before it
///   x is in a sequence line           at x
///   x is in a header line             at the line end of the header
///
/// (The file is thought to have a line end before its first character.) So each chunk begins in a sequence
/// line, or with a line end, and its text alone says which lines are what. Every character of the
/// file but those of a header's rest is in one chunk, and a header belongs to the chunk in which it begins.
///
/// A k-mer belongs to the chunk in which its first character is. For those that reach into the next chunk, a
/// chunk's text goes on with an overlap: the next k - 1 characters of the same sequence, with the line ends
/// among them, and fewer only where a header, the file's end or a character that is in no k-mer comes first.
/// No k-mer begins in the overlap: it has less than k characters. So each k-mer is in exactly one text.
///
/// Which line x is in, only so many characters before it tell. Where they have no line end, it is taken for a
/// sequence line, and the thread that has the chunk before, or the one where that line begins, sees
/// whether it is one.

#include <cstdint>
#include <optional>

namespace warpmer::io {

/// The characters around the place where one chunk ends and the next begins.
struct ChunkBorder {
  const char* begin;  ///< with the line end before the file, if it goes back so far
  const char* at;     ///< the place; behind `begin`
  const char* end;
  bool is_file_end;  ///< nothing follows behind `end`
};

/// Returns the place where the next chunk begins. Null when that cannot be seen (a header that does not end),
/// or there is FASTQ.
const char* fasta_chunk_begin(const ChunkBorder& border);

/// False when the line at the border is a header that was taken for sequence, by what stands between `text`,
/// which is the beginning of the chunk before, and the border.
bool is_sequence_at(const ChunkBorder& border, const char* text);

struct FastaOverlap {
  const char* end;
  std::uint32_t characters;  ///< characters of sequence
};

/// Returns what a chunk's text goes on with, from `begin`, where the next chunk begins: at most
/// `most_characters`, and the line ends with them. Nothing when that cannot be seen (hundreds of blank
/// lines).
std::optional<FastaOverlap> fasta_overlap(const ChunkBorder& border, const char* begin,
                                          std::uint32_t most_characters);

}  // namespace warpmer::io
