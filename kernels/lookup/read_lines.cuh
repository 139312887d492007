#pragma once
/// Writes the lines that `query` says of reads on the device, where the text with their names is.

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/lookup/read_sums.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/scan_memory.cuh"
#include "kernels/text/cut.cuh"
#include "kernels/text/plain_fastq.cuh"

namespace warpmer::gpu {

/// Tells the host of a text and its lines.
struct LinesReport {
  TextFindings findings;
  std::uint32_t first_invalid;  ///< as in CutStatus
  std::uint32_t bytes;          ///< of all lines
  std::uint32_t odd_names;      ///< number of records without a name
  std::uint32_t with_kmers;     ///< number of reads that have k-mers, and of those of which one was found
  std::uint32_t with_found;
};

/// Lines of one text at a time.
class ReadLines {
 public:
  /// Returns the device memory that `reserve` takes for texts of so many bytes, about.
  static constexpr std::uint64_t device_bytes(std::uint32_t text_bytes) {
    return room(text_bytes) +
           std::uint64_t{PlainFastq::most_records(text_bytes) + 1} * 2 * sizeof(std::uint32_t);
  }
  /// Returns the most bytes of the lines of a text: as many as it has.
  static constexpr std::uint32_t room(std::uint32_t text_bytes) { return text_bytes; }

  /// Makes room for the next text. Must not be called while the device works on the last one.
  void reserve(std::uint32_t text_bytes);

  /// Enqueues the writing of a line for each record of `text`, which has `bytes` bytes: the name, which is
  /// what stands before the first blank of a header, and backend::write_summary of its `sums`. When there is
  /// no room for all lines, some are not written, but the report has the bytes of all.
  void write(const char* text, std::uint32_t bytes, const PlainRecords& records, const ReadSums* sums,
             const CutStatus* status, cudaStream_t stream);

  /// Return what is on the device when they are written.
  [[nodiscard]] const char* lines() const { return lines_.data(); }
  [[nodiscard]] const LinesReport* report() const { return report_.data(); }

 private:
  DeviceArray<std::uint32_t> line_bytes_;
  DeviceArray<std::uint32_t> line_begins_;  ///< and the end of the last
  ScanMemory scan_;
  DeviceArray<char> lines_;
  DeviceArray<LinesReport> report_{1};
};

}  // namespace warpmer::gpu
