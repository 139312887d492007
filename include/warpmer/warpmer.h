#pragma once
/// The warpmer library: counts the k-mers of sequencing data into an index file, and answers questions about
/// such a file. docs/library.md is a tour.
///
/// A k-mer is given and returned as text: k characters of A C G T. In an index whose strand is canonical, a
/// k-mer and its reverse complement are one, which is named by the lexicographically smaller of the two, and
/// may be asked for by either.
///
/// Functions for many k-mers also know them **packed**: as a number of 2k bits with A = 0, C = 1, G = 2, T =
/// 3, the first base in the highest bits. It is one 64-bit word up to k = 32, else two, the upper one first.
/// The order of packed k-mers is that of their texts.
///
/// Errors are exceptions of the four kinds in warpmer/error.h, and no others; a NUL in a file's name is a
/// UsageError everywhere. They call options as the program does: `-m` is `memory_bytes`. Warnings go to a
/// listener that the options of a job have. No function prints, ends the process, or installs a signal
/// handler.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpmer/error.h"

namespace warpmer {

/// The largest k.
inline constexpr std::uint32_t kLargestK = 64;

/// Returns the number of 64-bit words of a packed k-mer.
constexpr std::uint32_t words_per_kmer(std::uint32_t k) { return k <= 32 ? 1 : 2; }

/// Packs k-mers, in upper or lower case. UsageError when one is not exactly k characters of A C G T U, or k
/// is none.
WARPMER_PUBLIC std::vector<std::uint64_t> pack(std::span<const std::string_view> kmers, std::uint32_t k);

/// Returns the texts of packed k-mers one behind the other, k characters each. UsageError when one has more
/// than 2k bits, half of one is missing, or k is none.
WARPMER_PUBLIC std::string unpack(std::span<const std::uint64_t> kmers, std::uint32_t k);

/// Sums over an index. "Counted" is before the filter of counts, "stored" after it; without a filter they are
/// the same. Of an index made of another program's database, what that does not say is 0.
struct Totals {
  std::uint64_t sequences = 0;           ///< sequences read
  std::uint64_t bases = 0;               ///< characters of sequence read, N included
  std::uint64_t counted_kmers = 0;       ///< occurrences of k-mers
  std::uint64_t counted_distinct = 0;    ///< distinct k-mers
  std::uint64_t counted_unique = 0;      ///< distinct k-mers that occur once
  std::uint64_t stored_kmers = 0;        ///< occurrences of the k-mers in the index
  std::uint64_t stored_distinct = 0;     ///< distinct k-mers in the index
  std::uint64_t largest_count = 0;       ///< of a k-mer in the index
  std::uint64_t min_count = 1;           ///< the filter: k-mers that occur less often are not in the index,
  std::uint64_t max_count = UINT64_MAX;  ///< and neither are those that occur more often

  friend bool operator==(const Totals&, const Totals&) = default;
};

/// One row of a histogram.
struct HistogramRow {
  std::uint64_t count = 0;  ///< how often each of these k-mers occurs
  std::uint64_t kmers = 0;  ///< how many distinct k-mers occur so often

  friend bool operator==(const HistogramRow&, const HistogramRow&) = default;
};

/// An index file (.wmi) that is open for reading. The file is mapped, not read into memory. While the Index
/// lives, the file may be renamed, replaced or removed, but must not be written to: when a mapped file
/// becomes shorter, the system ends the process with SIGBUS.
///
/// Any number of threads may call const functions of one Index at once, and so may processes that are forked
/// off meanwhile. A moved-from Index can only be assigned to or destroyed.
class WARPMER_PUBLIC Index {
 public:
  /// Stands in `counts_in` at a position without a k-mer. A count of 2^64 - 1 is given there as one less.
  static constexpr std::uint64_t kNoKmer = UINT64_MAX;

  /// Takes a k-mer in upper case, which is valid during the call, and its count.
  using Visitor = std::function<void(std::string_view kmer, std::uint64_t count)>;

  /// Opens an index. Header, directory and histogram are checked now; a part with k-mers is checked the first
  /// time it is needed, by whichever function needs it. InputError when there is no such file, or it is no
  /// index, or damaged.
  explicit Index(const std::string& path);
  ~Index();
  Index(Index&& other) noexcept;
  Index& operator=(Index&& other) noexcept;

  [[nodiscard]] const std::string& path() const noexcept;
  /// Length of the k-mers, in bases.
  [[nodiscard]] std::uint32_t k() const noexcept;
  /// True when a k-mer and its reverse complement are one; false when k-mers were counted as they were read.
  [[nodiscard]] bool is_canonical() const noexcept;
  [[nodiscard]] Totals totals() const;
  /// One number for k, strand, k-mers and counts. Indexes of equal content have equal checksums, however they
  /// were made.
  [[nodiscard]] std::uint64_t content_checksum() const noexcept;
  /// Rows of all counts that k-mers of the index have, the smallest count first. Exact, and not capped.
  [[nodiscard]] std::vector<HistogramRow> histogram() const;

  /// Returns how often a k-mer occurs; 0 when it is not in the index. UsageError when `kmer` is not exactly k
  /// characters of A C G T U, in upper or lower case (U counts as T). InputError when the file is damaged.
  [[nodiscard]] std::uint64_t count_of(std::string_view kmer) const;

  /// Returns the counts of several k-mers, in their order, on so many threads; 0: all cores that this process
  /// may use. Errors are those of `count_of`.
  [[nodiscard]] std::vector<std::uint64_t> counts_of(std::span<const std::string> kmers,
                                                     unsigned threads = 1) const;
  [[nodiscard]] std::vector<std::uint64_t> counts_of(std::span<const std::string_view> kmers,
                                                     unsigned threads = 1) const;
  /// Does the same with packed k-mers. UsageError when one has more than 2k bits, or half of one is missing.
  [[nodiscard]] std::vector<std::uint64_t> counts_of_packed(std::span<const std::uint64_t> kmers,
                                                            unsigned threads = 1) const;

  /// Returns the count of the k-mer at each position of a sequence, max(0, length - k + 1) numbers: 0 where
  /// the k-mer is not in the index, kNoKmer where the k characters contain an N or another code that is not
  /// one of A C G T U. UsageError for a character that is no nucleotide code. InputError when the file is
  /// damaged.
  [[nodiscard]] std::vector<std::uint64_t> counts_in(std::string_view sequence) const;

  /// Calls `visit` for every k-mer of the index, in the order of the file, which depends only on the k-mers.
  /// `visit` is called on the calling thread. Memory does not grow with the index. What `visit` throws ends
  /// the walk and reaches the caller as it is. UsageError for an empty `visit`, InputError when the file is
  /// damaged.
  void for_each(const Visitor& visit) const;

 private:
  friend class ChunkReader;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Some k-mers of an index, packed, and their counts. The arrays are the caller's alone; the reader uses
/// their memory again when they are gone.
struct PackedChunk {
  std::size_t size = 0;                     ///< number of k-mers
  std::shared_ptr<std::uint64_t[]> kmers;   ///< words_per_kmer(k) words for each
  std::shared_ptr<std::uint64_t[]> counts;  ///< one for each
};

/// Gives out all k-mers of an index, chunk after chunk, in the order of `Index::for_each`. Threads of its own
/// unpack chunks before they are asked for, a few for each thread. One thread at a time may call it, and none
/// of a process that was forked off.
class WARPMER_PUBLIC ChunkReader {
 public:
  static constexpr std::uint64_t kUsualKmers = std::uint64_t{1} << 17;

  /// The index must live as long, and may be moved meanwhile. A chunk has about `kmers` k-mers or fewer. 0
  /// threads: all cores that this process may use. UsageError for chunks of 0.
  explicit ChunkReader(const Index& index, unsigned threads = 0, std::uint64_t kmers = kUsualKmers);
  ~ChunkReader();
  ChunkReader(ChunkReader&& other) noexcept;
  ChunkReader& operator=(ChunkReader&& other) noexcept;

  /// Takes the next chunk, and waits for it if need be. False when there is none. InputError when the file is
  /// damaged, UsageError in a forked process.
  bool next(PackedChunk& chunk);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The stages of a job that writes an index.
enum class JobStage {
  starting,
  reading,    ///< sequences: `bytes_done` of `bytes_total`
  counting,   ///< what was read: `parts_done` of `parts_total`
  combining,  ///< indexes: `parts_done` of `parts_total`
  writing,
  done,
};

/// How far it is.
struct JobStatus {
  JobStage stage = JobStage::starting;
  std::uint64_t bytes_done = 0;   ///< of the input files, as they are on disk
  std::uint64_t bytes_total = 0;  ///< 0: not known
  std::uint64_t kmers = 0;        ///< occurrences of k-mers read so far
  std::uint64_t parts_done = 0;   ///< of the index
  std::uint64_t parts_total = 0;
};

/// Is called by the thread that wants the job, about ten times a second while it runs, and at its end, before
/// the output gets its name. What it throws ends the job, leaves no output, and reaches the caller as it is.
/// That of a count cannot count itself, which would have to wait for it: UsageError.
using JobListener = std::function<void(const JobStatus&)>;

/// Hears of what is no error, but what the user should know, one sentence at a time: that the inputs have no
/// sequence or no k-mer, that a file is named twice, that qualities look like Phred+64, that a union is of
/// indexes which lack k-mers, that a GPU is passed over. Options are called as the program calls them:
/// `--min-count` is `min_count`.
///
/// Is called by the thread that wants the job, while the job waits: it cannot count, as a JobListener. What
/// it throws ends the job, leaves no output, and reaches the caller as it is; but that a temporary file could
/// not be removed is told last, when the output is there.
using WarningListener = std::function<void(const std::string& message)>;

/// How to count. The content of the index depends on the first group only.
struct CountOptions {
  /// Length of the k-mers, 1 to kLargestK.
  std::uint32_t k = 31;
  /// True when a k-mer and its reverse complement are one.
  bool canonical = true;
  /// K-mers that occur less often than the first number, which is at least 1, or more often than the second
  /// are left out.
  std::uint64_t min_count = 1;
  std::uint64_t max_count = UINT64_MAX;
  /// Phred quality, 0 to 93: bases of lower quality in FASTQ, BAM and CRAM are taken for N.
  std::optional<unsigned> min_base_quality;
  /// True when a character that is no nucleotide code is taken for N; else it is an InputError.
  bool lenient = false;
  /// FASTA of the reference for CRAM; empty: as htslib finds it.
  std::string reference;

  /// Number of threads; 0: all cores that this process may use.
  unsigned threads = 0;
  /// Cap on the memory of the whole process, in bytes; 0: nine tenths of what it may use and is free.
  std::uint64_t memory_bytes = 0;
  /// Directory for what the cap leaves no memory for; empty: $TMPDIR, else that of the output.
  std::string tmp_directory;
  /// "cpu"; "cuda", "cuda:N" or "cuda:N,M" for GPUs; "auto" for a GPU if one can be used, else the CPU.
  std::string device = "cpu";
  /// Learns how far counting is; empty: nobody does.
  JobListener listener = {};
  /// Hears of warnings; empty: nobody does.
  WarningListener warning_listener = {};
};

/// Counts the k-mers of `inputs` (any mix of FASTA and FASTQ, plain or compressed, of SAM, BAM and CRAM;
/// files, pipes, URLs, and "-" for standard input) and writes the index `output`, which gets its name when it
/// is complete: after an error, nothing is left of it, and a file that was there is as it was. Returns its
/// totals.
///
/// UsageError for options out of range, no input, or an output without a name ("-" is none), whose name ends
/// as files of another kind do (.kff, .tsv), that is also an input or the reference, or that is there and is
/// sequence data; InputError for an input that is missing, damaged or no sequences; ResourceError when the
/// memory, the disk or the device does not suffice.
///
/// May be called from several threads, but a process counts once at a time, since the memory cap is one on
/// the process: other calls wait. UsageError in a process that was forked off while another thread counted.
WARPMER_PUBLIC Totals count(const std::vector<std::string>& inputs, const CountOptions& options,
                            const std::string& output);

/// Which k-mers of several indexes the result has.
enum class SetOperation {
  unite,                 ///< those in any of them, or in at least SetOptions::min_samples
  intersect,             ///< those in all of them
  subtract,              ///< those in the first one and in no other
  symmetric_difference,  ///< those in exactly one
};

/// Which count a k-mer gets, of its counts in those indexes that have it.
enum class CountRule {
  usual,  ///< unite: sum; intersect: min; the others: first
  sum,
  min,
  max,
  first,       ///< of the first of them
  last,        ///< of the last of them
  samples,     ///< their number
  difference,  ///< subtract alone: the first count minus all others; k-mers stay where something is left
};

/// How to combine indexes.
struct SetOptions {
  CountRule counts = CountRule::usual;
  /// `unite` alone: k-mers in fewer indexes are left out.
  std::uint32_t min_samples = 1;
  /// K-mers of the result whose counts are smaller or larger are left out.
  std::uint64_t min_count = 1;
  std::uint64_t max_count = UINT64_MAX;
  /// As in CountOptions.
  unsigned threads = 0;
  std::uint64_t memory_bytes = 0;
  JobListener listener = {};
  WarningListener warning_listener = {};
};

/// Makes one index, `output`, of several index files that have k and strand in common; as with `count`, it
/// gets its name when it is complete. Returns its totals.
///
/// UsageError for indexes that differ in k or strand, for too few of them, a rule that the operation does not
/// have, or an output as `count` refuses; InputError for a file that is missing, damaged or no index;
/// ResourceError when memory or disk do not suffice.
WARPMER_PUBLIC Totals combine(SetOperation operation, const std::vector<std::string>& indexes,
                              const SetOptions& options, const std::string& output);

/// The library's version, as "0.1.0".
WARPMER_PUBLIC const char* version() noexcept;

}  // namespace warpmer
