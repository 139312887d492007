#include "io/deflate_blocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace warpmer::io {
namespace {

// Numbers of RFC 1951, 3.2.7.
constexpr unsigned kHeaderBits = 17;           ///< BFINAL, BTYPE, HLIT, HDIST, HCLEN
constexpr unsigned kLengthBits = 3;            ///< of a code length of the code of code lengths
constexpr unsigned kMostLengthCodes = 19;      ///< symbols of the code of code lengths
constexpr unsigned kMostLengthCodeBits = 7;    ///< of a code for a code length
constexpr unsigned kMostCodeBits = 15;         ///< of a code for a literal, length or distance
constexpr unsigned kMostCodes = 286 + 30;      ///< literals and lengths, distances
constexpr unsigned kEndOfBlock = 256;
constexpr std::array<std::uint8_t, kMostLengthCodes> kLengthCodeOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                                         11, 4,  12, 3, 13, 2, 14, 1, 15};

/// 57 bits or more from `bit` on; the 8 bytes there must exist.
std::uint64_t bits_at(std::string_view data, std::uint64_t bit) {
  std::uint64_t word;
  std::memcpy(&word, data.data() + bit / 8, sizeof word);
  static_assert(std::endian::native == std::endian::little);
  return word >> bit % 8;
}

/// Of the places in a word that begin with at least 13 bits of it (the low 52): those where the header's
/// first three fields could be, by all bits at once: BFINAL 0, BTYPE 2, HLIT and HDIST below 30.
std::uint64_t possible_headers(std::uint64_t x) {
  const std::uint64_t is_dynamic = ~x & ~(x >> 1) & (x >> 2);
  const std::uint64_t are_many_literals = (x >> 4) & (x >> 5) & (x >> 6) & (x >> 7);
  const std::uint64_t are_many_distances = (x >> 9) & (x >> 10) & (x >> 11) & (x >> 12);
  return is_dynamic & ~are_many_literals & ~are_many_distances & ((std::uint64_t{1} << 52) - 1);
}

/// For four code lengths of three bits: how much of all codes of 7 bits they take.
constexpr auto kSharesOfFour = [] {
  std::array<std::uint16_t, 1 << (4 * kLengthBits)> shares = {};
  for (unsigned lengths = 0; lengths < shares.size(); ++lengths) {
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned length = lengths >> (kLengthBits * i) & 7;
      if (length > 0) shares[lengths] += static_cast<std::uint16_t>(1U << (kMostLengthCodeBits - length));
    }
  }
  return shares;
}();

/// Whether `count` code lengths, of three bits each, make a complete prefix code (Kraft's sum is 1).
bool is_complete(std::uint64_t lengths, unsigned count) {
  lengths &= (std::uint64_t{1} << (kLengthBits * count)) - 1;
  unsigned share = 0;
  for (; lengths != 0; lengths >>= 4 * kLengthBits) share += kSharesOfFour[lengths % kSharesOfFour.size()];
  return share == 1U << kMostLengthCodeBits;
}

/// Symbol and length of each code for a code length, by the 7 bits that begin with it.
struct LengthCode {
  std::array<std::uint8_t, 1 << kMostLengthCodeBits> symbols;
  std::array<std::uint8_t, 1 << kMostLengthCodeBits> bits;
};

/// The canonical code (RFC 1951, 3.2.2) of `count` lengths that are complete. Huffman codes stand with their
/// highest bit first.
LengthCode make_length_code(std::uint64_t lengths, unsigned count) {
  std::array<std::uint8_t, kMostLengthCodes> length_of = {};
  for (unsigned i = 0; i < count; ++i) length_of[kLengthCodeOrder[i]] = lengths >> (kLengthBits * i) & 7;
  LengthCode code = {};
  unsigned next = 0;  // of the codes filled up to 7 bits
  for (unsigned length = 1; length <= kMostLengthCodeBits; ++length) {
    for (unsigned symbol = 0; symbol < kMostLengthCodes; ++symbol) {
      if (length_of[symbol] != length) continue;
      for (unsigned i = 0; i < 1U << (kMostLengthCodeBits - length); ++i, ++next) {
        unsigned reversed = 0;
        for (unsigned bit = 0; bit < kMostLengthCodeBits; ++bit)
          reversed |= (next >> bit & 1) << (kMostLengthCodeBits - 1 - bit);
        code.symbols[reversed] = static_cast<std::uint8_t>(symbol);
        code.bits[reversed] = static_cast<std::uint8_t>(length);
      }
    }
  }
  return code;
}

/// Kraft's sum of codes, and how many there are.
struct CodeShare {
  unsigned share = 0;  ///< in codes of 15 bits
  unsigned codes = 0;

  void add(unsigned length) {
    if (length == 0) return;
    share += 1U << (kMostCodeBits - length);
    ++codes;
  }
  [[nodiscard]] bool is_complete() const { return share == 1U << kMostCodeBits; }
};

/// Whether the two codes of a block, whose lengths start at `bit`, are complete; a single distance may have
/// a code to itself, or none.
bool has_complete_codes(std::string_view data, std::uint64_t bit, const LengthCode& code, unsigned literals,
                        unsigned distances) {
  std::array<std::uint8_t, kMostCodes> lengths;
  for (unsigned count = 0; count < literals + distances;) {
    const std::uint64_t bits = bits_at(data, bit);
    const std::size_t index = bits % code.symbols.size();
    const unsigned symbol = code.symbols[index];
    unsigned used = code.bits[index];
    const std::uint64_t extra = bits >> used;
    unsigned repeats = 1;
    std::uint8_t length = static_cast<std::uint8_t>(symbol);
    if (symbol == 16) {
      if (count == 0) return false;
      length = lengths[count - 1];
      repeats = 3 + (extra & 3);
      used += 2;
    } else if (symbol == 17) {
      length = 0;
      repeats = 3 + (extra & 7);
      used += 3;
    } else if (symbol == 18) {
      length = 0;
      repeats = 11 + (extra & 127);
      used += 7;
    }
    if (count + repeats > literals + distances) return false;
    std::memset(lengths.data() + count, length, repeats);
    count += repeats;
    bit += used;
  }
  CodeShare of_literals, of_distances;
  for (unsigned i = 0; i < literals; ++i) of_literals.add(lengths[i]);
  for (unsigned i = literals; i < literals + distances; ++i) of_distances.add(lengths[i]);
  return lengths[kEndOfBlock] > 0 && of_literals.is_complete() &&
         (of_distances.is_complete() || of_distances.codes <= 1);
}

bool starts_block(std::string_view data, std::uint64_t bit) {
  const std::uint64_t header = bits_at(data, bit);
  const unsigned literals = 257 + (header >> 3 & 31);
  const unsigned distances = 1 + (header >> 8 & 31);
  const unsigned count = 4 + (header >> 13 & 15);
  const std::uint64_t lengths = bits_at(data, bit + kHeaderBits);
  if (!is_complete(lengths, count)) return false;
  return has_complete_codes(data, bit + kHeaderBits + kLengthBits * count, make_length_code(lengths, count),
                            literals, distances);
}

}  // namespace

std::optional<std::uint64_t> find_block(std::string_view data, std::uint64_t begin, std::uint64_t end) {
  if (data.size() < kBlockHeaderBytes) return std::nullopt;
  end = std::min<std::uint64_t>(end, 8 * (data.size() - kBlockHeaderBytes));
  constexpr unsigned kStep = 48;  // whole bytes, so that all words but the first begin where a byte does
  for (std::uint64_t base = begin / 8 * 8; base < end; base += kStep) {
    std::uint64_t places = possible_headers(bits_at(data, base)) & ((std::uint64_t{1} << kStep) - 1);
    if (base < begin) places &= ~std::uint64_t{0} << (begin - base);
    for (; places != 0; places &= places - 1) {
      const std::uint64_t bit = base + static_cast<unsigned>(std::countr_zero(places));
      if (bit < end && starts_block(data, bit)) return bit;
    }
  }
  return std::nullopt;
}

}  // namespace warpmer::io
