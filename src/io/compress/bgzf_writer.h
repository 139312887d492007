#pragma once
/// BGZF for writing: a thread that has text compresses its blocks itself, so that several threads do.

#include <cstddef>
#include <string>
#include <string_view>

namespace warpmer::io {

/// The default of bgzip and samtools.
constexpr int kDefaultCompressionLevel = 6;
constexpr int kHighestCompressionLevel = 9;

/// Text of a block, as bgzip has it.
constexpr std::size_t kBgzfBlockText = 0xff00;

/// The empty block that ends every BGZF file.
inline constexpr std::string_view kBgzfEnd{
    "\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\xff\x06\x00\x42\x43\x02\x00\x1b\x00\x03\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00",
    28};

/// Appends `text` as whole BGZF blocks; none for no text. Any number of results, one behind the other and
/// `kBgzfEnd` at the end, are a BGZF file. `level`: from 0, stored, to 9. ResourceError when compression
/// fails.
void append_bgzf(std::string_view text, int level, std::string& to);

}  // namespace warpmer::io
