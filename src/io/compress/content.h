#pragma once
/// Recognises a file by its first bytes; its name says nothing.

#include <cstddef>
#include <string>
#include <string_view>

#include "file/byte_file.h"

namespace warpmer::io {

/// Some editors put it in front of a text, where it means nothing.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

enum class InputContent {
  text,  ///< FASTA, FASTQ, or something the text reader will refuse
  gzip,
  bgzf,  ///< with text inside
  zstd,
  bzip2,
  xz,
  records,  ///< a format with a reader of its own
};

/// Returns the name of the format with a reader of its own that a file begins as, such as "BAM"; empty if it
/// is none. Takes nothing of the file. (Defined in io/record_formats.cpp, with the list of these formats.)
std::string_view record_format_name(file::ByteFile& file);

/// True when what begins so is compressed in a way that warpmer knows, also if it was built without the
/// library for it. `start`: kForeignBytes, or less of a shorter file.
bool is_compressed(std::string_view start);
/// Looks at the start of `file` without taking it. Throws InputError for formats that are recognised
/// but not read, saying how to get at the reads.
InputContent detect_content(file::ByteFile& file);

/// Says in a few words what begins with such bytes, if it is sequencing data, or compressed as warpmer cannot
/// read it, so that there may be some in it; empty if not. `start`: kForeignBytes, or less of a shorter file.
std::string foreign_sequence_data(std::string_view start);
inline constexpr std::size_t kForeignBytes = 16;

/// True when a text begins as SAM does, with a line of its header.
bool is_sam(std::string_view start);

/// Says in a few words what `start`, which is not the start of a FASTA or FASTQ record, looks like.
std::string describe_start(std::string_view start);

}  // namespace warpmer::io
