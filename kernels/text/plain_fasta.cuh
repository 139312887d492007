#pragma once
/// Makes joined text of undecoded FASTA, on the device: headers and line ends are found and left out.

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

  /// Makes room for the next text. Must not be called while the device works on the last one.
  void reserve(std::uint32_t text_bytes);

  /// Enqueues the search. `text` begins within a sequence line (io/fastx/fasta_chunk.h); both are arrays on
  /// the device, with as much room as `text_room` says. Writes joined_bytes(text_bytes) characters to
  /// `joined`: for each header a separator, and all characters of sequences, then separators up to the end.
  /// io/fastx/fasta_text.h defines headers, line ends and odd text. The number of bases includes those of the
  /// overlap.
  void find(const char* text, std::uint32_t text_bytes, char* joined, cudaStream_t stream);

  /// Returns the findings, which are on the device when the search is over.
  [[nodiscard]] const TextFindings* findings() const { return findings_.data(); }

 private:
  DeviceArray<io::FastaStretch>
      tiles_;  ///< stretch of each tile; then of all text before it and, behind the last, of the whole text
  DeviceArray<TextFindings> findings_{1};
};

}  // namespace warpmer::gpu
