#include "io/compress/zstd_frames.h"

#ifdef WARPMER_HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "io/compress/compressed_errors.h"
#include "io/compress/little_endian.h"

namespace warpmer::io {
namespace {

constexpr std::string_view kFrameMagic = "\x28\xb5\x2f\xfd";

/// True for the magics 0x184D2A50 to 0x184D2A5F.
bool is_skipped_frame(std::string_view start) {
  return start.size() >= 4 && (start[0] & 0xf0) == 0x50 && start.substr(1).starts_with("\x2a\x4d\x18");
}

}  // namespace

bool is_zstd(std::string_view start) { return start.starts_with(kFrameMagic) || is_skipped_frame(start); }

#ifdef WARPMER_HAVE_ZSTD

namespace {

constexpr CompressedParts kZstd = {.format = "zstd", .part = "frame"};
constexpr std::size_t kMostBlockText = std::size_t{128} << 10;
constexpr std::size_t kSkippedHeader = 8;  ///< bytes of a frame to be skipped: magic, and size of the rest
constexpr std::size_t kUsualWindow = std::size_t{8} << 20;
constexpr unsigned kLargestWindowLog = 27;  ///< as for the program zstd, unless it is told otherwise

/// The header of a frame.
struct FrameHeader {
  std::size_t bytes = 0;
  std::uint64_t window = 0;
  std::optional<std::uint64_t> text;  ///< size of it
  bool has_checksum = false;
};

/// Returns the header that a file goes on with; nothing if it ends in there, or is none.
std::optional<FrameHeader> frame_header(file::ByteFile& file) {
  constexpr std::size_t kLongest = 18;
  constexpr std::size_t kDictionaryBytes[] = {0, 1, 2, 4};
  constexpr std::size_t kTextSizeBytes[] = {0, 2, 4, 8};
  const std::string_view start = file.peek(kLongest);
  if (!start.starts_with(kFrameMagic) || start.size() < 6) return std::nullopt;
  const auto flags = static_cast<unsigned char>(start[4]);
  const bool is_one_segment = (flags & 0x20) != 0;
  FrameHeader header;
  header.has_checksum = (flags & 4) != 0;
  header.bytes = 5;
  if (!is_one_segment) {
    const auto window = static_cast<unsigned char>(start[header.bytes++]);
    const std::uint64_t base = std::uint64_t{1} << (10 + (window >> 3));
    header.window = base + base / 8 * (window & 7);
  }
  header.bytes += kDictionaryBytes[flags & 3];
  const std::size_t size_bytes = flags >> 6 == 0 && is_one_segment ? 1 : kTextSizeBytes[flags >> 6];
  if (start.size() < header.bytes + size_bytes) return std::nullopt;
  if (size_bytes > 0) {
    std::uint64_t size = 0;
    for (std::size_t i = size_bytes; i-- > 0;)
      size = size << 8 | static_cast<unsigned char>(start[header.bytes + i]);
    header.text = size + (size_bytes == 2 ? 256 : 0);
    header.bytes += size_bytes;
  }
  if (is_one_segment) header.window = *header.text;
  return header;
}

}  // namespace

/// How large the frame is that a file goes on with.
struct ZstdFrames::FrameSize {
  bool is_whole = false;      ///< it is all there, and not large; what follows is valid
  std::size_t bytes = 0;      ///< on disk
  std::size_t most_text = 0;  ///< its text is not larger
};

/// Looks at a frame, block by block, and takes nothing.
ZstdFrames::FrameSize ZstdFrames::measure(file::ByteFile& file) {
  constexpr std::size_t kBlockHeader = 3;
  constexpr std::size_t kChecksum = 4;
  const std::optional<FrameHeader> header = frame_header(file);
  if (!header || (header->text && *header->text > kMostFrameText)) return {};
  FrameSize size{.is_whole = false, .bytes = header->bytes, .most_text = 0};
  for (bool is_last = false; !is_last;) {
    if (size.bytes > kMostFrameBytes || size.most_text > kMostFrameText) return {};
    const std::string_view start = file.peek(size.bytes + kBlockHeader);
    if (start.size() < size.bytes + kBlockHeader) return {};
    const std::uint32_t block = little_endian(start, size.bytes, kBlockHeader);
    constexpr unsigned kRepeated = 1;
    constexpr unsigned kReserved = 3;
    const unsigned kind = block >> 1 & 3;
    if (kind == kReserved) return {};
    is_last = (block & 1) != 0;
    size.bytes += kBlockHeader + (kind == kRepeated ? 1 : block >> 3);
    size.most_text += kMostBlockText;
  }
  if (header->has_checksum) size.bytes += kChecksum;
  if (header->text) size.most_text = *header->text;
  size.is_whole = size.bytes <= kMostFrameBytes && size.most_text <= kMostFrameText &&
                  file.peek(size.bytes).size() == size.bytes;
  return size;
}

bool has_zstd() noexcept { return true; }

namespace {

struct ContextDeleter {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

}  // namespace

/// The library's decompressor.
struct ZstdFrames::ZstdDecompressor {
  ZstdDecompressor() : context(ZSTD_createDCtx()) {
    if (!context) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kLargestWindowLog);
  }
  std::unique_ptr<ZSTD_DCtx, ContextDeleter> context;
};

/// Frames on their way through `work`.
struct ZstdFrames::WholeFrames {
  std::string raw;
  std::size_t most_text = 0;
  std::uint64_t first = 0;       ///< number of the first, from 1
  std::uint64_t file_end = 0;    ///< place in the file behind the last
  bool is_ready = false;         ///< they are in the block's text already, all of their text
  std::unique_ptr<char[]> text;  ///< if it is more than a block has room for
  std::size_t text_capacity = 0;
  std::size_t text_size = 0;
  std::size_t given = 0;  ///< bytes of it that readers have
  ZstdDecompressor decompressor;
};

ZstdFrames::ZstdFrames(std::unique_ptr<file::ByteFile> file)
    : file_(std::move(file)), decompressor_(std::make_unique<ZstdDecompressor>()) {}

ZstdFrames::~ZstdFrames() = default;

unsigned ZstdFrames::useful_threads(unsigned threads) {
  // More decompress faster than any reader reads.
  constexpr unsigned kMostThreads = 8;
  const bool is_skipped = is_skipped_frame(file_->peek(kFrameMagic.size()));
  return is_skipped || measure(*file_).is_whole ? std::clamp(threads, 1U, kMostThreads) : 1;
}

std::uint64_t ZstdFrames::memory_bytes(file::ByteFile& file, unsigned threads) {
  constexpr std::uint64_t kContext = std::uint64_t{256} << 10;
  const FrameSize size = measure(file);
  const std::optional<FrameHeader> header = frame_header(file);
  const std::uint64_t frame = size.is_whole ? std::max(size.most_text, kTextBytes) : kMostFrameText;
  const bool has_one_thread = !size.is_whole && header;
  const std::uint64_t window = std::max<std::uint64_t>(header ? header->window : 0, kUsualWindow);
  const std::uint64_t ring = ReadAhead::ring_size(has_one_thread ? 1 : threads);
  return ring * kTextBytes + 2 * kMostFrameBytes + std::min(window, std::uint64_t{1} << kLargestWindowLog) +
         (has_one_thread ? 0 : ring * (frame + frame / 2 + kContext));
}

ZstdFrames::WholeFrames& ZstdFrames::frames_of(TextBlock& out) {
  if (!out.scratch) out.scratch = std::make_shared<WholeFrames>();
  return *static_cast<WholeFrames*>(out.scratch.get());
}

/// Takes frames that are to be skipped.
void ZstdFrames::skip_frames() {
  while (is_skipped_frame(file_->peek(kFrameMagic.size()))) {
    const std::string_view header = file_->peek(kSkippedHeader);
    if (header.size() < kSkippedHeader) fail_truncated(*file_, kZstd, frames_ + 1);
    std::uint64_t left = little_endian(header, 4, 4);
    file_->skip(kSkippedHeader);
    while (left > 0) {
      const std::size_t size = file_->peek(std::min<std::uint64_t>(left, kMostBlockText)).size();
      if (size == 0) fail_truncated(*file_, kZstd, frames_ + 1);
      file_->skip(size);
      left -= size;
    }
  }
}

/// Goes to where the next frame begins; false at the end of the file.
bool ZstdFrames::find_frame() {
  skip_frames();
  const std::string_view start = file_->peek(kSkippedHeader);
  if (start.empty()) return false;
  if (!start.starts_with(kFrameMagic.substr(0, std::min(start.size(), kFrameMagic.size()))))
    fail_at_junk(*file_, kZstd, frames_, start);
  return true;
}

bool ZstdFrames::load(TextBlock& out) {
  if (error_) std::rethrow_exception(error_);
  WholeFrames& frames = frames_of(out);
  frames.raw.clear();
  frames.most_text = frames.given = frames.text_size = 0;
  frames.is_ready = false;
  const std::uint64_t taken = file_->disk_bytes();
  bool is_there = true;
  if (!is_in_large_frame_) is_there = load_frames(out);
  if (is_in_large_frame_) {
    decompress_large(out);
    frames.is_ready = true;
  }
  out.disk_bytes = file_->disk_bytes() - taken;
  return is_there;
}

/// Takes frames for `work` to decompress, as many as a block has room for, but one at least. If a large one
/// comes first, begins that. False at the end of the file.
bool ZstdFrames::load_frames(TextBlock& out) {
  WholeFrames& frames = frames_of(out);
  frames.first = frames_ + 1;
  try {
    while (find_frame()) {
      const FrameSize size = measure(*file_);
      // So no frame takes more memory than what was reckoned with, which is the first's.
      if (most_text_ == 0) most_text_ = std::max(size.most_text, kTextBytes);
      const bool is_whole = size.is_whole && size.most_text <= most_text_;
      if (!frames.raw.empty() && (!is_whole || frames.most_text + size.most_text > kTextBytes)) return true;
      ++frames_;
      if (!is_whole) {
        is_in_large_frame_ = true;
        return true;
      }
      frames.raw.append(file_->peek(size.bytes));
      file_->skip(size.bytes);
      frames.most_text += size.most_text;
      frames.file_end = file_->disk_bytes();
    }
  } catch (...) {
    if (frames.raw.empty()) throw;
    error_ = std::current_exception();
  }
  return !frames.raw.empty();
}

/// Decompresses what the block has room for of the frame that the file goes on with.
void ZstdFrames::decompress_large(TextBlock& out) {
  ZSTD_DCtx* const context = decompressor_->context.get();
  ZSTD_outBuffer text = {out.text.get(), kTextBytes, 0};
  while (text.pos < text.size) {
    const std::string_view raw = file_->peek(kMostBlockText);
    ZSTD_inBuffer input = {raw.data(), raw.size(), 0};
    const std::size_t before = text.pos;
    const std::size_t result = ZSTD_decompressStream(context, &text, &input);
    if (ZSTD_isError(result) != 0) {
      if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge)
        fail_too_large(*file_, kZstd, frames_, 1U << (kLargestWindowLog - 20), "zstd -dc --long=31 {}");
      fail_corrupt(*file_, kZstd, frames_, file_->disk_bytes() + raw.size());
    }
    file_->skip(input.pos);
    if (result == 0) {
      is_in_large_frame_ = false;
      break;
    }
    if (raw.empty() && text.pos == before) fail_truncated(*file_, kZstd, frames_);
  }
  out.text_size = text.pos;
}

void ZstdFrames::work(TextBlock& out) {
  WholeFrames& frames = frames_of(out);
  if (frames.is_ready) return;
  const bool fits = frames.most_text <= kTextBytes;
  if (!fits && frames.text_capacity < frames.most_text) {
    frames.text.reset(new char[frames.most_text]);
    frames.text_capacity = frames.most_text;
  }
  char* const text = fits ? out.text.get() : frames.text.get();
  const std::size_t size = ZSTD_decompressDCtx(frames.decompressor.context.get(), text, frames.most_text,
                                               frames.raw.data(), frames.raw.size());
  if (ZSTD_isError(size) != 0) fail_corrupt(*file_, kZstd, frames.first, frames.file_end);
  (fits ? out.text_size : frames.text_size) = size;
  out.has_more = !fits && size > kTextBytes;
}

/// Gives the reader the next part of a text that is larger than a block.
bool ZstdFrames::hand_over(TextBlock& out) {
  WholeFrames& frames = frames_of(out);
  if (frames.text_size == 0) return false;
  out.text_size = std::min(kTextBytes, frames.text_size - frames.given);
  std::memcpy(out.text.get(), frames.text.get() + frames.given, out.text_size);
  frames.given += out.text_size;
  return frames.given < frames.text_size;
}

#else

bool has_zstd() noexcept { return false; }
struct ZstdFrames::ZstdDecompressor {};
ZstdFrames::ZstdFrames(std::unique_ptr<file::ByteFile> file) : file_(std::move(file)) {}
ZstdFrames::~ZstdFrames() = default;
unsigned ZstdFrames::useful_threads(unsigned /*threads*/) { return 1; }
std::uint64_t ZstdFrames::memory_bytes(file::ByteFile& /*file*/, unsigned /*threads*/) { return 0; }
bool ZstdFrames::load(TextBlock& /*out*/) { return false; }
void ZstdFrames::work(TextBlock& /*out*/) {}
bool ZstdFrames::hand_over(TextBlock& /*out*/) { return false; }

#endif

}  // namespace warpmer::io
