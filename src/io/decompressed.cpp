#include "io/decompressed.h"

#include <utility>

#include "io/bgzf_blocks.h"
#include "io/gzip_stream.h"
#include "io/read_ahead.h"

namespace warpmer::io {

std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteFile> file, Content content, unsigned threads,
                                         const std::atomic<bool>& cancelled) {
  if (content == Content::gzip) {
    const unsigned gzip_threads = GzipStream::useful_threads(threads);
    auto stream = std::make_unique<GzipStream>(std::move(file), gzip_threads);
    return std::make_unique<ReadAhead>(std::move(stream), gzip_threads, cancelled);
  }
  if (content == Content::bgzf) {
    return std::make_unique<ReadAhead>(std::make_unique<BgzfBlocks>(std::move(file)), threads, cancelled);
  }
  return file;
}

}  // namespace warpmer::io
