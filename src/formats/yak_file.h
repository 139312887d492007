#pragma once
/// Counts of yak (`yak count -o X.yak`), of k-mers of up to 31 bases.
///
/// The file: `YAK`, 2 (u8); k, p, and the bits of a count, 10, u32 each; then 2^p bins. A bin: the capacity
/// of its hash table and its k-mers, u32 each, and for each of these a word (u64): the k-mer's hash
/// (formats/yak_order.h) without its lowest p bits, which are the number of the bin, and in the lowest 10
/// bits the count, at most 1,023. All is little-endian, all k-mers are canonical. Verified with yak r93.

#include <cstdint>
#include <string>

#include "file/mapped_input.h"
#include "file/output/buffered_output.h"
#include "formats/stream/kmer_stream.h"
#include "formats/yak_order.h"

namespace warpmer::formats {

/// The largest count of yak's: more is cut down to it.
inline constexpr std::uint64_t kLargestYakCount = 1023;

/// True for a file that begins so.
bool is_yak(std::string_view start);

/// Reads k-mers in the order of the file.
class YakSource final : public KmerSource {
 public:
  /// InputError for files that cannot be read, are no counts of yak, or cut off in their header.
  explicit YakSource(const std::string& path);

  std::size_t read(std::span<CountedKmer> out) override;

 private:
  void read_header();
  void count_kmers();
  bool next_bin();

  file::MappedInput file_;
  YakOrder<Key64> order_{1};
  std::uint32_t bin_bits_ = 0;
  std::uint64_t bin_ = 0;   ///< bins that have been begun
  std::uint64_t left_ = 0;  ///< k-mers of the last of them that have not been read
  std::uint64_t at_ = 0;    ///< offset of the next of them, or of the next bin
  std::uint64_t released_ = 0;
};

/// Writes k-mers that come in yak's order, with counts of at most kLargestYakCount.
class YakSink final : public KmerSink {
 public:
  /// UsageError where k-mers are not canonical, or longer than 31 bases.
  YakSink(const std::string& path, const StreamFacts& facts);

  void encode(std::span<const CountedKmer> kmers, EncodedKmers& to) const override;
  void append(const EncodedKmers& encoded) override;
  void finish() override;

 private:
  /// Writes bins up to, and without, one.
  void write_bins_before(std::uint64_t end);

  file::BufferedOutput output_;
  YakOrder<Key64> order_;
  std::uint64_t bin_ = 0;
  std::string words_;  ///< words of that bin
};

}  // namespace warpmer::formats
