#include "index/packed_checks.h"

#include <array>
#include <cstring>

#include "kmer/bit_stream.h"

namespace warpmer::index::layout {
namespace {

/// Fields of at most so many bits are within eight bytes, whichever bit of the first one they begin with.
constexpr std::uint32_t kMostInWord = 57;

/// Sees numbers below 2^63 one after the other.
class Rise {
 public:
  void add(std::uint64_t number) {
    falls_ |= number - previous_;  // the highest bit, if it is smaller
    previous_ = number;
  }
  [[nodiscard]] bool has_fallen() const { return falls_ >> 63 != 0; }
  [[nodiscard]] std::uint64_t last() const { return previous_; }

 private:
  std::uint64_t previous_ = 0, falls_ = 0;
};

/// Takes eight fields at a time: they take `width` bytes, so that each is at the same place of its eight.
Rise rise_of(const std::uint64_t* words, std::uint64_t fields, std::uint32_t width) {
  constexpr std::uint32_t kGroup = 8;
  const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
  const auto* group = reinterpret_cast<const char*>(words);
  std::array<std::uint32_t, kGroup> byte{}, shift{};
  for (std::uint32_t i = 0; i < kGroup; ++i) {
    byte[i] = i * width / 8;
    shift[i] = i * width % 8;
  }
  Rise rise;
  const auto add = [&](std::uint32_t i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, group + byte[i], sizeof bits);
    rise.add(bits >> shift[i] & mask);
  };
  for (; fields >= kGroup; fields -= kGroup, group += width)
    for (std::uint32_t i = 0; i < kGroup; ++i) add(i);
  for (std::uint32_t i = 0; i < fields; ++i) add(i);
  return rise;
}

}  // namespace

bool rest_is_zero(const std::uint64_t* words, Key128 bits) {
  const auto used = static_cast<std::uint32_t>(bits % 64);
  return used == 0 || (words[static_cast<std::size_t>(bits / 64)] >> used) == 0;
}

bool offsets_rise(const std::uint64_t* words, std::uint64_t buckets, std::uint32_t width,
                  std::uint64_t entries) {
  if (read_bits<std::uint64_t>(words, 0, width) != 0) return false;
  if (width <= kMostInWord) {
    const Rise rise = rise_of(words, buckets + 1, width);
    return !rise.has_fallen() && rise.last() == entries;
  }
  std::uint64_t previous = 0;
  for (std::uint64_t i = 1; i <= buckets; ++i) {
    const auto offset = read_bits<std::uint64_t>(words, i * width, width);
    if (offset < previous) return false;
    previous = offset;
  }
  return previous == entries;
}

}  // namespace warpmer::index::layout
