#pragma once
/// The text of a file that may be compressed.

#include <atomic>
#include <cstdint>
#include <memory>

#include "file/byte_file.h"
#include "io/blocks/read_ahead.h"
#include "io/compress/content.h"

namespace warpmer::io {

/// Returns the text of a compressed file, decompressed by threads of its own, up to `threads` of them.
std::unique_ptr<ReadAhead> decompressed_ahead(std::unique_ptr<file::ByteFile> file, InputContent content,
                                              unsigned threads, const std::atomic<bool>& cancelled);
/// Returns the same for `readers` threads that borrow its texts. A gzip or zstd file that two of them share
/// is decompressed by themselves: a third thread on two cores would wait for a core at one time, and keep a
/// reader waiting at another.
std::unique_ptr<ReadAhead> decompressed_for_readers(std::unique_ptr<file::ByteFile> file,
                                                    InputContent content, unsigned readers,
                                                    const std::atomic<bool>& cancelled);

/// Returns what is compressed, decompressed by threads of its own, up to `threads` of them; any other content
/// as it is. `cancelled` must be set before the stream is destroyed, if it has not been read to
/// its end.
std::unique_ptr<file::ByteSource> decompressed(std::unique_ptr<file::ByteFile> file, InputContent content,
                                               unsigned threads, const std::atomic<bool>& cancelled);

/// Returns the most bytes that decompression of a file by so many threads holds, or by as many readers; 0 for
/// one that is not compressed. Takes nothing of the file.
std::uint64_t decompression_bytes(file::ByteFile& file, unsigned threads);
/// Returns the same for gzip and BGZF, of which that is known without the file.
std::uint64_t gunzipping_bytes(unsigned threads);

}  // namespace warpmer::io
