#pragma once
/// Tells a file that has sequences, whatever its name says: one that is not to be replaced by mistake.

#include <string>

namespace warpmer::io {

/// Says what the file is, in a few words: "FASTQ", "BAM", "FASTA, compressed with gzip"; of a compression
/// that warpmer does not read, what that is, as there may be reads in it. Empty for all other content, for
/// what is no regular file, and for what is not there or cannot be read.
std::string sequence_data_in(const std::string& path);

}  // namespace warpmer::io
