#include "io/compress/bgzf_blocks.h"

#include <fmt/format.h>

#include "file/input_error.h"
#include "file/suggestion.h"
#include "io/compress/inflater.h"
#include "io/compress/little_endian.h"

namespace warpmer::io {
namespace {

constexpr std::size_t kTrailerBytes = 8;  ///< CRC-32 and length of the text

/// Returns the bytes of the gzip header up to the deflate data; a BGZF header has extra fields, and nothing
/// else that varies.
std::size_t header_size(std::string_view block) { return 12 + little_endian(block, 10, 2); }

}  // namespace

std::optional<std::size_t> bgzf_block_size(std::string_view bytes) {
  if (bytes.size() < kBgzfHeaderBytes || !bytes.starts_with("\x1f\x8b\x08\x04")) return std::nullopt;
  const std::size_t end = std::min(header_size(bytes), bytes.size());
  for (std::size_t field = 12; field + 4 <= end;) {
    const std::size_t size = little_endian(bytes, field + 2, 2);
    if (bytes[field] == 'B' && bytes[field + 1] == 'C' && size == 2 && field + 6 <= end) {
      return little_endian(bytes, field + 4, 2) + std::size_t{1};
    }
    field += 4 + size;
  }
  return std::nullopt;
}

std::optional<std::size_t> first_bgzf_block(file::ByteFile& file) {
  constexpr std::size_t kGzipHeaderLimit = 12 + 0xffff;
  const std::string_view start = file.peek(kBgzfHeaderBytes);
  if (!start.starts_with("\x1f\x8b\x08\x04")) return std::nullopt;
  if (const auto size = bgzf_block_size(start)) return size;
  // The field that makes it BGZF may come after other extra fields.
  return bgzf_block_size(file.peek(kGzipHeaderLimit));
}

BgzfBlocks::BgzfBlocks(std::unique_ptr<file::ByteFile> file, Scope scope)
    : file_(std::move(file)), scope_(scope) {}

bool BgzfBlocks::load(TextBlock& out) {
  if (!out.raw) out.raw.reset(new char[kBlocksPerText * kBgzfBlockBytes]);
  out.raw_size = 0;
  for (std::size_t i = 0; i < kBlocksPerText; ++i) {
    const std::size_t size = read_block(out.raw.get() + out.raw_size);
    if (size == 0) break;
    out.raw_size += size;
  }
  out.disk_bytes = out.raw_size;
  return out.raw_size > 0;
}

/// Reads until `wanted` bytes are at `raw`, of which `size` are there already; fewer at the file's end.
std::size_t BgzfBlocks::fill(char* raw, std::size_t size, std::size_t wanted) {
  while (size < wanted) {
    const std::size_t count = file_->read(raw + size, wanted - size);
    if (count == 0) break;
    size += count;
  }
  return size;
}

/// Reads one block to `raw`, where there is room for the largest; 0 at the end of the file.
std::size_t BgzfBlocks::read_block(char* raw) {
  std::size_t size = fill(raw, 0, kBgzfHeaderBytes);
  if (size == 0) {
    if (!is_last_empty_ && scope_ == Scope::whole)
      fail("truncated: the empty block that marks the end of the data is missing");
    return 0;
  }
  if (size < kBgzfHeaderBytes) fail("truncated in the header of a block");
  if (std::string_view(raw, size).starts_with("\x1f\x8b")) {
    size = fill(raw, size, std::min(header_size({raw, size}), kBgzfBlockBytes));
  }
  const std::optional<std::size_t> block_size = bgzf_block_size({raw, size});
  if (!block_size) {
    fail(fmt::format("damaged, or goes on as something else (which {} may still read)",
                     file::piped_in("gzip -dc {}", file_->shown())));
  }
  if (*block_size < header_size({raw, size}) + kTrailerBytes) fail("corrupt: a block's size is impossible");
  size = fill(raw, size, *block_size);
  if (size < *block_size) fail("truncated inside a block");
  ++blocks_;
  is_last_empty_ = little_endian({raw, size}, size - 4, 4) == 0;
  return size;
}

void BgzfBlocks::work(TextBlock& out) {
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
      file::fail_at({file_->shown()},
                    "the BGZF data is corrupt: a block does not decompress to what its checksum says; "
                    "copy or download the file again");
    }
    out.text_size += text_size;
    start += block.size();
  }
}

void BgzfBlocks::fail(std::string_view what) const {
  file::fail_at({file_->shown()},
                fmt::format("the BGZF data is {}, after {} blocks and {} bytes; copy or download the "
                            "file again",
                            what, blocks_, file_->disk_bytes()));
}

}  // namespace warpmer::io
