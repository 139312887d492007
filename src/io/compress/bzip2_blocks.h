#pragma once
/// bzip2, by its library: streams of blocks, each of which can be decompressed by itself.
///
/// A block begins with a mark of 48 bits, at any bit of a byte, and so does the end of a stream. Nothing else
/// says how long a block is, so a file is cut at the marks. Each block is made a stream of its own, for the
/// library to decompress in `work`. If that fails, the mark at its end may have been none: it is one of 2^48
/// things that data can look like. Then the block is tried again with what follows, in `hand_over`.

#include <cstdint>
#include <memory>
#include <string_view>

#include "file/byte_file.h"
#include "io/blocks/read_ahead.h"

namespace warpmer::io {

/// True when this warpmer was built with the library.
bool has_bzip2() noexcept;
/// True when a file that begins so is bzip2.
bool is_bzip2(std::string_view start);

class Bzip2Blocks final : public TextBlockLoader {
 public:
  static constexpr std::size_t kTextBytes = std::size_t{1} << 20;  ///< of a block of the ring
  static constexpr unsigned kMostThreads = 32;

  explicit Bzip2Blocks(std::unique_ptr<file::ByteFile> file);
  ~Bzip2Blocks() override;

  /// Returns the most bytes that a stream and its text blocks usually hold, text included.
  static std::uint64_t memory_bytes(unsigned threads);

  [[nodiscard]] std::size_t text_capacity() const noexcept override { return kTextBytes; }
  bool load(TextBlock& out) override;
  void work(TextBlock& out) override;
  bool hand_over(TextBlock& out) override;

 private:
  struct BlockBits;
  struct Bzip2Block;

  static Bzip2Block& block_of(TextBlock& out);
  bool begin_stream();
  void cut(Bzip2Block& block);
  void take_end_of_stream(Bzip2Block& block);
  bool join(Bzip2Block& block);
  void check(const Bzip2Block& block);
  [[noreturn]] void fail(const Bzip2Block& block) const;

  std::unique_ptr<file::ByteFile> file_;

  // These belong to the thread that loads.
  bool is_in_stream_ = false;
  unsigned bit_ = 0;  ///< of the first byte of the file that was not taken; a mark begins there
  char level_ = '9';
  std::uint64_t streams_ = 0;  ///< number of those that were begun

  // These belong to the reader.
  std::unique_ptr<BlockBits> failed_;  ///< a block that does not decompress without what follows
  std::uint32_t crc_ = 0;              ///< of the stream so far
};

}  // namespace warpmer::io
