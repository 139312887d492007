#include "io/compress/xz_stream.h"

#ifdef WARPMER_HAVE_XZ
#include <lzma.h>
#endif

#include <algorithm>
#include <new>
#include <utility>

#include "io/compress/compressed_errors.h"

namespace warpmer::io {

constexpr std::string_view kXzMagic("\xfd\x37zXZ\x00", 6);

bool is_xz(std::string_view start) { return start.starts_with(kXzMagic); }

#ifdef WARPMER_HAVE_XZ

namespace {

constexpr CompressedParts kXz = {.format = "xz", .part = "stream"};
/// Any level of `xz` asks for less.
constexpr unsigned kMostMegabytes = 80;
constexpr std::uint64_t kMostMemory = std::uint64_t{kMostMegabytes} << 20;
constexpr unsigned kMostThreads = 16;
constexpr std::size_t kXzStep = std::size_t{64} << 10;  ///< bytes that are looked at

/// Returns what the library may take for several threads: blocks of the usual level on each.
std::uint64_t memory_of_threads(unsigned threads) {
  constexpr std::uint64_t kThread = std::uint64_t{64} << 20;
  return std::max(kMostMemory, std::min(threads, kMostThreads) * kThread);
}

}  // namespace

bool has_xz() noexcept { return true; }

struct XzStream::XzDecompressor {
  explicit XzDecompressor(unsigned thread_count) : threads(thread_count) { begin(); }
  ~XzDecompressor() { lzma_end(&stream); }
  XzDecompressor(const XzDecompressor&) = delete;
  XzDecompressor& operator=(const XzDecompressor&) = delete;

  /// Makes ready for a stream.
  void begin() {
    if (start_decoder() != LZMA_OK) throw std::bad_alloc();
  }
  lzma_ret start_decoder() {
#if LZMA_VERSION >= 50040002
    if (threads > 1) {
      lzma_mt options = {};
      options.threads = std::min(threads, kMostThreads);
      options.memlimit_threading = memory_of_threads(threads);
      options.memlimit_stop = kMostMemory;
      return lzma_stream_decoder_mt(&stream, &options);
    }
#endif
    return lzma_stream_decoder(&stream, kMostMemory, 0);
  }

  const unsigned threads;
  lzma_stream stream = LZMA_STREAM_INIT;
  std::uint64_t ended_streams = 0;
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

/// Goes on from the end of a stream to the next one; false at the end of the file. Zero bytes may follow
/// each.
bool XzStream::begin_next() {
  ++decompressor_->ended_streams;
  while (file_->peek(1).starts_with('\0')) {
    const std::string_view padding = file_->peek(kXzStep);
    file_->skip(std::min(padding.find_first_not_of('\0'), padding.size()));
  }
  const std::string_view start = file_->peek(kXzMagic.size() + 2);
  if (start.empty()) return false;
  if (!start.starts_with(kXzMagic.substr(0, start.size())))
    fail_at_junk(*file_, kXz, decompressor_->ended_streams, start);
  decompressor_->begin();
  return true;
}

/// Decompresses what a block has room for; false at the end.
bool XzStream::decompress(TextBlock& out) {
  lzma_stream& stream = decompressor_->stream;
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.text.get());
  stream.avail_out = kTextBytes;
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK && stream.avail_out > 0) {
    const std::string_view raw = file_->peek(kXzStep);
    stream.next_in = reinterpret_cast<const std::uint8_t*>(raw.data());
    stream.avail_in = raw.size();
    result = lzma_code(&stream, raw.empty() ? LZMA_FINISH : LZMA_RUN);
    file_->skip(raw.size() - stream.avail_in);
    if (result == LZMA_STREAM_END && begin_next()) result = LZMA_OK;
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
bool XzStream::begin_next() { return false; }
bool XzStream::decompress(TextBlock& /*out*/) { return false; }

#endif

}  // namespace warpmer::io
