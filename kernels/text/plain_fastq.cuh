#pragma once
/// Makes joined text of undecoded FASTQ, on the device: lines are found and checked, and sequences are copied
/// to places at which they can be cut.

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/memory/device_memory.cuh"
#include "kernels/text/plain_text.cuh"

namespace warpmer::gpu {

/// A line: [begin, end).
struct LineBounds {
  std::uint32_t begin, end;
  [[nodiscard]] __device__ std::uint32_t size() const { return end - begin; }
};

/// The records of a text, of four lines each, for kernels.
struct PlainRecords {
  const std::uint32_t* line_ends;
  const TextFindings* findings;

  /// Returns how many there are when the search is over; none of a text that is not plain.
  [[nodiscard]] __device__ std::uint32_t size() const { return findings->odd > 0 ? 0 : findings->records; }
  [[nodiscard]] __device__ LineBounds header(std::uint32_t record) const {
    return {record == 0 ? 0 : line_ends[4 * record - 1] + 1, line_ends[4 * record]};
  }
  /// Returns another line of a record: 1 has the bases, 3 their quality.
  [[nodiscard]] __device__ LineBounds line(std::uint32_t record, std::uint32_t number) const {
    return {line_ends[4 * record + number - 1] + 1, line_ends[4 * record + number]};
  }
  /// Returns the place of a record's sequence in the joined text.
  [[nodiscard]] __device__ std::uint32_t joined_at(std::uint32_t record) const {
    return header(record).begin / 2;
  }
};

/// Finds the records of one text at a time.
class PlainFastq {
 public:
  /// A text is shorter than 2^32 - 2^20 bytes.
  static constexpr std::uint32_t joined_bytes(std::uint32_t text_bytes) { return text_bytes / 2; }
  /// Returns the most records of a text; one with more, which are very short, is odd.
  static constexpr std::uint32_t most_records(std::uint32_t text_bytes) { return most_lines(text_bytes) / 4; }
  /// Returns the device memory that `reserve` takes.
  static constexpr std::uint64_t device_bytes(std::uint32_t text_bytes) {
    return (plain_tiles_in(text_bytes) + most_lines(text_bytes)) * std::uint64_t{sizeof(std::uint32_t)};
  }

  /// Makes room for the next text. Must not be called while the device works on the last one.
  void reserve(std::uint32_t text_bytes);

  /// Enqueues the search. `text` begins with a record and ends with a line end; both are arrays on the
  /// device, with as much room as `text_room` says. Writes joined_bytes(text_bytes) characters to `joined`:
  /// the sequences, and separators between them. A record of n bytes has a sequence of less than n / 2, so
  /// the one that begins at byte i has its place at i / 2, and the lengths of those before it need not be
  /// known.
  ///
  /// Records are as RecordParser::parse_simple_fastq (io/fastx/fastq.cpp) has them: four lines; '@' begins
  /// the first, '+' the third, which may say anything; the sequence does not begin with '@', '>' or '+', and
  /// has no blanks; as many quality characters as bases, from '!' to '~'; no carriage returns. Bases of a
  /// quality below `lowest_quality` become N.
  void find(const char* text, std::uint32_t text_bytes, char lowest_quality, char* joined,
            cudaStream_t stream);

  /// Returns the findings, which are on the device when the search is over.
  [[nodiscard]] const TextFindings* findings() const { return findings_.data(); }
  [[nodiscard]] PlainRecords records() const { return {line_ends_.data(), findings_.data()}; }

 private:
  /// Texts have room for one line in so many bytes. Shorter ones are left to the host.
  static constexpr std::uint32_t kBytesPerLine = 8;
  static constexpr std::uint32_t most_lines(std::uint32_t bytes) { return bytes / kBytesPerLine + 4; }

  DeviceArray<std::uint32_t> tile_lines_;  ///< number of line ends in a tile; then in all tiles before it
  DeviceArray<std::uint32_t> line_ends_;
  DeviceArray<TextFindings> findings_{1};
};

}  // namespace warpmer::gpu
