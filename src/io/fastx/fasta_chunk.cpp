#include "io/fastx/fasta_chunk.h"

#include <cstddef>
#include <cstring>

#include "system/byte_search.h"

namespace warpmer::io {
namespace {

/// Returns the last line end; null if there is none.
const char* last_line_end(const char* begin, const char* end) {
  if (begin >= end) return nullptr;
  return system::last_byte(begin, '\n', static_cast<std::size_t>(end - begin));
}

bool begins_record(char first_of_line) { return first_of_line == '>' || first_of_line == '@'; }

}  // namespace

const char* fasta_chunk_begin(const ChunkBorder& border) {
  const char* const line_end = last_line_end(border.begin, border.at);
  if (line_end == nullptr) return border.at;
  if (line_end + 1 == border.at) return line_end;
  if (!begins_record(line_end[1])) return border.at;
  if (line_end[1] == '@') return nullptr;
  const auto* const header_end = static_cast<const char*>(
      std::memchr(border.at, '\n', static_cast<std::size_t>(border.end - border.at)));
  if (header_end == nullptr && border.is_file_end) return border.end;
  return header_end;
}

bool is_sequence_at(const ChunkBorder& border, const char* text) {
  if (last_line_end(border.begin, border.at) != nullptr) return true;
  const char* const line_end = last_line_end(text, border.at);
  return line_end == nullptr || !begins_record(line_end[1]);
}

std::optional<FastaOverlap> fasta_overlap(const ChunkBorder& border, const char* begin,
                                          std::uint32_t most_characters) {
  std::uint32_t characters = 0;
  bool begins_line = false;
  for (const char* at = begin; at < border.end; ++at) {
    if (*at == '\n') {
      begins_line = true;
      continue;
    }
    if (*at == '\r') {
      const bool is_last = at + 1 == border.end;
      if (is_last && !border.is_file_end) break;
      // On its own it is no line end: an overlap that ended with it would look as if it was.
      if (!is_last && at[1] != '\n') return FastaOverlap{at, characters};
      continue;
    }
    if (characters == most_characters || (begins_line && begins_record(*at)))
      return FastaOverlap{at, characters};
    ++characters;
    begins_line = false;
  }
  if (!border.is_file_end) return std::nullopt;
  return FastaOverlap{border.end, characters};
}

}  // namespace warpmer::io
