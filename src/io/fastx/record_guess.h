#pragma once
/// Guesses where in the middle of a FASTQ file a record begins. The reader finds out whether that was right.

namespace warpmer::io {

/// Returns the first record of four lines that begins behind the first line end of a text; null if there is
/// none within some lines.
const char* guess_first_record(const char* text, const char* end);

}  // namespace warpmer::io
