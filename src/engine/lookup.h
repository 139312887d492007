#pragma once
/// Looking k-mers up in an index: single k-mers, and every position of a batch of reads.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "index/index_file.h"
#include "io/batch.h"

namespace warpmer::engine {

/// Counts for every k-mer start of every piece of a batch.
struct Profile {
  /// At positions whose k-mer contains a break.
  static constexpr std::uint64_t kNoKmer = UINT64_MAX;
  std::vector<std::uint64_t> counts;  ///< piece after piece, max(0, length - k + 1) each
  std::vector<std::size_t> first;     ///< pieces + 1 offsets into `counts`
};

/// Thread-safe: any number of threads may call `find` and `profile` at once.
class Lookup {
 public:
  /// `index` must outlive the Lookup. `lenient` as in CountOptions.
  explicit Lookup(const index::IndexFile& index, bool lenient = false);
  ~Lookup();

  /// The stored count of a k-mer given as text; 0 when absent. UsageError when it is not exactly k
  /// characters of A C G T U, any case.
  [[nodiscard]] std::uint64_t find(std::string_view kmer) const;

  /// Cuts the batch as counting does, groups its k-mers by shard and looks them up shard by shard.
  /// InputError for characters that are no nucleotide code, unless lenient.
  void profile(const io::Batch& batch, Profile& out) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace warpmer::engine
