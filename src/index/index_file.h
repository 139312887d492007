#pragma once
/// The index file (`.wmi`): a directory of frozen shards. Layout in docs/index-format.md.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "groups/shard_bits.h"
#include "index/frozen_shard.h"
#include "kmer/hash.h"

namespace warpmer::index {

/// The parameters that two indexes must share to be compared k-mer by k-mer.
struct IndexParams {
  std::uint32_t k = 31;
  bool canonical = true;
  std::uint32_t minimizer_length = 0;         ///< m, fixed by k (kmer/minimizer.h)
  std::uint32_t shard_bits = 0;               ///< 2^shard_bits shards, fixed by k (kmer/minimizer.h)
  std::uint32_t hash_version = kHashVersion;  ///< version of the hashes in kmer/hash.h
  [[nodiscard]] std::uint32_t shards() const noexcept { return 1u << shard_bits; }
};

/// Sums over the whole job. "Counted" is before `min_count` and `max_count`, "stored" after.
struct Totals {
  std::uint64_t counted_kmers = 0;  ///< occurrences
  std::uint64_t counted_distinct = 0;
  std::uint64_t counted_unique = 0;  ///< distinct k-mers that occur exactly once
  std::uint64_t stored_kmers = 0;    ///< occurrences of the k-mers kept
  std::uint64_t stored_distinct = 0;
  std::uint64_t largest_count = 0;       ///< among those kept
  std::uint64_t min_count = 1;           ///< the filter: no count that is stored is smaller,
  std::uint64_t max_count = UINT64_MAX;  ///< or larger
  std::uint64_t records = 0;             ///< sequences read
  std::uint64_t bases = 0;               ///< characters of sequence read, breaks included
  /// 1 where k-mers are missing for another reason than their counts: those that were not asked for
  /// (`count --only`), or that an operation on sets has left out; else 0. A number, as all are.
  std::uint64_t are_chosen = 0;

  /// Returns the occurrences that a filter has left out, here or in what this was made of, at least; 0 if
  /// there are none. Their number is not known of what another program counted.
  [[nodiscard]] std::uint64_t left_out() const noexcept {
    const std::uint64_t known = counted_kmers - std::min(counted_kmers, stored_kmers);
    return min_count <= 1 && max_count == UINT64_MAX ? known : std::max<std::uint64_t>(known, 1);
  }
};

/// Number of stored distinct k-mers by count; exact, uncapped.
using Histogram = std::map<std::uint64_t, std::uint64_t>;

/// The way in which the file came to be. It is kept in a section of its own, after everything that depends
/// only on the k-mers, so that those bytes do not depend on how they were computed.
struct Provenance {
  std::string tool_version;
  std::string command_line;
  std::vector<std::string> inputs;
};

/// Shards [first, end).
struct ShardRange {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};

/// A shard of entries, in a mapped file or elsewhere.
struct ShardView {
  ShardShape shape;
  const std::uint64_t* payload = nullptr;  ///< 8-byte aligned; at least 16 readable bytes follow it
  std::size_t payload_words = 0;
};

/// An index opened for reading through mmap (a pipe is read into memory). Opening checks header,
/// directory, histogram and provenance; a shard's payload is checked against its checksum, and its
/// shape against the payload's length, the first time it is asked for. Whatever does not hold
/// throws InputError with the path. Thread-safe.
class IndexFile {
 public:
  /// ResourceError for a pipe with more than `most_copied_bytes`.
  explicit IndexFile(const std::string& path, std::uint64_t most_copied_bytes = UINT64_MAX);
  ~IndexFile();
  IndexFile(IndexFile&&) noexcept;
  IndexFile& operator=(IndexFile&&) noexcept;

  [[nodiscard]] const std::string& path() const noexcept;
  [[nodiscard]] const IndexParams& params() const noexcept;
  [[nodiscard]] const Totals& totals() const noexcept;
  [[nodiscard]] const Histogram& histogram() const noexcept;
  [[nodiscard]] const Provenance& provenance() const noexcept;
  [[nodiscard]] std::uint64_t file_bytes() const noexcept;
  /// Returns the bytes that depend only on the k-mers and counts: everything before the provenance.
  [[nodiscard]] std::uint64_t content_bytes() const noexcept;
  /// Returns one number for k, strand, k-mers and counts (from the stored checksums; no shard is read).
  [[nodiscard]] std::uint64_t content_checksum() const noexcept;
  /// Returns the number of k-mers of a shard; nothing of it is read.
  [[nodiscard]] std::uint64_t kmers(std::uint32_t shard) const;
  /// Returns the sizes of a shard of strings, and the shard (for k from 13 on).
  [[nodiscard]] const groups::ShardSizes& sizes(std::uint32_t shard) const;
  [[nodiscard]] groups::ShardBits strings(std::uint32_t shard) const;

  /// Returns the shape of a shard of entries, and the shard (for k up to 12).
  [[nodiscard]] const ShardShape& shape(std::uint32_t shard) const;
  [[nodiscard]] ShardView shard(std::uint32_t shard) const;

  // --- Payloads as they lie in the file, of strings or of entries.

  /// Returns the words of a shard's payload; nothing of it is read.
  [[nodiscard]] std::uint64_t payload_words(std::uint32_t shard) const;
  /// Returns a shard's payload in the mapped file, checked the first time.
  [[nodiscard]] const std::uint64_t* payload(std::uint32_t shard) const;
  /// Copies a shard's payload, read from the file: its pages are not mapped, which costs more than to copy
  /// them where each shard is wanted once. The copy is checked as `payload` checks, unless the shard has
  /// been. `into` has room for kReadAheadWords more. Keeps a descriptor of the file from then on.
  void read_payload(std::uint32_t shard, std::uint64_t* into) const;
  /// Returns all payloads, one behind the other: nothing of them is checked until `payload` has been asked
  /// for it.
  [[nodiscard]] const std::uint64_t* all_payloads() const;

  /// Checks shards that have not been checked yet, as `payload` does. Threads that do so at the same time
  /// share the shards out, and each returns when all of its own are checked.
  void check(std::span<const std::uint32_t> shards) const;

  /// Tells the kernel that a shard's pages are not needed again soon.
  void release(std::uint32_t shard) const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Throws the InputError for an index that does not agree with itself, though its checksums are right: a
/// wrong program wrote it. `what` says how.
[[noreturn]] void refuse_damaged(const IndexFile& index, const std::string& what);

}  // namespace warpmer::index
