#pragma once
/// FASTA as it is in the file to joined text, on the device: headers and line ends are found and left out.

#include <cuda_runtime.h>

#include <cstdint>

#include "io/fastx/fasta_text.h"
#include "kernels/memory/device_memory.cuh"
#include "kernels/text/plain_text.cuh"

namespace warpmer::gpu {

/// Finds the sequences of one text at a time.
class PlainFasta {
 public:
  /// A text is shorter than 2^32 - 2^20 bytes.
  static constexpr std::uint32_t joined_bytes(std::uint32_t text_bytes) { return text_bytes; }

  /// Makes room for the next text. Not while the device works on the last one.
  void reserve(std::uint32_t text_bytes);

  /// Enqueues the search. `text` begins within a sequence line (io/fastx/fasta_chunk.h); both are arrays on
  /// the device, with as much room as `text_room` says. Writes joined_bytes(text_bytes) characters to
  /// `joined`: for each header a separator, and all characters of sequences, then separators up to the end.
  /// What is a header and what is a line end, and what is odd, io/fastx/fasta_text.h says. Bases are counted
  /// with those of the overlap.
  void find(const char* text, std::uint32_t text_bytes, char* joined, cudaStream_t stream);

  /// On the device, when the search is over.
  [[nodiscard]] const TextFindings* findings() const { return findings_.data(); }

 private:
  DeviceArray<io::FastaStretch> tiles_;  ///< each tile's; then what is before it, and, behind the last, all
  DeviceArray<TextFindings> findings_{1};
};

}  // namespace warpmer::gpu
