#pragma once
/// Indexing where k-mers occur in sequences, and finding the k-mers of others there.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/job_progress.h"
#include "host/limits.h"
#include "index/positions/position_file.h"
#include "io/text/batch.h"
#include "io/text/input_options.h"
#include "kmer/kmer.h"

namespace warpmer::backend {

struct PositionOptions {
  KmerParams kmers;
  io::ReadingOptions reading;
  host::Resources resources;
  std::vector<std::string> inputs;
  std::string output;            ///< path, or "-"
  index::Provenance provenance;  ///< `inputs` is filled in by the job
};

struct PositionReport {
  index::PositionTotals totals;
  host::Resources resources;  ///< in numbers
  std::uint64_t peak_resident_bytes = 0;
  std::uint64_t index_bytes = 0;
  unsigned passes = 0;  ///< times the sequences were gone through, because memory did not hold all entries
};

/// Reads sequences and writes the index of their k-mers' positions. In `progress`, shards are bins. Throws
/// Error; then no output file is left. Implemented in src/cpu.
PositionReport index_positions(const PositionOptions& options, JobProgress& progress);

/// Occurrences of one k-mer: entries of a bin.
struct HitRange {
  std::uint32_t bin = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  bool is_reverse = false;  ///< true when the reverse complement of the canonical k-mer was asked for
  [[nodiscard]] std::uint64_t size() const noexcept { return last - first; }
};

/// A k-mer that was found.
struct LocatedKmer {
  std::uint64_t position = 0;  ///< place of its first base in the sequence asked about, from 0
  HitRange hits;               ///< at least one
};

/// The k-mers of a batch that were found.
struct LocatedBatch {
  std::vector<LocatedKmer> kmers;    ///< piece after piece, in order
  std::vector<std::size_t> first;    ///< pieces + 1 offsets into `kmers`
  std::vector<std::uint64_t> asked;  ///< k-mers of each piece, found or not
  [[nodiscard]] std::span<const LocatedKmer> of_piece(std::size_t piece) const {
    return {kmers.data() + first[piece], first[piece + 1] - first[piece]};
  }
};

/// Thread-safe: any number of threads may ask at once.
class Locator {
 public:
  virtual ~Locator() = default;
  Locator(const Locator&) = delete;
  Locator& operator=(const Locator&) = delete;

  /// Returns where a k-mer given as text occurs. UsageError when it is not exactly k characters of A C G T U,
  /// any case.
  [[nodiscard]] virtual HitRange find(std::string_view kmer) const = 0;

  /// Looks up all k-mers of a batch. InputError for characters that are no nucleotide code, unless lenient.
  virtual void locate(const io::Batch& batch, LocatedBatch& out) const = 0;

  /// Calls `visit(hit)` for all hits of a range, in the order of the reference. `hit.is_reverse` then says
  /// whether what was asked for is the reverse complement of what stands there.
  virtual void for_each_hit(const HitRange& hits,
                            const std::function<void(const index::Hit&)>& visit) const = 0;

 protected:
  Locator() = default;
};

/// `index` must outlive the Locator. Implemented in src/cpu.
std::unique_ptr<Locator> make_cpu_locator(const index::PositionFile& index, bool lenient);

}  // namespace warpmer::backend
