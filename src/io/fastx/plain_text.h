#pragma once
/// FASTA and FASTQ files on disk as raw text: for a sample of them (io/fastx/sampled_text.h), and for
/// backends that find sequences themselves.
///
/// A file is cut in chunks at places that divide it equally, and a chunk begins near such a place. That place
/// is found from the same characters by the thread that takes the chunk and by the one that takes the chunk
/// before, which ends there. In FASTQ it is the first record, which is a guess (io/fastx/record_guess.h); in
/// FASTA it is as io/fastx/fasta_chunk.h says. The first chunk begins with the file.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "file/chunked_file.h"
#include "io/fastx/fasta_chunk.h"
#include "io/fastx/input_shares.h"
#include "io/fastx/record_reader.h"
#include "io/text/input_list.h"
#include "io/text/input_options.h"

namespace warpmer::io {

/// Number of characters before and behind a place that are looked at to find where a chunk begins.
struct ChunkSight {
  std::size_t before = 0, behind = 0;
};

/// A chunk in memory.
struct RawChunk {
  const char* begin = nullptr;
  const char* end = nullptr;  ///< place at which the next chunk begins
  ChunkBorder end_border{};   ///< the text around the place near which that is
  std::uint64_t offset = 0;   ///< offset of `begin` in the file
};

class RawChunks {
 public:
  /// Takes the same as ChunkedFile; the text of the file begins with '@' or '>', as `format` says.
  RawChunks(const InputFile& file, RawFormat format, std::uint64_t most_bytes, ChunkSight sight,
            const std::atomic<bool>& cancelled)
      : format_(format),
        sight_(sight),
        file_(file.path, file.shown, most_bytes, cancelled, file.disk_bytes) {}

  [[nodiscard]] RawFormat format() const noexcept { return format_; }
  [[nodiscard]] std::uint64_t chunks() const noexcept { return file_.chunks(); }

  /// Returns the bytes that `read` needs.
  [[nodiscard]] std::size_t room(std::uint64_t chunk) const;
  /// Reads a chunk, and what is looked at around it, to `into`; any number of threads may call it. Returns
  /// nothing if it cannot be seen where the chunk begins or ends, or it cannot be read. Throws BecameShorter.
  std::optional<RawChunk> read(std::uint64_t chunk, char* into) const;

 private:
  /// A text that is being looked at: `text` is what is at `offset` in the file.
  struct View {
    const char* text;
    std::uint64_t offset;
  };

  [[nodiscard]] std::uint64_t sight_begin(std::uint64_t offset) const;
  [[nodiscard]] std::uint64_t sight_end(std::uint64_t offset) const;
  [[nodiscard]] ChunkBorder border_at(std::uint64_t offset, const View& view) const;
  [[nodiscard]] const char* chunk_begin(std::uint64_t offset, const View& view) const;

  const RawFormat format_;
  const ChunkSight sight_;
  const file::ChunkedFile file_;
};

/// Hands a large file, or a part of it, over as raw text, chunk by chunk, to several threads at once.
///
/// FASTQ: if each text that is handed over is whole records of four lines, each begins where a record begins,
/// and together they are what reading from the beginning would have given. FASTA: each text goes on with what
/// its last k-mers reach into.
///
/// An error of the disk, a record without an end or a header that is out of sight makes it throw
/// RawTextRefused.
class RawTextReader {
 public:
  /// True when a file is so large that handing over its text is worth it.
  static bool is_large(std::uint64_t disk_bytes, RawFormat format, const InputOptions& options);

  /// `file` is a regular one, whose text begins with '@' (FASTQ) or '>' (FASTA), and of which this is a part
  /// or all. Batches get their text in `memory`.
  RawTextReader(const InputFile& file, RawFormat format, const InputShare& share, const InputOptions& options,
                const TextMemory& memory, const std::atomic<bool>& cancelled);

  /// Does the same as RecordReader::fill, by any number of threads at once, in any order; adds what the batch
  /// accounts for. Records are not counted: finding them is left to the backend.
  bool fill(Batch& batch, ReaderShare& share);

 private:
  void add_overlap(Batch& batch, const RawChunk& chunk) const;

  const std::uint32_t overlap_bases_;
  const RawChunks chunks_;
  const TextMemory& memory_;
  const std::uint64_t first_chunk_;
  const std::uint64_t end_chunk_;
  std::atomic<std::uint64_t> next_chunk_;
};

}  // namespace warpmer::io
