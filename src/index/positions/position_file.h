#pragma once
/// The position index (`.wmp`): where each k-mer of some sequences occurs. Layout in
/// docs/position-index-format.md. It is a HashGraph (Green 2019) over the 2k-bit k-mer hash, its entries all
/// occurrences, cut into bins by the hash's top bits.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "index/index_file.h"
#include "kmer/hash.h"

namespace warpmer::index {

/// The parameters that a reader must know to find anything.
struct PositionParams {
  std::uint32_t k = 31;
  bool canonical = true;
  std::uint32_t hash_version = kKmerHashVersion;  ///< version of the hash in kmer/hash.h
  std::uint32_t bin_bits = 0;                     ///< 2^bin_bits bins, by the top bits of the hash
  std::uint32_t location_bits = 1;  ///< width of a location: a position in all sequences, and a strand
  [[nodiscard]] std::uint32_t bins() const noexcept { return 1u << bin_bits; }
};

/// An occurrence is stored as (position << 1) | strand. Position 0 is the first base of the first sequence,
/// and the sequences follow each other without gaps. Strand is 1 where the k-mer as it stands there is the
/// reverse complement of the canonical one.
using Location = std::uint64_t;

/// Returns the number of bits of a location in sequences of so many bases: 1 more than a position takes.
std::uint32_t location_bits_for(std::uint64_t bases);
/// Bins that so many occurrences are cut into: about 2^15 in each, 2^15 bins at most.
std::uint32_t bin_bits_for(std::uint64_t occurrences, std::uint32_t k);

/// A sequence that was indexed.
struct IndexedSequence {
  std::string name;
  std::uint64_t length = 0;
};

/// Sums over all bins and sequences.
struct PositionTotals {
  std::uint64_t occurrences = 0;       ///< entries
  std::uint64_t distinct = 0;          ///< k-mers
  std::uint64_t unique = 0;            ///< k-mers that occur once
  std::uint64_t most_occurrences = 0;  ///< most occurrences of one k-mer
  std::uint64_t sequences = 0;
  std::uint64_t bases = 0;  ///< bases of all sequences, those that are no A, C, G, T included
};

/// Writes a position index. The size of every bin is known before the first, so bins go to their places in
/// any order; a stream gets them in order. Destroyed before `finish` has returned, it leaves nothing behind.
class PositionWriter {
 public:
  /// `writers` is how many threads will call `put` at once. ResourceError when the file cannot be created. A
  /// stream gets nothing before `begin`.
  explicit PositionWriter(const std::string& path, unsigned writers = 1);
  ~PositionWriter();

  /// Lays out the file. `bin_sizes`: entries of each of the 2^bin_bits bins. ResourceError on a failed write.
  void begin(const PositionParams& params, std::span<const std::uint64_t> bin_sizes);

  /// Hands over the payload of a bin (index/positions/position_codec.h), each bin once; thread-safe. For a
  /// stream, waits until all bins before it are written: then threads must take bins in order. ResourceError
  /// on a failed write.
  void put(std::uint32_t bin, std::span<const std::uint64_t> payload);
  /// Ends all waiting: `put` throws. It is for when a thread has failed.
  void cancel() noexcept;

  /// Writes what remains and gives the file its name. All errors of the file system surface here.
  void finish(const PositionTotals& totals, std::span<const IndexedSequence> sequences,
              const Provenance& provenance);

  [[nodiscard]] std::uint64_t file_bytes() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A bin inside a mapped file.
struct BinView {
  std::uint64_t entries = 0;
  std::uint32_t bucket_bits = 0;
  const std::uint64_t* payload = nullptr;  ///< 8-byte aligned; at least 24 readable bytes follow it
};

/// The place where a k-mer occurs, as users know it.
struct Hit {
  std::uint32_t sequence = 0;  ///< number, from 0
  std::uint64_t position = 0;  ///< place of the k-mer's first base in the sequence, from 0
  bool is_reverse = false;     ///< true when the reverse complement of the canonical k-mer stands there
};

/// A position index opened for reading through mmap (a pipe is read into memory). Opening checks everything
/// but the bins; a bin is checked the first time it is asked for, a location when it is resolved. Whatever
/// does not hold throws InputError with the path. Thread-safe.
class PositionFile {
 public:
  explicit PositionFile(const std::string& path);
  ~PositionFile();
  PositionFile(PositionFile&&) noexcept;
  PositionFile& operator=(PositionFile&&) noexcept;

  [[nodiscard]] const std::string& path() const noexcept;
  [[nodiscard]] const PositionParams& params() const noexcept;
  [[nodiscard]] const PositionTotals& totals() const noexcept;
  [[nodiscard]] const Provenance& provenance() const noexcept;
  [[nodiscard]] std::uint64_t file_bytes() const noexcept;
  /// Returns one number for everything but the provenance (from the stored checksums; no bin is read).
  [[nodiscard]] std::uint64_t content_checksum() const noexcept;

  [[nodiscard]] std::uint32_t sequences() const noexcept;
  [[nodiscard]] std::string_view sequence_name(std::uint32_t sequence) const noexcept;

  [[nodiscard]] BinView bin(std::uint32_t bin) const;
  [[nodiscard]] Hit resolve(Location location) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace warpmer::index
