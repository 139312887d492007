/// `jellyfish mem`: how much memory a hash table of Jellyfish's takes.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/framework/exit_status.h"
#include "cli/personalities/jellyfish/jellyfish.h"

namespace warpmer::cli {
namespace {

constexpr unsigned kWordBits = 64;

struct JellyfishTable {
  std::uint32_t k = 0;
  std::uint32_t count_bits = 7;
  std::uint32_t reprobes = 126;
};

constexpr std::uint32_t bits_of(std::uint64_t number) {
  return static_cast<std::uint32_t>(std::bit_width(number));
}

/// Slots and words of a block: slots follow each other bit by bit, until one ends where a word does, or two
/// bits before. A key that goes beyond its word gives a bit of each of its words to a mark.
struct SlotBlock {
  std::uint64_t slots = 0, words = 0;
};

SlotBlock block_of(std::uint64_t key_bits, std::uint64_t count_bits) {
  SlotBlock block;
  std::uint64_t end = 0;  // in bits
  do {
    const std::uint64_t in_word = end % kWordBits;
    const std::uint64_t key = key_bits + 1;  // and whether the count goes on elsewhere
    if (in_word + key <= kWordBits) {
      end += key;
    } else {
      constexpr std::uint64_t kUnmarked = kWordBits - 1;
      const std::uint64_t rest = key - (kUnmarked - in_word);
      end += kWordBits - in_word + rest / kUnmarked * kWordBits;
      if (rest % kUnmarked != 0) end += rest % kUnmarked + 1;
    }
    end += count_bits;
    ++block.slots;
  } while (end % kWordBits != 0 && end % kWordBits < kWordBits - 2);
  block.words = (end + kWordBits - 1) / kWordBits;
  return block;
}

/// Returns the bytes of a table of 2^size_bits slots.
std::uint64_t bytes_of_table(const JellyfishTable& table, std::uint32_t size_bits) {
  constexpr std::uint64_t kObjects = 24816;  // Jellyfish's own, beside the slots
  const std::uint64_t size = std::uint64_t{1} << size_bits;
  std::uint64_t reprobes = table.reprobes;
  const auto last_step = [&] { return std::max<std::uint64_t>(reprobes * (reprobes + 1) / 2, 1); };
  while (reprobes >= 1 && last_step() >= size) --reprobes;
  const std::uint32_t key_bits = 2 * table.k > size_bits ? 2 * table.k - size_bits : 0;
  const SlotBlock block = block_of(key_bits + bits_of(reprobes + 1), table.count_bits);
  return (size + block.slots - 1) / block.slots * block.words * (kWordBits / 8) + kObjects;
}

std::string with_suffix(std::uint64_t number, std::uint64_t step) {
  constexpr std::string_view kSuffixes = "kMGTPE";
  std::size_t i = 0;
  for (; number >= step && i < kSuffixes.size(); ++i) number /= step;
  return fmt::format("{}{}", number, i > 0 ? kSuffixes.substr(i - 1, 1) : "");
}

/// All that `jellyfish count` takes is taken.
std::vector<OptionRow> ignored_rows() {
  using enum ValuePlace;
  return {ignored("-t,--threads,-F,--Files,-g,--generator,-G,--Generators,-S,--shell,-o,--output", free,
                  "an option of 'count'"),
          ignored("--out-counter-len,--bc,--bf-size,--bf-fp,--if,-Q,--min-qual-char,-L,--lower-count", free,
                  "an option of 'count'"),
          ignored("-U,--upper-count,--timing", free, "an option of 'count'"),
          ignored("-C,--canonical,--text,--disk,--no-merge,--no-unlink,--no-write", none,
                  "an option of 'count'")};
}

}  // namespace

int run_jellyfish_mem(const JellyfishWords& command) {
  using enum ValuePlace;
  constexpr std::uint32_t kMostReprobes = 255;
  constexpr std::uint32_t kMostSizeBits = 62;
  JellyfishTable of;
  std::uint64_t size = 0, memory = 0;
  OptionTable table{"jellyfish mem",
                    joined({{taken("-m,--mer-len", free, "length of the k-mers", store_number(of.k, 1)),
                             taken("-s,--size", free, "k-mers that a table is to hold", store_suffixed(size)),
                             taken("-c,--counter-len", free, "bits of a count; 7 unless given",
                                   store_number(of.count_bits, 0, kWordBits - 1)),
                             taken("-p,--reprobes", free, "places to try; 126 unless given",
                                   store_number(of.reprobes, 0, kMostReprobes)),
                             taken("--mem", free, "bytes; print the largest size of a table in so many",
                                   store_suffixed(memory))},
                            ignored_rows()})};
  if (!jellyfish_arguments(command, std::move(table), "file...", 0, SIZE_MAX)) return kDone;
  if (of.k == 0) throw UsageError("jellyfish mem: -m, the length of the k-mers, is missing");
  if (size > 0 && memory > 0) throw UsageError("jellyfish mem: -s and --mem exclude each other");
  if (size > std::uint64_t{1} << kMostSizeBits) throw UsageError("jellyfish mem: -s is too large");
  if (size > 0) {
    const std::uint64_t bytes = bytes_of_table(of, bits_of(size - 1));
    print_on_standard_output(fmt::format("{} ({})\n", bytes, with_suffix(bytes, 1024)));
    return kDone;
  }
  std::uint32_t size_bits = 0;
  while (size_bits < kMostSizeBits && bytes_of_table(of, size_bits + 1) < memory) ++size_bits;
  const std::uint64_t slots = std::uint64_t{1} << size_bits;
  print_on_standard_output(fmt::format("{} ({})\n", slots, with_suffix(slots, 1000)));
  return kDone;
}

}  // namespace warpmer::cli
