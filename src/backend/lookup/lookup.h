#pragma once
/// Looking k-mers up: single k-mers, and every position of a batch of reads.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/devices.h"
#include "backend/job_progress.h"
#include "backend/lookup/read_summary.h"
#include "index/index_file.h"
#include "io/text/batch.h"
#include "kmer/kmer.h"

namespace warpmer::backend {

class SeenKmers;

/// Counts for every k-mer start of every piece of a batch.
struct Profile {
  /// Stand at positions whose k-mer contains a break, among numbers of 64 and of 32 bits. A count of 2^64 - 1
  /// is given as one less.
  static constexpr std::uint64_t kNoKmer = UINT64_MAX;
  static constexpr std::uint32_t kNarrowNoKmer = UINT32_MAX;
  /// Stands for this count and all larger ones.
  static constexpr std::uint32_t kLargeCount = UINT32_MAX - 1;

  std::vector<std::uint32_t> counts;  ///< piece after piece, max(0, length - k + 1) each
  std::vector<std::uint64_t> wide;    ///< the exact ones if kLargeCount is among `counts`; else empty
  std::vector<std::size_t> first;     ///< pieces + 1 offsets into them

  /// True when there is a position with a k-mer.
  [[nodiscard]] bool has_kmers() const {
    return std::any_of(counts.begin(), counts.end(),
                       [](std::uint32_t count) { return count != kNarrowNoKmer; });
  }
  /// Returns a piece's counts as they are in `counts`.
  [[nodiscard]] std::span<const std::uint32_t> narrow(std::size_t piece) const {
    return std::span(counts).subspan(first[piece], first[piece + 1] - first[piece]);
  }
  /// Writes a piece's exact counts to `to`, and returns them.
  std::span<std::uint64_t> exact(std::size_t piece, std::vector<std::uint64_t>& to) const;
};

/// Returns what stands for a count in Profile::counts.
constexpr std::uint32_t narrow_count(std::uint64_t count) {
  return count < Profile::kLargeCount ? static_cast<std::uint32_t>(count) : Profile::kLargeCount;
}

/// The numbers of every piece of a batch, each for itself.
struct BatchSummary {
  bool wants_medians = true;  ///< else they may be 0
  std::vector<ReadSummary> pieces = {};
  Profile profile = {};  ///< to work in; what it has afterwards is not said
};

/// The answer about the reads of a raw text.
struct RawAnswer {
  std::string
      lines;  ///< of each read its name, and what write_summary (backend/lookup/summary_line.h) writes
  ReadTotals read;
  bool found = false;  ///< one of the k-mers is there
};

/// Says how k-mers are looked up.
struct LookupOptions {
  bool lenient = false;  ///< the same as in io::ReadingOptions
  bool may_page = true;  ///< shards of an index that GPUs do not hold take turns there
  unsigned threads =
      1;  ///< threads that a CPU may check shards with, before the first k-mers are looked up there
};

/// Counts of k-mers to ask for. Thread-safe: any number of threads may call all of it at once.
class Lookup {
 public:
  virtual ~Lookup() = default;
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  [[nodiscard]] const KmerParams& kmers() const { return kmers_; }

  /// Returns the count of a k-mer given as text; 0 when absent. UsageError when it is not exactly k
  /// characters of A C G T U, any case.
  [[nodiscard]] std::uint64_t find(std::string_view kmer) const;
  /// Does so with several k-mers, in less time for each than one by one. `counts` has as many.
  void find_all(std::span<const std::string_view> kmers, std::uint64_t* counts) const;
  /// Does so with texts that are known to be k-mers (require_kmer).
  virtual void find_valid(std::span<const std::string_view> kmers, std::uint64_t* counts) const = 0;

  /// Looks up all k-mers of a batch.
  /// InputError for characters that are no nucleotide code, unless lenient.
  virtual void profile(const io::Batch& batch, Profile& out) const = 0;

  /// Sums up the counts that `profile` would give; errors are the same. A device need not hand out counts
  /// then.
  virtual void summarise(const io::Batch& batch, BatchSummary& out) const;

  /// Returns memory for raw FASTQ (io::Batch::raw_format) that `answer_raw` takes; null if it takes none.
  [[nodiscard]] virtual const io::TextMemory* text_memory() const { return nullptr; }
  /// Sums up every read of a raw FASTQ text; bases of a quality below `lowest_quality` break k-mers. Throws
  /// io::RawTextRefused where the text is irregular, has an error or is otherwise for `summarise`.
  virtual void answer_raw(const io::Batch& raw, char lowest_quality, RawAnswer& out) const;

  /// Calls of `profile` and `summarise` that wait for others end soon, by an InternalError, and so do those
  /// that come: to be called when what they would say is of no use any more.
  virtual void cancel() const noexcept {}

  /// Returns how many threads should call `profile` side by side where there are so many: more than that, if
  /// what is looked up waits long and is served together.
  [[nodiscard]] virtual unsigned callers(unsigned threads) const { return threads; }

 protected:
  explicit Lookup(const KmerParams& kmers) : kmers_(kmers) {}
  /// Makes room in `out` for the pieces of a batch, with no k-mer at any position.
  void lay_out(const io::Batch& batch, Profile& out) const;
  /// Looks up again what is kLargeCount, or was not looked up and is set to that. Makes `out.wide` if it is
  /// needed.
  void widen(const io::Batch& batch, Profile& out) const;

 private:
  const KmerParams kmers_;
};

/// Looks up in an index. Single k-mers are looked up in the mapped file, whatever device profiles.
class IndexLookup : public Lookup {
 public:
  void find_valid(std::span<const std::string_view> kmers, std::uint64_t* counts) const override;

 protected:
  /// `index` must outlive the Lookup. InputError when it was made with other hashes than this warpmer's.
  explicit IndexLookup(const index::IndexFile& index);
  [[nodiscard]] const index::IndexFile& index() const { return index_; }

 private:
  const index::IndexFile& index_;
};

/// Looks up k-mers that are given as integers, in words of 64 bits: one up to k = 32, else two, the upper one
/// first. `counts` has as many as there are k-mers. UsageError for one that is more than 2k bits long.
void find_packed(const index::IndexFile& index, std::span<const std::uint64_t> kmers, std::uint64_t* counts);

/// `index` must outlive the Lookup. Implemented in src/cpu.
std::unique_ptr<Lookup> make_cpu_lookup(const index::IndexFile& index, const LookupOptions& options = {});

/// Makes the same; what is found in profiles is noted in `met`, which must outlive the
/// Lookup.
std::unique_ptr<Lookup> make_noting_lookup(const index::IndexFile& index, const LookupOptions& options,
                                           SeenKmers& met);

/// Profiles on the GPUs of `devices`. Where an index is paged, damage of a shard is an InputError of
/// `profile`. Implemented in kernels/, and in no_cuda.cpp for builds without CUDA. ResourceError when it
/// cannot be used.
std::unique_ptr<Lookup> make_cuda_lookup(const index::IndexFile& index, const LookupOptions& options,
                                         const Devices& devices);

}  // namespace warpmer::backend
