#pragma once
/// A large FASTA or FASTQ file on disk, handed over as text by several threads at once: for backends that
/// find its sequences themselves.

#include <atomic>
#include <cstdint>
#include <string>

#include "io/chunked_file.h"
#include "io/fasta_chunk.h"
#include "io/input_options.h"
#include "io/record_reader.h"

namespace warpmer::io {

/// The file is cut in chunks of about a batch. Where a chunk begins is found out from the same characters by
/// whoever takes the chunk and by whoever takes the one before, which ends there.
///
/// FASTQ: at the first record, which is a guess. The first chunk begins with the file. So if each text that
/// is handed over is whole records of four lines, each begins where a record begins, and together they are
/// what reading from the beginning would have given.
///
/// FASTA: as io/fasta_chunk.h says; each text goes on with what its last k-mers reach into.
///
/// A part of a file, of those that several processes read, is some of these chunks.
///
/// Whatever stands in the way of that, an error of the disk, a record without an end or a header that is out
/// of sight, is RawTextRefused.
class RawTextReader {
 public:
  /// Whether a file of this size is worth it.
  static bool is_large(std::uint64_t disk_bytes, RawFormat format, const InputOptions& options);

  /// `path` is a regular file, whose text begins with '@' (FASTQ) or '>' (FASTA), and of which this is a part
  /// or all, and that has `known_bytes` at least. Batches get their text in `memory`.
  RawTextReader(const std::string& path, RawFormat format, const InputShare& share,
                const InputOptions& options, const TextMemory& memory, const std::atomic<bool>& cancelled,
                std::uint64_t known_bytes = 0);

  /// As RecordReader::fill, by any number of threads at once, in any order; adds what the batch accounts for.
  /// Records are not among that: nobody has counted them yet.
  bool fill(Batch& batch, ReaderShare& share);

 private:
  /// How many characters before and behind a place are looked at to find where a chunk begins.
  struct Sight {
    std::size_t before, behind;
  };
  /// A text that is being looked at: `text` is what is at `offset` in the file.
  struct View {
    const char* text;
    std::uint64_t offset;
  };

  static Sight sight_of(RawFormat format, const InputOptions& options);
  static std::size_t largest_chunk(RawFormat format, const InputOptions& options);

  [[nodiscard]] std::uint64_t sight_begin(std::uint64_t offset) const;
  [[nodiscard]] std::uint64_t sight_end(std::uint64_t offset) const;
  [[nodiscard]] ChunkBorder border_at(std::uint64_t offset, const View& view) const;
  [[nodiscard]] const char* chunk_begin(std::uint64_t offset, const View& view) const;
  void add_overlap(Batch& batch, const ChunkBorder& border, const char* next) const;

  const RawFormat format_;
  const std::uint32_t overlap_bases_;
  const Sight sight_;
  const ChunkedFile file_;
  const TextMemory& memory_;
  const std::atomic<bool>& cancelled_;
  const std::uint64_t first_chunk_;
  const std::uint64_t end_chunk_;
  std::atomic<std::uint64_t> next_chunk_;
};

}  // namespace warpmer::io
