#pragma once
/// K-mers as integers: the first base in the most significant of 2k bits, A=0 C=1 G=2 T=3, so that
/// integer order is lexicographic order. One 64-bit word up to k = 32, one 128-bit word up to 64.

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "kmer/alphabet.h"
#include "kmer/platform.h"

namespace warpmer {

using Key64 = std::uint64_t;
__extension__ using Key128 = unsigned __int128;

inline constexpr std::uint32_t kMaxK = 64;
/// Up to here a k-mer is one 64-bit word.
inline constexpr std::uint32_t kMaxNarrowK = 32;

/// Says which k-mers a job is about.
struct KmerParams {
  std::uint32_t k = 31;   ///< 1 to kMaxK
  bool canonical = true;  ///< a k-mer and its reverse complement are one
};

template <class Key>
inline constexpr std::uint32_t kKeyBits = 8 * sizeof(Key);

/// Returns a key with the low `2k` bits set.
template <class Key>
WARPMER_HD constexpr Key key_mask(std::uint32_t k) {
  return 2 * k >= kKeyBits<Key> ? ~Key{0} : (Key{1} << (2 * k)) - 1;
}

/// Reverses the order of the 32 two-bit groups of a word.
WARPMER_HD constexpr std::uint64_t reverse_pairs(std::uint64_t x) {
  x = ((x >> 2) & 0x3333333333333333u) | ((x & 0x3333333333333333u) << 2);
  x = ((x >> 4) & 0x0F0F0F0F0F0F0F0Fu) | ((x & 0x0F0F0F0F0F0F0F0Fu) << 4);
#if defined(__CUDA_ARCH__)
  const auto low = static_cast<std::uint32_t>(x), high = static_cast<std::uint32_t>(x >> 32);
  return (std::uint64_t{__byte_perm(low, 0, 0x0123)} << 32) | __byte_perm(high, 0, 0x0123);
#else
  return __builtin_bswap64(x);
#endif
}

/// Does the same for the 16 groups of half a word.
WARPMER_HD constexpr std::uint32_t reverse_pairs_32(std::uint32_t x) {
#if defined(__CUDA_ARCH__)
  x = __brev(x);
  return ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
#else
  return static_cast<std::uint32_t>(reverse_pairs(std::uint64_t{x}) >> 32);
#endif
}

/// Returns the k-mer read from the other strand.
WARPMER_HD constexpr Key64 reverse_complement(Key64 kmer, std::uint32_t k) {
  return reverse_pairs(~kmer) >> (64 - 2 * k);
}
WARPMER_HD constexpr Key128 reverse_complement(Key128 kmer, std::uint32_t k) {
  const Key128 reversed = (Key128{reverse_pairs(~static_cast<std::uint64_t>(kmer))} << 64) |
                          reverse_pairs(~static_cast<std::uint64_t>(kmer >> 64));
  return reversed >> (128 - 2 * k);
}

/// Returns the lexicographically smaller of a k-mer and its reverse complement.
template <class Key>
WARPMER_HD constexpr Key canonical(Key kmer, std::uint32_t k) {
  const Key other = reverse_complement(kmer, k);
  return other < kmer ? other : kmer;
}

namespace detail {
/// The text of every four bases.
constexpr std::array<std::array<char, 4>, 256> make_quad_text() {
  std::array<std::array<char, 4>, 256> text{};
  for (unsigned quad = 0; quad < 256; ++quad) {
    for (unsigned i = 0; i < 4; ++i) text[quad][i] = base_char((quad >> (6 - 2 * i)) & 3);
  }
  return text;
}
inline constexpr auto kQuadText = make_quad_text();
}  // namespace detail

/// The most that `write_kmer` writes.
inline constexpr std::size_t kKmerRoom = kMaxK;

/// Writes the k characters of a k-mer to `out`, and up to 3 more behind them: sooner done than exactly k.
template <class Key>
[[gnu::always_inline]] inline void write_kmer(Key kmer, std::uint32_t k, char* out) {
  kmer <<= kKeyBits<Key> - 2 * k;  // the first base now is at the top, whatever k
  for (std::uint32_t base = 0; base < k; base += 4, kmer <<= 8) {
    const auto quad = static_cast<std::uint8_t>(kmer >> (kKeyBits<Key> - 8));
    std::memcpy(out + base, detail::kQuadText[quad].data(), 4);
  }
}

/// Writes the k characters of a k-mer to `out`.
template <class Key>
inline void kmer_to_text(Key kmer, std::uint32_t k, char* out) {
  std::uint32_t left = k;
  for (; left >= 4; left -= 4, kmer >>= 8)
    std::memcpy(out + left - 4, detail::kQuadText[static_cast<std::uint8_t>(kmer)].data(), 4);
  for (; left > 0; --left, kmer >>= 2) out[left - 1] = base_char(static_cast<unsigned>(kmer) & 3);
}

namespace detail {
/// Packs eight characters, the first base highest, all at once: from bits 1 and 2 of each follow its code and
/// what character it must be. False for anything but A C G T, any case.
inline bool pack_octet(const char* text, std::uint16_t& packed) {
  constexpr std::uint64_t kEach = 0x0101010101010101u;
  std::uint64_t x;
  std::memcpy(&x, text, sizeof x);
  x = __builtin_bswap64(x);
  const std::uint64_t low = (x >> 1) & kEach, high = (x >> 2) & kEach, is_t = high & ~low;
  const std::uint64_t wanted = 0x40 * kEach | is_t << 4 | high << 2 | low << 1 | (is_t ^ kEach);
  std::uint64_t codes = (high << 1) | (low ^ high);
  codes = (codes | codes >> 6) & 0x000F000F000F000Fu;
  codes = (codes | codes >> 12) & 0x000000FF000000FFu;
  packed = static_cast<std::uint16_t>(codes | codes >> 24);
  return (x & 0xDF * kEach) == wanted;
}
}  // namespace detail

/// Reads a k-mer from text; false when a character is no base.
template <class Key>
inline bool kmer_from_text(std::string_view text, Key& kmer) {
  kmer = 0;
  std::size_t at = 0;
  for (std::uint16_t octet = 0; at + 8 <= text.size() && detail::pack_octet(text.data() + at, octet); at += 8)
    kmer = static_cast<Key>((kmer << 16) | octet);
  for (; at < text.size(); ++at) {
    if (char_class(text[at]) != CharClass::base) return false;
    kmer = static_cast<Key>((kmer << 2) | base_code(text[at]));
  }
  return true;
}

/// Calls `f` with a value of the key type that k needs.
template <class F>
inline auto with_key_type(std::uint32_t k, F&& f) {
  return k <= kMaxNarrowK ? f(Key64{}) : f(Key128{});
}

}  // namespace warpmer
