#pragma once
/// xz, by its library, which decompresses the blocks of a file on several threads if their sizes are known.

#include <cstdint>
#include <memory>
#include <string_view>

#include "file/byte_file.h"
#include "io/blocks/read_ahead.h"

namespace warpmer::io {

/// True when this warpmer was built with the library.
bool has_xz() noexcept;
/// True when a file that begins so is xz.
bool is_xz(std::string_view start);

class XzStream final : public TextBlockLoader {
 public:
  static constexpr std::size_t kTextBytes = std::size_t{1} << 20;  ///< of a block

  /// The library works on `threads` threads.
  XzStream(std::unique_ptr<file::ByteFile> file, unsigned threads);
  ~XzStream() override;

  /// Returns the most bytes that a stream and its text blocks hold, text included.
  static std::uint64_t memory_bytes(unsigned threads);

  [[nodiscard]] std::size_t text_capacity() const noexcept override { return kTextBytes; }
  bool load(TextBlock& out) override;
  void work(TextBlock& /*out*/) override {}

 private:
  struct XzDecompressor;

  bool begin_next();
  bool decompress(TextBlock& out);

  std::unique_ptr<file::ByteFile> file_;
  std::unique_ptr<XzDecompressor> decompressor_;
  bool is_at_end_ = false;
};

}  // namespace warpmer::io
