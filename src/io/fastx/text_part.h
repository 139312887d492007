#pragma once
/// A part of a large file of text, read as if it were a file of its own.
///
/// A file is cut near the places that divide it equally: at the first record that begins behind such a place.
/// That record follows from what stands there alone, so the reader of a part and the reader of the part
/// before find the same place. In FASTQ it is a guess (io/fastx/record_guess.h), in FASTA a line that begins
/// with
/// '>', and in BGZF there is the guess of a block before it. A file's first part begins with the file; so if
/// each part is whole records (and whole blocks), each begins where a record begins, and together they are
/// what reading from the beginning would have given. A part that is not says NotDivisible.

#include <atomic>
#include <cstdint>
#include <memory>

#include "io/fastx/record_reader.h"
#include "io/text/input_list.h"
#include "io/text/input_options.h"

namespace warpmer::io {

/// Returns the number of parts in which a file can be read, at most `wanted`; 1 if it is small or no such
/// text.
std::uint32_t most_file_parts(const InputFile& file, std::uint32_t wanted);

/// True when such a file seems to have so many records that its parts will be about equal, and easy to find:
/// by what it begins with.
bool has_many_records(const InputFile& file);

/// Reads a part. It may have no records. Records are numbered from the part's beginning. An InputError in a
/// part means NotDivisible.
std::unique_ptr<RecordReader> open_file_part(const InputFile& file, std::uint32_t part, std::uint32_t parts,
                                             const InputOptions& options, const std::atomic<bool>& cancelled);

}  // namespace warpmer::io
