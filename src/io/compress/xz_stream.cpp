#include "io/compress/xz_stream.h"

#ifdef WARPMER_HAVE_XZ
#include <lzma.h>
#endif

#include <algorithm>
#include <new>
#include <utility>

#include "file/input_error.h"
#include "io/compress/compressed_errors.h"

namespace warpmer::io {

bool is_xz(std::string_view start) { return start.starts_with(std::string_view("\xfd\x37zXZ\x00", 6)); }

#ifdef WARPMER_HAVE_XZ

namespace {

constexpr CompressedParts kXz = {.format = "xz", .part = {}};
/// Any level of `xz` asks for less.
constexpr unsigned kMostMegabytes = 80;
constexpr std::uint64_t kMostMemory = std::uint64_t{kMostMegabytes} << 20;
constexpr unsigned kMostThreads = 16;

/// Returns what the library may take for several threads: blocks of the usual level on each.
std::uint64_t memory_of_threads(unsigned threads) {
  constexpr std::uint64_t kThread = std::uint64_t{64} << 20;
  return std::max(kMostMemory, std::min(threads, kMostThreads) * kThread);
}

}  // namespace

bool has_xz() noexcept { return true; }

struct XzStream::XzDecompressor {
  explicit XzDecompressor(unsigned threads) {
    if (begin(threads) != LZMA_OK) throw std::bad_alloc();
  }
  ~XzDecompressor() { lzma_end(&stream); }
  XzDecompressor(const XzDecompressor&) = delete;
  XzDecompressor& operator=(const XzDecompressor&) = delete;

  lzma_ret begin(unsigned threads) {
#if LZMA_VERSION >= 50040002
    if (threads > 1) {
      lzma_mt options = {};
      options.flags = LZMA_CONCATENATED;
      options.threads = std::min(threads, kMostThreads);
      options.memlimit_threading = memory_of_threads(threads);
      options.memlimit_stop = kMostMemory;
      return lzma_stream_decoder_mt(&stream, &options);
    }
#endif
    return lzma_stream_decoder(&stream, kMostMemory, LZMA_CONCATENATED);
  }

  lzma_stream stream = LZMA_STREAM_INIT;
};

XzStream::XzStream(std::unique_ptr<file::ByteFile> file, unsigned threads)
    : file_(std::move(file)), decompressor_(std::make_unique<XzDecompressor>(threads)) {}

XzStream::~XzStream() = default;

std::uint64_t XzStream::memory_bytes(unsigned threads) {
  return ReadAhead::ring_size(1) * kTextBytes + (threads > 1 ? memory_of_threads(threads) : kMostMemory);
}

bool XzStream::load(TextBlock& out) {
  if (is_at_end_) return false;
  const std::uint64_t taken = file_->disk_bytes();
  is_at_end_ = !decompress(out);
  out.disk_bytes = file_->disk_bytes() - taken;
  return true;
}

/// Decompresses what a block has room for; false at the end.
bool XzStream::decompress(TextBlock& out) {
  constexpr std::size_t kStep = std::size_t{64} << 10;
  lzma_stream& stream = decompressor_->stream;
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.text.get());
  stream.avail_out = kTextBytes;
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK && stream.avail_out > 0) {
    const std::string_view raw = file_->peek(kStep);
    stream.next_in = reinterpret_cast<const std::uint8_t*>(raw.data());
    stream.avail_in = raw.size();
    result = lzma_code(&stream, raw.empty() ? LZMA_FINISH : LZMA_RUN);
    file_->skip(raw.size() - stream.avail_in);
  }
  out.text_size = kTextBytes - stream.avail_out;
  switch (result) {
    case LZMA_OK:
      return true;
    case LZMA_STREAM_END:
      return false;
    case LZMA_BUF_ERROR:
      fail_truncated(*file_, kXz, 0);
    case LZMA_MEM_ERROR:
      throw std::bad_alloc();
    case LZMA_MEMLIMIT_ERROR:
      fail_too_large(*file_, kXz, 0, kMostMegabytes, "xz -dc {}");
    default:
      fail_corrupt(*file_, kXz, 0, file_->disk_bytes());
  }
}

#else

bool has_xz() noexcept { return false; }
struct XzStream::XzDecompressor {};
XzStream::XzStream(std::unique_ptr<file::ByteFile> file, unsigned /*threads*/) : file_(std::move(file)) {}
XzStream::~XzStream() = default;
std::uint64_t XzStream::memory_bytes(unsigned /*threads*/) { return 0; }
bool XzStream::load(TextBlock& /*out*/) { return false; }
bool XzStream::decompress(TextBlock& /*out*/) { return false; }

#endif

}  // namespace warpmer::io
