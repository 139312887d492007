#pragma once
/// Makes joined text of undecoded FASTQ, on the device: lines are found and checked, and sequences are copied
/// to places at which they can be cut.

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/memory/device_memory.cuh"
#include "kernels/text/plain_text.cuh"

namespace warpmer::gpu {

/// Finds the records of one text at a time.
class PlainFastq {
 public:
  /// A text is shorter than 2^32 - 2^20 bytes.
  static constexpr std::uint32_t joined_bytes(std::uint32_t text_bytes) { return text_bytes / 2; }

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

 private:
  DeviceArray<std::uint32_t> tile_lines_;  ///< number of line ends in a tile; then in all tiles before it
  DeviceArray<std::uint32_t> line_ends_;
  DeviceArray<TextFindings> findings_{1};
};

}  // namespace warpmer::gpu
