#include "io/compress/decompressed.h"

#include <utility>

#include "io/compress/bgzf_blocks.h"
#include "io/compress/gzip_stream.h"

namespace warpmer::io {

std::unique_ptr<ReadAhead> decompressed_ahead(std::unique_ptr<file::ByteFile> file, InputContent content,
                                              unsigned threads, const std::atomic<bool>& cancelled) {
  if (content == InputContent::bgzf)
    return std::make_unique<ReadAhead>(std::make_unique<BgzfBlocks>(std::move(file)), threads, cancelled);
  const unsigned gzip_threads = GzipStream::useful_threads(threads);
  auto stream = std::make_unique<GzipStream>(std::move(file), gzip_threads);
  return std::make_unique<ReadAhead>(std::move(stream), gzip_threads, cancelled);
}

std::unique_ptr<ReadAhead> decompressed_for_readers(std::unique_ptr<file::ByteFile> file,
                                                    InputContent content, unsigned readers,
                                                    const std::atomic<bool>& cancelled) {
  // With more of them one at a time is busy decompressing anyway, and should be the same all the time: three
  // that took turns needed 0.97 s where a thread of its own needs 0.82.
  constexpr unsigned kMostDecompressing = 2;
  if (content == InputContent::bgzf || readers > kMostDecompressing)
    return decompressed_ahead(std::move(file), content, readers, cancelled);
  return std::make_unique<ReadAhead>(std::make_unique<GzipStream>(std::move(file), 1), 0, cancelled, readers);
}

std::unique_ptr<file::ByteSource> decompressed(std::unique_ptr<file::ByteFile> file, InputContent content,
                                               unsigned threads, const std::atomic<bool>& cancelled) {
  if (content != InputContent::gzip && content != InputContent::bgzf) return file;
  return decompressed_ahead(std::move(file), content, threads, cancelled);
}

}  // namespace warpmer::io
