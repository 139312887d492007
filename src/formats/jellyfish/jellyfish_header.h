#pragma once
/// The header of Jellyfish's files: its length in nine digits, JSON, and zeros up to a multiple of 8 bytes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "file/mapped_input.h"
#include "formats/stream/kmer_stream.h"

namespace warpmer::formats {

/// Formats of what is behind the header: records, or lines.
inline constexpr std::string_view kJellyfishBinary = "binary/sorted", kJellyfishText = "text/sorted",
                                  kJellyfishBloom = "bloomcounter";
/// Bytes from which a file is known to have a header.
inline constexpr std::size_t kJellyfishMarkBytes = 10;

/// The widest counts that there are.
inline constexpr std::uint32_t kMostJellyfishCountBytes = 8;

struct JellyfishHeader {
  std::string format;
  StreamFacts facts;              ///< k, strand and which counts were left out
  std::uint32_t count_bytes = 0;  ///< of records
  std::uint64_t size = 0;         ///< of the hash; 0 where it is not told
  std::uint64_t bytes = 0;        ///< before the first record or line
};

/// The header of a Bloom counter (jellyfish_bloom.h).
struct JellyfishBloomHeader {
  std::uint32_t k = 0;
  bool canonical = false;
  std::uint64_t digits = 0;
  std::uint64_t hashes = 0;
  std::array<std::vector<std::uint64_t>, 2> columns{};  ///< of both matrices: that of the highest bit first
  std::uint64_t bytes = 0;                              ///< before the first digits
};

/// Says who made a file, when and where; `jellyfish info` tells it.
struct JellyfishCall {
  std::vector<std::string> command_line = {"warpmer", "convert"};
  std::string program, host, directory, time;
};

/// InputError for a file that does not begin so (file::MappedInput::EarlyCheck).
void check_is_jellyfish(std::span<const std::byte> start, const std::string& name);

/// InputError for a header that is none, damaged, or of another format than `wanted`; if that is empty, any.
JellyfishHeader read_jellyfish_header(const file::MappedInput& file, std::string_view wanted);

/// Returns the header's JSON as it is in the file; InputError if there is none.
std::string_view jellyfish_json(const file::MappedInput& file);

/// Returns the header of a file that we write, in the order of jellyfish_order.h with so many bits of a
/// position.
std::string jellyfish_header(const StreamFacts& facts, std::uint32_t position_bits, std::uint32_t count_bytes,
                             std::string_view format, const JellyfishCall& made_by);

/// Do so with a Bloom counter's header. InputError if it is none, or damaged.
JellyfishBloomHeader read_jellyfish_bloom_header(const file::MappedInput& file);
std::string jellyfish_bloom_header(const JellyfishBloomHeader& header, const JellyfishCall& made_by);

}  // namespace warpmer::formats
