#pragma once
/// KFF, version 1: the k-mer file format of https://github.com/Kmer-File-Format/kff-reference. All numbers
/// are big-endian; sequences have two bits a base, and where they do not fill their bytes, what is left is in
/// the highest bits of the first.
///
/// Header: `KFF`; version, two bytes; the codes of A, C, G and T, two bits each (0x1B: 0 1 2 3); a byte that
/// is not 0 where each k-mer is there once; one where a k-mer stands for both strands; a text for people,
/// behind its length (u32). Then sections, each with a letter in front, and `KFF`.
///
///     v  variables   how many (u64); for each its name, a zero byte, its value (u64)
///     r  sequences   blocks (u64); the blocks: n, sequence of n + k - 1 bases, n pieces of data
///     m  the same, their minimizer in common cut out
///                    minimizer, m bases; blocks (u64); the blocks: n, where the minimizer was, sequence of
///                    n + k - 1 - m bases, n pieces of data
///     i  index       how many (u64); for each a section's letter, and where it is, counted from the end of
///     this
///                    index (i64); the same of the next index, or 0
///
/// Variables: `k`; `max`, the most k-mers of a block (n has as many whole bytes as ceil(log2 max) bits need,
/// none for 1; a place as many as ceil(log2(k + max - 1)) bits); `data_size`, bytes of a piece of data; `m`;
/// `ordered`. A variable holds until it is set again. The last section is a footer of variables:
/// `first_index`, where the first index is, and, as its last, `footer_size`, its own bytes.
///
/// That the data are counts is what `kmc` and people make of it; the format does not say. KMC 3.2.1 reads and
/// writes KFF (`kmc -okff`, `kmc_tools`): one k-mer a block, counts of up to 4 bytes, k-mers in order within
/// a section, `min_count` and `max_count` in the footer for what it left out. Verified with it.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "file/mapped_input.h"
#include "formats/stream/encoded_order.h"
#include "formats/stream/kmer_stream.h"

namespace warpmer::formats {

/// Bytes that a file begins and ends with.
inline constexpr std::string_view kKffMark = "KFF";

/// A section with k-mers in it.
struct KffSection {
  std::uint64_t scope = 0;  ///< number of the section of variables that holds for it
  std::uint64_t max = 0;
  std::uint32_t data_bytes = 0;
  std::vector<std::byte> minimizer;  ///< as it is in the file
  std::uint32_t minimizer_bases = 0;
  std::uint64_t at = 0;  ///< offset of the first block
  std::uint64_t blocks = 0;
};

/// Reads a file from its front to its end; of the indexes and the footer, which say what can be seen on the
/// way, only the form is checked. Where k-mers stand for both strands, the smaller one of the two is given.
/// Without data each k-mer has a count of 1, with a count of 0 it is left out. A k-mer may come several times
/// where the file says so (`is_unique`).
class KffSource final : public KmerSource {
 public:
  /// InputError for files that cannot be read, that are damaged or cut off, for other versions, for data of
  /// more than 8 bytes, which are no counts, and for longer k-mers than warpmer has, or of several lengths.
  explicit KffSource(const std::string& path);

  [[nodiscard]] bool is_unique() const noexcept { return is_unique_; }
  /// Returns the codes of A, C, G and T.
  [[nodiscard]] std::array<unsigned, 4> codes() const;
  /// Goes through the whole file before anything is read, and returns its sections; nothing is left to read.
  /// InputError as of reading.
  std::vector<KffSection> take_sections();
  std::size_t read(std::span<CountedKmer> out) override;

 private:
  struct Variables {
    std::optional<std::uint64_t> k, m, max, data_size, min_count, max_count;
  };
  /// The form of the section's blocks.
  struct BlockFields {
    std::uint64_t max = 1;
    std::uint32_t data_bytes = 0;
    std::uint32_t number_bytes = 0;  ///< bytes of n
    std::uint32_t place_bytes = 0;   ///< bytes of the minimizer's place
    std::uint32_t minimizer_bases = 0;
    std::uint64_t minimizer = 0;  ///< place of the minimizer in the file
  };
  /// The block that is being read.
  struct SectionBlock {
    std::uint64_t sequence = 0;   ///< base 0, in bases from the start of the file
    std::uint64_t minimizer = 0;  ///< the same of the minimizer
    std::uint64_t place = 0;      ///< place of the minimizer in the whole sequence
    std::uint64_t place_end = 0;  ///< the base behind it
    std::uint64_t next_base = 0;  ///< next base of the whole sequence
    std::uint64_t data = 0;       ///< offset of the next k-mer's
    std::uint64_t kmers_left = 0;
    Key128 kmer = 0;  ///< the bases before `next_base`
  };

  void read_header();
  void read_footer();
  void read_variables(Variables& variables);
  void set_variable(Variables& variables, std::string_view name, std::uint64_t value) const;
  bool next_section();
  bool enter_section();
  void skip_index();
  void begin_section(bool has_minimizer);
  void begin_block();
  [[nodiscard]] bool has_single_kmers() const noexcept {
    return shape_.number_bytes + shape_.place_bytes + shape_.minimizer_bases == 0;
  }
  [[nodiscard]] unsigned next_base();
  template <class Key>
  std::size_t take_from_block(std::span<CountedKmer> out);
  template <class Key>
  std::size_t take_single(std::span<CountedKmer> out);
  template <class Key>
  [[nodiscard]] Key recode(Key codes) const;
  [[nodiscard]] std::uint64_t variable(const char* name, std::optional<std::uint64_t> value,
                                       std::uint64_t least, std::uint64_t most) const;

  [[nodiscard]] std::uint64_t left() const noexcept { return end_ - at_; }
  std::uint64_t take_number(std::uint32_t bytes, const char* what);
  void need(std::uint64_t bytes, const char* what) const;
  [[noreturn]] void refuse(const std::string& what) const;

  file::MappedInput file_;
  bool is_unique_ = true;
  std::array<std::uint8_t, 4> base_of_code_{0, 1, 2, 3};
  bool is_plain_encoding_ = true;
  Variables variables_;
  BlockFields shape_;
  SectionBlock block_;
  std::uint64_t first_section_ = 0;
  std::uint64_t scope_ = 0;        ///< number of sections of variables before this place
  std::uint64_t blocks_left_ = 0;  ///< blocks of the section, without the one that is being read
  std::uint64_t at_ = 0;           ///< offset of what comes next
  std::uint64_t end_ = 0;          ///< offset of the last `KFF`
  std::uint64_t released_ = 0;     ///< bytes that are done with
};

/// Writes sections of a k-mer a block; wants the k-mers in lexicographic order, which `ordered` promises and
/// kmc_tools relies on.
class KffSink final : public KmerSink {
 public:
  /// `count_bytes` (1 to 8) is the width of counts; 0: as many as facts.largest_count needs; 4 where that is
  /// not known. kmc_tools reads up to 4.
  KffSink(const std::string& path, const StreamFacts& facts, std::uint32_t count_bytes = 0);

  /// InputError for a count that is too wide, with its k-mer.
  void encode(std::span<const CountedKmer> kmers, EncodedKmers& to) const override;
  void append(const EncodedKmers& encoded) override;
  void finish() override;
  void widen_bounds(std::uint64_t least, std::uint64_t most) override { facts_.widen_bounds(least, most); }

 private:
  void write_header();
  void write_section();
  void write_index();
  void write_footer(std::uint64_t index_at);

  file::BufferedOutput output_;
  StreamFacts facts_;
  std::uint32_t sequence_bytes_;
  std::uint32_t count_bytes_;
  std::uint64_t variables_at_ = 0;          ///< offset of the section of variables
  std::vector<std::uint64_t> sections_at_;  ///< offsets of the sections of k-mers
  std::uint64_t most_in_section_;           ///< k-mers
  std::unique_ptr<char[]> section_;         ///< blocks: how many, the section has to say before them
  std::uint64_t section_kmers_ = 0;
  AppendedEnd end_;
};

}  // namespace warpmer::formats
