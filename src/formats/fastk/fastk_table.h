#pragma once
/// Tables of FastK: `X.ktab`, a stub, and the k-mers in hidden files beside it, `.X.ktab.1` to `.X.ktab.N`.
///
/// The stub: k, N, the smallest count kept, and p, the bytes of a prefix (1 to 3), i32 each; then for each of
/// the 256^p prefixes the number of k-mers up to and with it (i64). A part: k (i32), its number of k-mers
/// (i64), then the k-mers: ceil(k / 4) bytes, A C G T = 0 1 2 3, first base in the high bits, the rest zeros,
/// but without the first p bytes; and the count (u16), at most 32,767. All k-mers are canonical, and in
/// order, over all parts; no prefix is in two parts. All is little-endian. Verified with FastK of 2024.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "file/mapped_input.h"
#include "file/output/buffered_output.h"
#include "formats/stream/kmer_stream.h"

namespace warpmer::formats {

/// The largest count of FastK's: more is cut down to it.
inline constexpr std::uint64_t kLargestFastkCount = 32767;
/// FastK writes a part for each thread, and has four of them unless told otherwise.
inline constexpr std::uint32_t kFastkParts = 4;

/// Returns the stub, `DIR/X.ktab`, of `DIR/X` and `DIR/X.ktab`.
std::string fastk_stub(const std::string& path);
/// Returns the hidden file of a stub's part, from 1 on.
std::string fastk_part(const std::string& stub, std::uint64_t part);
/// Removes the parts behind these that there are: of what had the name before.
void remove_fastk_parts(const std::string& stub, std::uint64_t parts);
/// Returns the stub and the parts that it has, or will have.
std::vector<std::string> fastk_files(const std::string& path);
/// True when `path` names a table that is there, with its ending or without. A file that has just that name
/// comes before a table.
bool is_fastk_table(const std::string& path);

/// Reads a table in its order.
class FastkSource final : public KmerSource {
 public:
  /// InputError for files that are missing, damaged or cut off, and for k-mers longer than warpmer's.
  explicit FastkSource(const std::string& path);

  std::size_t read(std::span<CountedKmer> out) override;

  [[nodiscard]] std::uint64_t parts() const noexcept { return parts_.size(); }

 private:
  struct OpenPart {
    std::unique_ptr<file::MappedInput> file;
    std::uint64_t end = 0;  ///< number of the first k-mer behind it
  };

  void read_stub();
  void open_parts(std::uint64_t parts);
  void check_index() const;
  [[nodiscard]] std::uint64_t end_of_prefix(std::uint64_t prefix) const;
  void next_part();
  [[nodiscard]] CountedKmer decode(const std::byte* record) const;

  file::MappedInput stub_;
  std::string stub_path_;
  std::uint32_t kmer_bytes_ = 0;
  std::uint32_t prefix_bytes_ = 0;
  std::uint32_t record_bytes_ = 0;
  std::vector<OpenPart> parts_;
  std::uint64_t next_ = 0;        ///< number of the next k-mer
  std::size_t part_ = 0;          ///< part that has it
  std::uint64_t part_begin_ = 0;  ///< number of that part's first k-mer
  std::uint64_t released_ = 0;    ///< bytes of that part that are done with
  std::uint64_t prefix_ = 0;      ///< its first bytes
  Key128 last_ = 0;
};

/// Writes a table; wants k-mers in lexicographic order, and counts of at most kLargestFastkCount.
class FastkSink final : public KmerSink {
 public:
  /// UsageError where k-mers are not canonical. Parts are of the same size, about, where facts.distinct is
  /// known; else all is in the first.
  FastkSink(const std::string& path, const StreamFacts& facts, std::uint32_t parts = kFastkParts);

  void encode(std::span<const CountedKmer> kmers, EncodedKmers& to) const override;
  void append(const EncodedKmers& encoded) override;
  void finish() override;

 private:
  void write_stub();
  void begin_part();
  void end_part();

  StreamFacts facts_;
  std::uint32_t kmer_bytes_;
  std::uint32_t prefix_bytes_;
  std::uint32_t record_bytes_;
  std::string target_;  ///< the stub's path, links resolved
  file::BufferedOutput stub_;
  std::vector<std::unique_ptr<file::BufferedOutput>> parts_;
  std::size_t part_ = 0;
  std::uint64_t part_begin_ = 0;       ///< number of its first k-mer
  std::vector<std::uint64_t> counts_;  ///< k-mers with each prefix
  std::uint64_t written_ = 0;
  std::uint64_t last_prefix_ = 0;
};

}  // namespace warpmer::formats
