#include "io/compress/bgzf_blocks.h"

#include <fmt/format.h>

#include "file/input_error.h"
#include "io/compress/compressed_errors.h"
#include "io/compress/inflater.h"
#include "io/compress/little_endian.h"

namespace warpmer::io {
namespace {

constexpr std::size_t kTrailerBytes = 8;  ///< CRC-32 and length of the text
constexpr std::size_t kExtraFields = 12;  ///< place of the extra fields in a header

/// Returns the bytes of the gzip header up to the deflate data; a BGZF header has extra fields, and nothing
/// else that varies.
std::size_t header_size(std::string_view block) { return kExtraFields + little_endian(block, 10, 2); }

}  // namespace

std::optional<std::size_t> bgzf_block_size(std::string_view bytes) {
  if (bytes.size() < kBgzfHeaderBytes || !bytes.starts_with(kBgzfMagic)) return std::nullopt;
  return bgzf_size_in(bytes.substr(0, header_size(bytes)).substr(kExtraFields));
}

std::optional<std::size_t> first_bgzf_block(file::ByteFile& file) {
  constexpr std::size_t kGzipHeaderLimit = 12 + 0xffff;
  const std::string_view start = file.peek(kBgzfHeaderBytes);
  if (!start.starts_with(kBgzfMagic)) return std::nullopt;
  if (const auto size = bgzf_block_size(start)) return size;
  // The field that makes it BGZF may come after other extra fields.
  return bgzf_block_size(file.peek(kGzipHeaderLimit));
}

BgzfBlocks::BgzfBlocks(std::unique_ptr<file::ByteFile> file, Scope scope)
    : shown_(file->shown()), scope_(scope), file_(std::move(file)) {}

bool BgzfBlocks::load(TextBlock& out) {
  if (rest_) return load_rest(out);
  if (!out.raw) out.raw.reset(new char[kBlocksPerText * kBgzfBlockBytes]);
  out.raw_size = 0;
  for (std::size_t i = 0; i < kBlocksPerText; ++i) {
    const std::size_t size = read_block(out.raw.get() + out.raw_size);
    if (size == 0) break;
    out.raw_size += size;
  }
  out.disk_bytes = out.raw_size;
  return out.raw_size > 0 || (!file_->peek(1).empty() && begin_rest(out));
}

/// Leaves what is no BGZF to a reader of gzip, which has the words for what is no gzip either.
bool BgzfBlocks::begin_rest(TextBlock& out) {
  static_assert(GzipStream::kTextBytes == kBlocksPerText * kBgzfBlockBytes);
  rest_ = std::make_unique<GzipStream>(std::move(file_), 1, make_inflater, blocks_);
  running_rest_ = rest_.get();
  return load_rest(out);
}

/// A block without raw bytes is one of the rest.
bool BgzfBlocks::load_rest(TextBlock& out) {
  if (out.raw) out.scratch.reset();
  out.raw.reset();
  return rest_->load(out);
}

/// Reads one block to `raw`, where there is room for the largest; 0 where none follows.
std::size_t BgzfBlocks::read_block(char* raw) {
  const std::string_view start = file_->peek(kBgzfHeaderBytes);
  const bool is_gzip = start.starts_with(kGzipMagic), lacks_end = !is_last_empty_ && scope_ == Scope::whole;
  // Zero bytes may follow the end of the data.
  if ((start.empty() || start[0] == 0) && lacks_end) fail_without_bgzf_end(*file_, place());
  const std::optional<std::size_t> block_size = first_bgzf_block(*file_);  // which ends the life of `start`
  if (!block_size && is_gzip && lacks_end) fail_without_bgzf_end(*file_, place() + ", where gzip follows");
  if (!block_size) return 0;
  std::size_t size = 0;
  while (size < *block_size) {
    const std::size_t count = file_->read(raw + size, *block_size - size);
    if (count == 0) fail("truncated inside a block");
    size += count;
  }
  if (size < header_size({raw, size}) + kTrailerBytes) fail("corrupt: a block's size is impossible");
  ++blocks_;
  is_last_empty_ = little_endian({raw, size}, size - 4, 4) == 0;
  return size;
}

void BgzfBlocks::work(TextBlock& out) {
  if (!out.raw) return rest_->work(out);
  if (!out.scratch) out.scratch = std::make_shared<BlockInflater>();
  auto& inflater = *static_cast<BlockInflater*>(out.scratch.get());
  const std::string_view raw(out.raw.get(), out.raw_size);
  for (std::size_t start = 0; start < raw.size();) {
    const std::string_view rest = raw.substr(start);
    const std::string_view block = rest.substr(0, *bgzf_block_size(rest));
    const std::size_t header = header_size(block);
    const std::size_t trailer = block.size() - kTrailerBytes;
    const std::size_t text_size = little_endian(block, trailer + 4, 4);
    const std::span<const char> deflated(block.data() + header, trailer - header);
    char* text = out.text.get() + out.text_size;
    if (text_size > kBgzfBlockBytes ||
        !inflater.inflate(deflated, {text, text_size}, little_endian(block, trailer, 4))) {
      file::fail_at({shown_},
                    "the BGZF data is corrupt: a block does not decompress to what its checksum says; "
                    "copy or download the file again");
    }
    out.text_size += text_size;
    start += block.size();
  }
}

bool BgzfBlocks::hand_over(TextBlock& out) { return !out.raw && rest_->hand_over(out); }

void BgzfBlocks::stop() noexcept {
  if (GzipStream* const rest = running_rest_) rest->stop();
}

std::string BgzfBlocks::place() const {
  return fmt::format("after {} block{} and {} bytes", blocks_, blocks_ == 1 ? "" : "s", file_->disk_bytes());
}

void BgzfBlocks::fail(std::string_view what) const {
  file::fail_at({shown_},
                fmt::format("the BGZF data is {}, {}; copy or download the file again", what, place()));
}

}  // namespace warpmer::io
