#pragma once
/// BGZF: gzip in independent blocks of at most 64 KiB of text, decompressed on several threads.

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "file/byte_file.h"
#include "io/blocks/read_ahead.h"
#include "io/compress/gzip_stream.h"

namespace warpmer::io {

constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kBgzfMagic = "\x1f\x8b\x08\x04";     ///< gzip with extra fields
constexpr std::size_t kBgzfHeaderBytes = 18;                    ///< enough to recognise the usual header
constexpr std::size_t kBgzfBlockBytes = std::size_t{64} << 10;  ///< the most a block has, in text and on disk

/// Returns the size on disk of the BGZF block whose header `bytes` starts with; nothing if it is none. Needs
/// the header with all of its extra fields.
std::optional<std::size_t> bgzf_block_size(std::string_view bytes);
/// Returns the same of the block that a file starts with, without taking anything of it.
std::optional<std::size_t> first_bgzf_block(file::ByteFile& file);

/// Reads blocks in `load`, some at a time, and inflates them in `work`. Where a file goes on as other gzip,
/// so does this.
class BgzfBlocks final : public TextBlockLoader {
 public:
  static constexpr std::size_t kBlocksPerText = 8;

  enum class Scope {
    whole,  ///< to the end of the data, which an empty block marks
    part,   ///< some blocks, of which nothing tells how many
  };
  explicit BgzfBlocks(std::unique_ptr<file::ByteFile> file, Scope scope = Scope::whole);

  [[nodiscard]] std::size_t text_capacity() const noexcept override {
    return kBlocksPerText * kBgzfBlockBytes;
  }
  bool load(TextBlock& out) override;
  void work(TextBlock& out) override;
  bool hand_over(TextBlock& out) override;
  void stop() noexcept override;

 private:
  bool begin_rest(TextBlock& out);
  bool load_rest(TextBlock& out);
  std::size_t read_block(char* raw);
  /// Returns the place that has been read to, for messages: "after 3 blocks and 9000 bytes".
  [[nodiscard]] std::string place() const;
  [[noreturn]] void fail(std::string_view what) const;

  const std::string shown_;
  const Scope scope_;
  std::unique_ptr<file::ByteFile> file_;  ///< null when the rest has it
  std::unique_ptr<GzipStream> rest_;      ///< what follows the blocks
  std::atomic<GzipStream*> running_rest_ = nullptr;
  std::uint64_t blocks_ = 0;
  bool is_last_empty_ = false;  ///< the last block read has no text, as the one that marks the end
};

}  // namespace warpmer::io
