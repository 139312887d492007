#pragma once
/// Fields of any width up to 128 bits, packed least significant bit first into 64-bit words.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kmer/kmer.h"
#include "kmer/platform.h"

namespace warpmer {

static_assert(std::endian::native == std::endian::little, "files are read as they lie, little-endian");

/// Appends fields to words, which go to an output iterator: a pointer, or what takes them somewhere else.
template <class Words = std::uint64_t*>
class BitWriter {
 public:
  explicit BitWriter(Words words) : words_(words) {}

  /// Writes the low `bits` (1 to 64) of `value`; the bits above them are zero.
  void write(std::uint64_t value, std::uint32_t bits) {
    pending_ |= value << filled_;
    if (filled_ + bits >= 64) {
      *words_++ = pending_;
      pending_ = filled_ == 0 ? 0 : value >> (64 - filled_);
      filled_ = filled_ + bits - 64;
    } else {
      filled_ += bits;
    }
  }
  /// Writes up to 128 bits.
  void write_wide(Key128 value, std::uint32_t bits) {
    if (bits > 64) {
      write(static_cast<std::uint64_t>(value), 64);
      write(static_cast<std::uint64_t>(value >> 64), bits - 64);
    } else if (bits > 0) {
      write(static_cast<std::uint64_t>(value), bits);
    }
  }
  /// Completes the last word, with zeros. Bits that follow begin with a word of their own.
  void flush() {
    if (filled_ > 0) *words_++ = pending_;
    pending_ = 0;
    filled_ = 0;
  }

 private:
  Words words_;
  std::uint64_t pending_ = 0;
  std::uint32_t filled_ = 0;
};

/// Returns the number of words that `fields` fields of `bits` bits take.
constexpr std::size_t words_for(std::uint64_t fields, std::uint32_t bits) {
  return static_cast<std::size_t>((Key128{fields} * bits + 63) / 64);
}

/// Words behind the last one that `read_bits` may look at.
inline constexpr std::size_t kReadAheadWords = 3;

/// Returns a word whose low bits are the `bits` bits (0 to 64) at bit offset `at`; what the others are does
/// not matter.
WARPMER_HD_INLINE std::uint64_t word_at(const std::uint64_t* words, std::uint64_t at, std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  // A GPU loads whole words where they lie, and every load counts: none that the field does not reach.
  const std::uint64_t* from = words + at / 64;
  const std::uint32_t shift = at % 64;
  std::uint64_t word = from[0] >> shift;
  if (shift + bits > 64) word |= from[1] << (64 - shift);
#else
  const auto* bytes = reinterpret_cast<const char*>(words) + at / 8;
  const std::uint32_t shift = at % 8;
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, 8);
  word >>= shift;
  if (shift + bits > 64)
    word |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[8])) << (64 - shift);
#endif
  return word;
}

/// Returns the `bits` bits (0 to 128) at bit offset `at`. Reads up to kReadAheadWords past the field's first.
template <class Value>
WARPMER_HD_INLINE Value read_bits(const std::uint64_t* words, std::uint64_t at, std::uint32_t bits) {
  if constexpr (sizeof(Value) == 8) {
    const std::uint64_t word = word_at(words, at, bits);
    return bits >= 64 ? word : word & ((std::uint64_t{1} << bits) - 1);
  } else {
#if defined(__CUDA_ARCH__)
    const std::uint64_t* from = words + at / 64;
    const std::uint32_t shift = at % 64;
    Value value = from[0];
    if (shift + bits > 64) value |= Value{from[1]} << 64;
    value >>= shift;
    if (shift + bits > 128) value |= Value{from[2]} << (128 - shift);
#else
    const auto* bytes = reinterpret_cast<const char*>(words) + at / 8;
    const std::uint32_t shift = at % 8;
    std::uint64_t low = 0, high = 0;
    std::memcpy(&low, bytes, 8);
    std::memcpy(&high, bytes + 8, 8);
    Value value = ((Value{high} << 64) | low) >> shift;
    if (shift + bits > 128) value |= Value{static_cast<unsigned char>(bytes[16])} << (128 - shift);
#endif
    return bits >= 128 ? value : value & ((Value{1} << bits) - 1);
  }
}

/// Returns the 32 bits at bit offset `at`; as read_bits, with fewer instructions.
WARPMER_HD_INLINE std::uint32_t read_32_bits(const std::uint64_t* words, std::uint64_t at) {
#if defined(__CUDA_ARCH__)
  const auto* from = reinterpret_cast<const std::uint32_t*>(words) + at / 32;
  return __funnelshift_r(from[0], from[1], static_cast<std::uint32_t>(at) % 32);
#else
  return static_cast<std::uint32_t>(read_bits<std::uint64_t>(words, at, 32));
#endif
}

}  // namespace warpmer
