#include "io/compress/decompressed.h"

#include <algorithm>
#include <utility>

#include "io/compress/bgzf_blocks.h"
#include "io/compress/bzip2_blocks.h"
#include "io/compress/gzip_stream.h"
#include "io/compress/xz_stream.h"
#include "io/compress/zstd_frames.h"

namespace warpmer::io {

namespace {

/// A loader, and how many threads should call it.
struct ThreadedLoader {
  std::unique_ptr<TextBlockLoader> loader;
  unsigned threads = 1;
};

ThreadedLoader make_loader(std::unique_ptr<file::ByteFile> file, InputContent content, unsigned threads) {
  switch (content) {
    case InputContent::bgzf:
      return {std::make_unique<BgzfBlocks>(std::move(file)), threads};
    case InputContent::zstd: {
      auto frames = std::make_unique<ZstdFrames>(std::move(file));
      const unsigned useful = frames->useful_threads(threads);
      return {std::move(frames), useful};
    }
    case InputContent::bzip2:
      return {std::make_unique<Bzip2Blocks>(std::move(file)), std::min(threads, Bzip2Blocks::kMostThreads)};
    case InputContent::xz:
      return {std::make_unique<XzStream>(std::move(file), threads), 1};
    default:
      const unsigned useful = GzipStream::useful_threads(threads);
      return {std::make_unique<GzipStream>(std::move(file), useful), useful};
  }
}

}  // namespace

std::unique_ptr<ReadAhead> decompressed_ahead(std::unique_ptr<file::ByteFile> file, InputContent content,
                                              unsigned threads, const std::atomic<bool>& cancelled) {
  ThreadedLoader made = make_loader(std::move(file), content, threads);
  return std::make_unique<ReadAhead>(std::move(made.loader), made.threads, cancelled);
}

std::unique_ptr<ReadAhead> decompressed_for_readers(std::unique_ptr<file::ByteFile> file,
                                                    InputContent content, unsigned readers,
                                                    const std::atomic<bool>& cancelled) {
  // With more of them one at a time is busy decompressing anyway, and should be the same all the time: three
  // that took turns needed 0.97 s where a thread of its own needs 0.82.
  constexpr unsigned kMostDecompressing = 2;
  const bool is_fast = content == InputContent::gzip || content == InputContent::zstd;
  if (!is_fast || readers > kMostDecompressing)
    return decompressed_ahead(std::move(file), content, readers, cancelled);
  return std::make_unique<ReadAhead>(make_loader(std::move(file), content, 1).loader, 0, cancelled, readers);
}

std::unique_ptr<file::ByteSource> decompressed(std::unique_ptr<file::ByteFile> file, InputContent content,
                                               unsigned threads, const std::atomic<bool>& cancelled) {
  if (content == InputContent::text || content == InputContent::records) return file;
  return decompressed_ahead(std::move(file), content, threads, cancelled);
}

std::uint64_t decompression_bytes(file::ByteFile& file, unsigned threads) {
  const std::string_view start = file.peek(kForeignBytes);
  if (is_zstd(start)) return ZstdFrames::memory_bytes(file, threads);
  if (is_bzip2(start)) return Bzip2Blocks::memory_bytes(threads);
  if (is_xz(start)) return XzStream::memory_bytes(threads);
  return start.starts_with(kGzipMagic) ? gunzipping_bytes(threads) : 0;
}

std::uint64_t gunzipping_bytes(unsigned threads) {
  const std::uint64_t bgzf =
      std::uint64_t{ReadAhead::ring_size(threads)} * (2 * BgzfBlocks::kBlocksPerText * kBgzfBlockBytes);
  return std::max(bgzf, GzipStream::memory_bytes(GzipStream::useful_threads(threads)));
}

}  // namespace warpmer::io
