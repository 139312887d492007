#pragma once
/// An index's k-mers as strings of groups, and the sequences of a file, for benches of src/groups.

#include <cstdint>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "groups/group_key.h"
#include "groups/shard_encoder.h"
#include "groups/shard_reader.h"
#include "index/index_file.h"
#include "kmer/alphabet.h"

namespace warpmer::bench {

using namespace warpmer::groups;

/// Returns the CPU time of this thread, in seconds.
inline double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <class Flanks>
struct Built {
  std::vector<EncodedShard> shards;
  std::vector<FlankLengths> lengths;
  std::vector<ShardBits> views;
};

/// Sums over shards, and over the seconds of threads.
struct BuildReport {
  std::uint64_t kmers = 0, strings = 0, groups = 0, words = 0, buckets = 0, large = 0, offset_bits = 0;
  double encoding = 0;
};

/// Makes the shards of an index again of its k-mers, on so many threads.
template <class Key, class Flanks>
Built<Flanks> build(const index::IndexFile& file, unsigned threads, BuildReport& report) {
  const std::uint32_t k = file.params().k, shards = file.params().shards();
  const GroupShape shape(k);
  const GroupKeys<Key, Flanks> keys(k);
  std::vector<BuildReport> reports(threads);
  Built<Flanks> built;
  built.shards.resize(shards);
  built.lengths = make_length_table(shape.flank_bases());
  const auto build_some = [&](unsigned t) {
    KeyEncoder<Key, Flanks> encoder(k);
    GroupKmers<Flanks> kmers(shape.flank_bases());
    std::vector<Key> sorted_keys;
    std::vector<std::uint64_t> counts;
    BuildReport& mine = reports[t];
    for (std::uint32_t number = t; number < shards; number += threads) {
      sorted_keys.clear();
      counts.clear();
      if (file.kmers(number) > 0) {
        for_each_key(file.strings(number), keys, kmers, [&](Key key, std::uint64_t count) {
          sorted_keys.push_back(key);
          counts.push_back(count);
        });
      }
      const double start = now();
      EncodedShard& encoded = built.shards[number] = encoder.encode(sorted_keys, counts);
      mine.encoding += now() - start;
      const ShardSizes& sizes = encoded.sizes;
      mine.kmers += sizes.kmers;
      mine.groups += sizes.groups;
      mine.strings += encoder.strings();
      mine.words += sizes.words;
      mine.buckets += sizes.buckets;
      mine.large += sizes.large_groups;
      mine.offset_bits += sizes.offset_bits * ShardLayout::offsets(sizes);
      encoded.payload.resize(sizes.words + kReadAheadWords);
    }
  };
  std::vector<std::thread> team;
  for (unsigned t = 0; t < threads; ++t) team.emplace_back(build_some, t);
  for (std::thread& thread : team) thread.join();
  for (const BuildReport& mine : reports) {
    report.kmers += mine.kmers;
    report.groups += mine.groups;
    report.strings += mine.strings;
    report.words += mine.words;
    report.buckets += mine.buckets;
    report.large += mine.large;
    report.offset_bits += mine.offset_bits;
    report.encoding += mine.encoding;
  }
  for (const EncodedShard& shard : built.shards)
    built.views.emplace_back(shape, shard.sizes, shard.payload.data(), built.lengths.data());
  return built;
}

/// Calls `visit(codes)` for every stretch of bases of a plain FASTA or FASTQ file. Sequences of FASTA go over
/// line ends. InputError when there is none.
template <class Visit>
void for_each_stretch(const std::string& path, Visit&& visit) {
  std::ifstream in(path);
  std::string line;
  std::vector<std::uint8_t> codes;
  if (!std::getline(in, line)) throw InputError(path + ": cannot be read");
  const bool fastq = line[0] == '@';
  const auto flush = [&] {
    if (!codes.empty()) visit(codes);
    codes.clear();
  };
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (fastq ? number % 4 != 1 : line[0] == '>') {
      flush();
      continue;
    }
    for (const char c : line) {
      if (c == '\r') continue;
      if (char_class(c) == CharClass::base) {
        codes.push_back(base_code(c));
      } else {
        flush();
      }
    }
    if (fastq) flush();
  }
  flush();
}

}  // namespace warpmer::bench
