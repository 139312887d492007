#pragma once
/// The common parts of the tests of other programs' formats: k-mers with counts to write, numbers in bytes,
/// reading all of a source, and faults.

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/stream/kmer_stream.h"
#include "kmer/kmer.h"
#include "refusal.h"
#include "unit/index/index_file_common.h"

namespace warpmer::formats {

inline bool operator==(const CountedKmer& a, const CountedKmer& b) {
  return a.kmer == b.kmer && a.count == b.count;
}

namespace test {

using index::test::read_bytes;
using index::test::says;
using index::test::ScratchFolder;
using index::test::write_bytes;

using Kmers = std::vector<CountedKmer>;

inline Key128 kmer_of(std::string_view text) {
  Key128 kmer = 0;
  (void)kmer_from_text(text, kmer);
  return kmer;
}

/// Returns the little-endian number of `width` bytes at `at`.
inline std::uint64_t number(const std::string& bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = width; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(bytes.at(at + i));
  return value;
}
/// Returns such a number's bytes.
inline std::string number_text(std::uint64_t value, std::size_t width) {
  std::string text;
  for (; width > 0; --width, value >>= 8) text += static_cast<char>(value);
  return text;
}

/// Returns up to `n` different k-mers in order, with counts of all widths up to `bytes` bytes.
inline Kmers random_kmers(std::uint32_t k, std::size_t n, bool is_canonical, std::uint32_t bytes,
                          unsigned seed = 1) {
  std::mt19937_64 random(seed + k);
  std::map<Key128, std::uint64_t> counts;
  for (std::size_t i = 0; i < n; ++i) {
    const Key128 kmer = (Key128{random()} << 64 | random()) & key_mask<Key128>(k);
    counts[is_canonical ? canonical(kmer, k) : kmer] =
        std::max<std::uint64_t>(1, random() >> (64 - 8 * bytes + random() % (8 * bytes)));
  }
  Kmers kmers;
  for (const auto& [kmer, count] : counts) kmers.push_back({kmer, count});
  return kmers;
}

/// Returns all k-mers of a source, reading so many at a time.
inline Kmers all_of(KmerSource& source, std::size_t at_once = 7) {
  Kmers all, some(at_once);
  while (const std::size_t n = source.read(some))
    all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(n));
  return all;
}

template <class Source>
Kmers read_all(const std::string& path, std::size_t at_once = 7) {
  Source source(path);
  return all_of(source, at_once);
}

template <class Sink>
void write_all(const std::string& path, const StreamFacts& facts, const Kmers& kmers,
               std::uint32_t count_bytes = 0) {
  Sink sink(path, facts, count_bytes);
  const std::size_t half = kmers.size() / 2;
  sink.write(std::span(kmers).first(half));
  sink.write(std::span(kmers).subspan(half));
  sink.finish();
}

/// Returns the fault of a file: the message of the InputError, or nothing.
template <class Source>
std::string fault_of(const std::string& path) {
  return tests::refusal<InputError>([&] { (void)read_all<Source>(path); });
}

}  // namespace test
}  // namespace warpmer::formats
