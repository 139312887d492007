#pragma once
/// Looks k-mers up in a Jellyfish database where it lies, as `jellyfish query` does.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "file/mapped_input.h"
#include "formats/jellyfish/jellyfish_header.h"
#include "kmer/kmer.h"

namespace warpmer::formats {

/// The records of a database are sorted by the products of their k-mers with its matrix.
class JellyfishLookup {
 public:
  /// Takes a file that map_jellyfish opened. InputError for files that are no database of records, or have no
  /// matrix.
  explicit JellyfishLookup(std::unique_ptr<file::MappedInput> file);

  [[nodiscard]] const JellyfishHeader& header() const noexcept { return header_; }

  /// Returns the count of a k-mer, as it is; 0 where it is not there.
  [[nodiscard]] std::uint64_t find(Key128 kmer) const;

 private:
  struct DatabaseRank {
    std::uint64_t position;
    Key128 kmer;
    bool operator<(const DatabaseRank& other) const {
      return position != other.position ? position < other.position : kmer < other.kmer;
    }
  };

  void read_matrix();
  void multiply(const std::vector<std::uint64_t>& columns);
  [[nodiscard]] std::uint64_t position_of(Key128 kmer) const;
  [[nodiscard]] Key128 kmer_at(std::uint64_t record) const;
  [[nodiscard]] std::uint64_t count_at(std::uint64_t record) const;

  std::unique_ptr<file::MappedInput> file_;
  JellyfishHeader header_;
  std::uint32_t key_bytes_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t mask_ = 0;                                ///< number of positions, less 1
  std::vector<std::array<std::uint64_t, 256>> products_;  ///< of each byte of a k-mer, the lowest first
};

}  // namespace warpmer::formats
