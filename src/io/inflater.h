#pragma once
/// Inflate, from ISA-L if it was there at build time, from zlib if not: gzip members as a stream, and
/// single BGZF blocks.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace warpmer::io {

/// Decompresses gzip members one after another, checking each one's CRC and length.
class GzipInflater {
 public:
  enum class Status {
    going_on,       ///< input is used up, or output is full
    end_of_member,  ///< the member and its trailer are complete; input starts with what follows it
    corrupt,        ///< what follows is no gzip member, or a damaged one
  };

  GzipInflater() = default;
  virtual ~GzipInflater() = default;
  GzipInflater(const GzipInflater&) = delete;
  GzipInflater& operator=(const GzipInflater&) = delete;

  /// Decompresses from the front of `input` to the front of `output`, and moves both on.
  virtual Status inflate(std::span<const char>& input, std::span<char>& output) = 0;
  /// Makes ready for the next member.
  virtual void reset() = 0;
};

/// The fastest there is.
std::unique_ptr<GzipInflater> make_gzip_inflater();
/// The one that is always there.
std::unique_ptr<GzipInflater> make_zlib_inflater();

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
