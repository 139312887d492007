#pragma once
/// Where in the middle of a FASTQ file a record begins: a guess, for whoever finds out whether it was right.

namespace warpmer::io {

/// The first record of four lines that begins behind the first line end of a text; null if there is none
/// within some lines.
const char* guess_first_record(const char* text, const char* end);

}  // namespace warpmer::io
