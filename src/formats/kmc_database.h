#pragma once
/// KMC databases: `X.kmc_pre`, how many k-mers begin with which bases, and `X.kmc_suf`, what follows these
/// bases in each k-mer, with its count.
///
/// `X.kmc_suf` is `KMCS`, the records, `KMCS`. A record has (k - p) / 4 bytes of the bases behind the first
/// p, two bits each, A C G T = 0 1 2 3, the first of them highest, and then the count, little-endian, in 0 to
/// 4 bytes (none: every count is 1).
///
/// `X.kmc_pre` is `KMCP`, the table, the header, its length (u32), `KMCP`; all little-endian. In the sorted
/// form ("KMC1", of `kmc_tools transform sort` and of small k) the table has 4^p numbers (u64): that of the
/// first record whose k-mer begins with these p bases. The form that `kmc` writes ("KMC2") has such a table
/// for each bin of k-mers, one behind the other, records numbered through; then the number of all records;
/// then the map from signatures to bins, 4^s + 1 numbers (u32). The header, 64 bytes (KMC2: 68): k, 0 for
/// whole counts, bytes of a count, p (KMC2: and s), smallest and largest count kept (its lower half), u32
/// each; number of records (u64); 0 where k-mers are canonical (u8); 3 bytes; upper half of the largest count
/// kept (u32); 20 bytes; 0, or 0x200 for KMC2 (u32). Verified with KMC 3.2.1.

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "file/mapped_input.h"
#include "file/output/buffered_output.h"
#include "formats/stream/kmer_stream.h"

namespace warpmer::formats {

/// The largest count a database can hold.
inline constexpr std::uint64_t kLargestKmcCount = UINT32_MAX;

/// `X` of `X`, `X.kmc_pre` and `X.kmc_suf`.
std::string kmc_prefix(const std::string& path);
/// True when `path` names a database that is there, by its prefix or one of its files. A file that has just
/// that name comes before a database.
bool is_kmc_database(const std::string& path);

/// The fields of a header that are no facts of the stream, as they stand there.
struct KmcHeader {
  std::uint64_t kmers = 0;
  std::uint32_t min_count = 0;
  std::uint64_t max_count = 0;
  std::uint32_t count_bytes = 0;
  std::uint32_t prefix_bases = 0;
  std::uint32_t signature_bases = 0;  ///< 0 for KMC1
  std::uint64_t bins = 0;             ///< 0 for KMC1
};

/// K-mers that begin with the same bases, two bits each. Unless changed, all.
struct KmerRange {
  std::uint32_t bases = 0;
  std::uint64_t prefix = 0;
};

/// A place in the records that stand in order, of one bin, or of KMC1 all.
struct KmcCursor {
  std::uint64_t next_entry = 0;  ///< number of the table's next entry
  std::uint64_t entry_end = 0;
  std::uint64_t prefix = 0;      ///< prefix of the records before `prefix_end`
  std::uint64_t prefix_end = 0;  ///< number of the first record with another prefix
  std::uint64_t next_record = 0;
  std::uint64_t record_end = 0;
};

/// Reads both forms, in the order of the file: KMC1 is sorted.
class KmcSource final : public KmerSource {
 public:
  /// InputError for files that cannot be read, that are damaged or cut off, and for databases of longer
  /// k-mers or other counts than warpmer has.
  explicit KmcSource(const std::string& path);

  std::size_t read(std::span<CountedKmer> out) override;

  [[nodiscard]] const KmcHeader& header() const noexcept { return header_; }
  /// Returns what the stretches that are sorted have of a range: each of its k-mers is in one of them.
  [[nodiscard]] std::vector<KmcCursor> sorted_stretches(const KmerRange& range) const;
  /// Reads on from a place. Thread-safe.
  std::size_t read(KmcCursor& cursor, std::span<CountedKmer> out) const;
  /// Reads the counts of records from number `first` on, which there are, and nothing else of them.
  /// Thread-safe.
  void read_counts(std::uint64_t first, std::span<std::uint64_t> out) const;
  /// InputError unless the numbers of the table rise: for a reader that does not go by them.
  void check_table() const;
  /// InputError when the file was cut off meanwhile; to be called when a range has been read.
  void check_size() const { suffixes_.check_size(); }
  /// InputError: a bin's k-mers are not in order.
  [[noreturn]] void refuse_order() const;

 private:
  void read_header();
  void check_suffixes() const;
  [[nodiscard]] std::uint64_t table_entry(std::uint64_t i) const;
  bool next_prefix(KmcCursor& cursor) const;
  void note_read(std::uint64_t bytes) const;
  [[nodiscard]] Key128 kmer_of(std::uint64_t prefix, std::uint64_t record) const;
  void narrow(KmcCursor& stretch, const KmerRange& range) const;
  void decode(std::uint64_t prefix, const std::byte* record, std::span<CountedKmer> out) const;
  [[noreturn]] void refuse_table(std::uint64_t entry) const;
  [[noreturn]] void refuse_zero(std::uint64_t record) const;

  file::MappedInput prefixes_, suffixes_;
  std::uint32_t prefix_bases_ = 0;
  std::uint32_t count_bytes_ = 0;
  std::uint32_t suffix_bytes_ = 0;
  std::uint64_t table_size_ = 0;  ///< entries, the last of KMC2 excepted
  KmcHeader header_;
  std::uint64_t release_bytes_ = kReleaseBytes;
  mutable std::atomic<std::uint64_t> read_bytes_{0};  ///< of the suffixes, since some were given back
  KmcCursor cursor_;
};

/// Writes the sorted form; wants k-mers in lexicographic order. What is not known of the stream is taken to
/// be as large as it can be.
class KmcSink final : public KmerSink {
 public:
  /// Writes `PREFIX.kmc_pre` and `PREFIX.kmc_suf`. `count_bytes` (1 to 4) is the width of counts, which must
  /// fit; 0: as many as facts.largest_count needs. The cut-offs are the facts' bounds,
  /// which become wider where a count that comes is not within them. How k-mers are split between the files
  /// is best where facts.distinct is known.
  KmcSink(const std::string& path, const StreamFacts& facts, std::uint32_t count_bytes = 0);

  void encode(std::span<const CountedKmer> kmers, EncodedKmers& to) const override;
  void append(const EncodedKmers& encoded) override;
  void finish() override;
  void widen_bounds(std::uint64_t least, std::uint64_t most) override { facts_.widen_bounds(least, most); }

 private:
  void write_prefixes();

  std::string prefix_path_;
  StreamFacts facts_;
  std::uint32_t prefix_bases_;
  std::uint32_t suffix_bytes_;
  std::uint32_t count_bytes_;
  file::BufferedOutput suffixes_, prefixes_;
  std::vector<std::uint64_t> sizes_;  ///< k-mers with each prefix
  std::uint64_t records_ = 0;
};

}  // namespace warpmer::formats
