#pragma once
/// Inflate, from ISA-L if it was there at build time, from zlib if not: deflate data as a stream, and
/// single BGZF blocks.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace warpmer::io {

/// Decompresses raw deflate data (RFC 1951) that comes in pieces, to text that goes out in pieces.
class DeflateInflater {
 public:
  enum class InflateStatus {
    going_on,  ///< input is used up, or output is full
    end,       ///< the final block is complete; input starts with the first byte after it
    corrupt,   ///< the bytes that follow are no deflate data
  };
  /// At the end of the data `input` can begin up to this many bytes before the piece that was given: what an
  /// inflater took of an earlier piece and did not need. So there must be memory there, which holds the
  /// last bytes of that earlier piece.
  static constexpr std::size_t kTakesBack = 8;

  DeflateInflater() = default;
  virtual ~DeflateInflater() = default;
  DeflateInflater(const DeflateInflater&) = delete;
  DeflateInflater& operator=(const DeflateInflater&) = delete;

  /// Makes ready for a block that starts in the middle of a byte or of a stream: `window` is the text before
  /// it, the last 32 KiB at most, and `bits`, of which there are `bit_count` (0 to 7), come before the input.
  virtual void start(std::string_view window, unsigned bits, unsigned bit_count) = 0;
  /// Decompresses from the front of `input` to the front of `output`, and moves both on.
  virtual InflateStatus inflate(std::span<const char>& input, std::span<char>& output) = 0;
  /// True when the block that it is in, after `inflate`, is the last of its data.
  [[nodiscard]] virtual bool is_in_final_block() const noexcept = 0;
  /// Becomes what `other` is, which must be of the same make.
  virtual void become(const DeflateInflater& other) = 0;
};

using InflaterMaker = std::unique_ptr<DeflateInflater> (*)();

/// Returns the fastest there is.
std::unique_ptr<DeflateInflater> make_inflater();
/// Returns the one that is always there.
std::unique_ptr<DeflateInflater> make_zlib_inflater();

/// Returns the CRC-32 of gzip, of `text` after what has the CRC `crc`.
std::uint32_t gzip_crc(std::uint32_t crc, std::string_view text);
/// Returns the CRC-32 of a text with the CRC `first` and one of `second_size` bytes with the CRC `second`
/// after it.
std::uint32_t join_gzip_crcs(std::uint32_t first, std::uint32_t second, std::size_t second_size);

/// Decompresses whole BGZF blocks (a gzip member whose sizes are known beforehand).
class BlockInflater {
 public:
  BlockInflater();
  ~BlockInflater();
  BlockInflater(const BlockInflater&) = delete;
  BlockInflater& operator=(const BlockInflater&) = delete;

  /// Decompresses one raw deflate stream that must fill `text` exactly and have the CRC-32 `crc`. False
  /// if it does not.
  bool inflate(std::span<const char> deflated, std::span<char> text, std::uint32_t crc);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace warpmer::io
