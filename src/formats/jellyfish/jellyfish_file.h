#pragma once
/// Jellyfish databases, `binary/sorted`: what `jellyfish count` writes.
///
/// Nine decimal digits: the length of the header. The header: JSON, then zero bytes up to a multiple of 8
/// bytes of file. Of its fields these matter: `format`; `key_len`, 2k; `counter_len`, bytes of a count;
/// `canonical`
/// (`jellyfish merge` forgets it); `size`, a power of two, and `matrix1`, a matrix over GF(2) of `r` rows and
/// `c` = 2k columns, the first of which stands for the highest bit of a k-mer. Then records without anything
/// between them: the k-mer's 2k bits, A C G T = 0 1 2 3, first base highest, little-endian in ceil(2k / 8)
/// bytes; the count, little-endian. They are in the order of (matrix * k-mer) mod size, and of the k-mers
/// where that is the same; `jellyfish query` searches in this order, and `jellyfish merge` merges databases
/// of the same k, size and matrix.
///
/// Counts too large for `counter_len` are stored as the largest number there is, by `count` and by `merge`,
/// which takes the smallest `counter_len` of its inputs. (`count --counter-len` is the width in memory; what
/// does not fit there goes into more slots, and is put together when the file is written.) With 8 bytes,
/// Jellyfish writes zeros for all counts, though it reads them. `count --if` leaves k-mers with a count of 0.
/// Verified with Jellyfish 2.3.0.

#include <cstdint>
#include <memory>
#include <string>

#include "file/mapped_input.h"
#include "formats/jellyfish/jellyfish_header.h"
#include "formats/stream/encoded_order.h"
#include "formats/stream/kmer_stream.h"

namespace warpmer::formats {

/// The largest count that we write: of 7 bytes, the most that Jellyfish can merge.
inline constexpr std::uint64_t kLargestJellyfishCount = (std::uint64_t{1} << 56) - 1;

/// K-mers with a count of 0, which `jellyfish count --if` writes.
enum class JellyfishZeros : std::uint8_t { leave_out, keep };

/// Opens a file that a source then reads. InputError for files that cannot be read or are no Jellyfish
/// database.
std::unique_ptr<file::MappedInput> map_jellyfish(const std::string& path);

/// Reads in the order of the file. Any matrix will do, it is not looked at.
class JellyfishSource final : public KmerSource {
 public:
  /// InputError for files that cannot be read, that are damaged or cut off, for Jellyfish's other formats,
  /// and for longer k-mers than warpmer has.
  explicit JellyfishSource(const std::string& path, JellyfishZeros zeros = JellyfishZeros::leave_out);
  JellyfishSource(std::unique_ptr<file::MappedInput> file, JellyfishZeros zeros);

  std::size_t read(std::span<CountedKmer> out) override;

 private:
  void read_header();
  template <class Key>
  std::size_t decode(std::span<CountedKmer> out);

  std::unique_ptr<file::MappedInput> file_;
  std::uint32_t key_bytes_ = 0;
  std::uint32_t count_bytes_ = 0;
  std::uint64_t at_ = 0;        ///< offset of the next record
  std::uint64_t released_ = 0;  ///< bytes that are done with
  bool keeps_zeros_;
};

/// Writes k-mers that come in the order of jellyfish_order.h. `matrix1` is that order's, and `size` has room
/// for the k-mers, because there are programs that make a hash of that size and fill it. Databases of the
/// same k and size have the same matrix, so that `jellyfish merge` takes them.
class JellyfishSink final : public KmerSink {
 public:
  /// `count_bytes` (1 to 7) is the width of counts; 0: as many as facts.largest_count needs, at most 7, and
  /// at least 4, Jellyfish's own default, because a merged database is as wide as the narrowest of its parts.
  /// `position_bits` are those of the order; 0: for facts.distinct k-mers.
  JellyfishSink(const std::string& path, const StreamFacts& facts, std::uint32_t count_bytes = 0,
                const JellyfishCall& made_by = {}, std::uint32_t position_bits = 0);

  /// InputError for a count that is too wide, with its k-mer.
  void encode(std::span<const CountedKmer> kmers, EncodedKmers& to) const override;
  void append(const EncodedKmers& encoded) override;
  [[nodiscard]] std::uint32_t position_bits() const override { return position_bits_; }
  void finish() override { output_.finish(); }

 private:
  void write_header(const JellyfishCall& made_by);
  file::BufferedOutput output_;
  StreamFacts facts_;
  std::uint32_t key_bytes_;
  std::uint32_t count_bytes_;
  std::uint32_t position_bits_;
  AppendedEnd end_;
};

}  // namespace warpmer::formats
