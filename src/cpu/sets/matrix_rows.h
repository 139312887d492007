#pragma once
/// Rows of a table of k-mers and samples as text.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "cpu/sets/count_text.h"
#include "cpu/sets/sample_groups.h"
#include "file/output/ordered_text.h"
#include "kmer/kmer.h"

namespace warpmer::cpu {

/// Writes rows of `old_samples` numbers that are known already and one for each of `inputs` samples.
template <class Key>
class MatrixRowWriter {
 public:
  using Entry = SampleEntry<Key>;

  MatrixRowWriter(const index::IndexParams& params, bool presence, std::size_t old_samples,
                  std::size_t inputs)
      : k_(params.k), keys_(params), presence_(presence), old_samples_(old_samples), inputs_(inputs) {
    for (std::size_t i = 0; i < std::max(old_samples, inputs); ++i) zeros_ += "\t0";
  }

  /// Writes a k-mer of a shard that the old samples do not have; `begin` to `end` say which of the inputs do.
  void write_new(file::TextBuffer& out, std::uint32_t shard, const Entry* begin, const Entry* end) const {
    char* at = out.reserve(kKmerRoom + 2 * old_samples_ + room());
    write_kmer(keys_.kmer(shard, begin->hash), k_, at);
    out.commit(write_numbers(write_zeros(at + k_, old_samples_), begin, end));
  }
  /// Writes a row as it was, with the inputs' numbers.
  void write_old(file::TextBuffer& out, std::string_view row, const Entry* begin, const Entry* end) const {
    char* at = out.reserve(row.size() + room());
    std::memcpy(at, row.data(), row.size());
    out.commit(write_numbers(at + row.size(), begin, end));
  }

 private:
  /// Returns the characters that the inputs' numbers take, at most.
  [[nodiscard]] std::size_t room() const { return inputs_ * (kCountRoom + 1) + 1; }

  char* write_zeros(char* at, std::size_t n) const {
    std::memcpy(at, zeros_.data(), 2 * n);
    return at + 2 * n;
  }
  char* write_numbers(char* at, const Entry* begin, const Entry* end) const {
    std::size_t sample = 0;
    for (const Entry* entry = begin; entry < end; ++entry) {
      at = write_zeros(at, entry->sample - sample);
      *at++ = '\t';
      at = write_count(at, presence_ ? 1 : entry->count);
      sample = entry->sample + std::size_t{1};
    }
    at = write_zeros(at, inputs_ - sample);
    *at++ = '\n';
    return at;
  }

  std::uint32_t k_;
  ShardKeys<Key> keys_;
  bool presence_;
  std::size_t old_samples_;
  std::size_t inputs_;
  std::string zeros_;
};

}  // namespace warpmer::cpu
