#include "io/compress/deflate_blocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace warpmer::io {
namespace {

// Numbers of RFC 1951, 3.2.7.
constexpr unsigned kHeaderBits = 17;         ///< BFINAL, BTYPE, HLIT, HDIST, HCLEN
constexpr unsigned kLengthBits = 3;          ///< bits of a code length of the code of code lengths
constexpr unsigned kMostLengthCodes = 19;    ///< symbols of the code of code lengths
constexpr unsigned kMostLengthCodeBits = 7;  ///< most bits of a code for a code length
constexpr unsigned kMostCodeBits = 15;       ///< most bits of a code for a literal, length or distance
constexpr unsigned kMostCodes = 286 + 30;    ///< literals and lengths, distances
constexpr unsigned kEndOfBlock = 256;
constexpr std::array<std::uint8_t, kMostLengthCodes> kLengthCodeOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                                         11, 4,  12, 3, 13, 2, 14, 1, 15};

/// Returns 57 bits or more from `bit` on; the 8 bytes there must exist.
std::uint64_t bits_at(std::string_view data, std::uint64_t bit) {
  std::uint64_t word;
  std::memcpy(&word, data.data() + bit / 8, sizeof word);
  static_assert(std::endian::native == std::endian::little);
  return word >> bit % 8;
}

/// Returns, of the places in a word that begin with at least 13 bits of it (the low 52), those where the
/// header's first three fields could be, by all bits at once: BFINAL 0, BTYPE 2, HLIT and HDIST below 30.
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
      if (length > 0)
        shares[lengths] =
            static_cast<std::uint16_t>(shares[lengths] + (1U << (kMostLengthCodeBits - length)));
    }
  }
  return shares;
}();

/// True when `count` code lengths, of three bits each, make a complete prefix code (Kraft's sum is 1).
bool is_complete(std::uint64_t lengths, unsigned count) {
  lengths &= (std::uint64_t{1} << (kLengthBits * count)) - 1;
  const auto four = [&](unsigned i) -> unsigned {
    return kSharesOfFour[(lengths >> (4 * kLengthBits * i)) % kSharesOfFour.size()];
  };
  // There are no branches: their outcome could not be predicted.
  return four(0) + four(1) + four(2) + four(3) + four(4) == 1U << kMostLengthCodeBits;
}

/// Symbol and length of each code for a code length, by the 7 bits that begin with it.
struct LengthCode {
  std::array<std::uint8_t, 1 << kMostLengthCodeBits> symbols;
  std::array<std::uint8_t, 1 << kMostLengthCodeBits> bits;
};

/// All numbers of 7 bits with their bits the other way round: Huffman codes stand with the highest bit first.
constexpr auto kReversed = [] {
  std::array<std::uint8_t, 1 << kMostLengthCodeBits> reversed = {};
  for (unsigned value = 0; value < reversed.size(); ++value) {
    for (unsigned bit = 0; bit < kMostLengthCodeBits; ++bit) {
      if ((value >> bit & 1) != 0)
        reversed[value] = static_cast<std::uint8_t>(reversed[value] | 1U << (kMostLengthCodeBits - 1 - bit));
    }
  }
  return reversed;
}();

/// Returns the canonical code (RFC 1951, 3.2.2) of `count` lengths that are complete.
LengthCode make_length_code(std::uint64_t lengths, unsigned count) {
  std::array<std::uint8_t, kMostLengthCodes> length_of = {};
  std::array<unsigned, kMostLengthCodeBits + 2> next = {};  // by length: its first code, filled up to 7 bits
  for (unsigned i = 0; i < count; ++i, lengths >>= kLengthBits) {
    const unsigned length = lengths & 7;
    length_of[kLengthCodeOrder[i]] = static_cast<std::uint8_t>(length);
    if (length > 0) next[length + 1] += 1U << (kMostLengthCodeBits - length);
  }
  for (unsigned length = 1; length < next.size(); ++length) next[length] += next[length - 1];
  LengthCode code;
  for (unsigned symbol = 0; symbol < kMostLengthCodes; ++symbol) {
    const unsigned length = length_of[symbol];
    if (length == 0) continue;
    for (unsigned i = 0; i < 1U << (kMostLengthCodeBits - length); ++i) {
      const unsigned place = kReversed[next[length]++];
      code.symbols[place] = static_cast<std::uint8_t>(symbol);
      code.bits[place] = static_cast<std::uint8_t>(length);
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

/// True when the two codes of a block are complete, whose lengths start at `bit` and are written in `code`; a
/// single distance may have a code to itself, or none.
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

/// True when the codes of the possible header at `bit` are complete. Out of line: it is come to rarely, and
/// the way past it is short.
[[gnu::noinline]] bool is_header(std::string_view data, std::uint64_t bit, std::uint64_t lengths,
                                 unsigned count) {
  const std::uint64_t header = bits_at(data, bit);
  const unsigned literals = 257 + (header >> 3 & 31);
  const unsigned distances = 1 + (header >> 8 & 31);
  return has_complete_codes(data, bit + kHeaderBits + kLengthBits * count, make_length_code(lengths, count),
                            literals, distances);
}

inline bool starts_block(std::string_view data, std::uint64_t bit) {
  const unsigned count = 4 + (bits_at(data, bit + kHeaderBits - 4) & 15);
  const std::uint64_t lengths = bits_at(data, bit + kHeaderBits);
  return is_complete(lengths, count) && is_header(data, bit, lengths, count);
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
