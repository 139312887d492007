// What strings of groups (src/groups) take, and how fast they are made and looked up, on one thread:
//
//   group_strings INDEX [READS.fq|.fa...]
//
// Takes the k-mers and counts of an index, puts them into groups, and prints bytes a k-mer and the time to
// encode and decode them. Of reads (plain FASTA or FASTQ) it prints the time to count their super-k-mers into
// the same strings, and lookups a second, in the order of the text and shard by shard: both without cutting.
// Times are CPU times.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "flanked_cut.h"
#include "group_shards.h"
#include "groups/flanked_word.h"
#include "groups/shard_encoder.h"
#include "groups/shard_reader.h"
#include "groups/string_lookup.h"
#include "groups/word_counter.h"
#include "index/index_file.h"

namespace {

using namespace warpmer;
using namespace warpmer::bench;

template <class Key, class Flanks>
Built<Flanks> build_and_report(const index::IndexFile& file) {
  const GroupShape shape(file.params().k);
  BuildReport report;
  Built<Flanks> built = build<Key, Flanks>(file, 1, report);
  const double start = now();
  GroupKmers<Flanks> group(shape.flank_bases());
  std::uint64_t again = 0, sum = 0;
  for (const ShardBits& view : built.views) {
    for_each_group(view, group, [&](std::uint32_t, const GroupKmers<Flanks>& kmers_of) {
      again += kmers_of.size();
      for (const std::uint64_t count : kmers_of.counts()) sum += count;
    });
  }
  const double decoding = now() - start;
  const auto n = static_cast<double>(report.kmers);
  fmt::print("k {} m {}: {} k-mers, {} groups ({:.1f} k-mers), {} strings ({:.2f} k-mers), {} large groups\n",
             shape.k, shape.m, report.kmers, report.groups, n / static_cast<double>(report.groups),
             report.strings, n / static_cast<double>(report.strings), report.large);
  fmt::print("  bytes a k-mer: {:.3f}; offsets {:.2f} bits, {:.1f} strings a bucket\n",
             8.0 * static_cast<double>(report.words) / n, static_cast<double>(report.offset_bits) / n,
             static_cast<double>(report.strings) / static_cast<double>(report.buckets));
  fmt::print("  ns a k-mer: covering and encoding {:.1f}, decoding {:.1f}\n", 1e9 * report.encoding / n,
             1e9 * decoding / n);
  if (again != report.kmers || sum != file.totals().stored_kmers)
    fmt::print("  DECODED {} k-mers, {} in all\n", again, sum);
  return built;
}

/// Counts reads by groups, and compares with the shards that the index gives.
template <class Key, class Flanks>
void count_reads(const Built<Flanks>& built, std::uint32_t k, bool canonical, const std::string& path) {
  const GroupShape shape(k);
  const GroupHash hash(shape.m);
  constexpr int kWords = sizeof(Flanks) == 8 ? 2 : 4;
  using Word = FlankedWord<kWords>;
  const FlankedWordFormat<kWords> format(shape);
  std::vector<std::vector<Word>> words(std::size_t{1} << kShardBits);
  FlankedCut<Key, Flanks> cutter(k, canonical, format.most_bases());
  std::uint64_t kmers = 0;
  for_each_stretch(path, [&](const std::vector<std::uint8_t>& codes) {
    cutter.cut(codes, [&](const CutSuperKmer<Flanks>& cut) {
      const std::uint32_t id = hash(cut.super.mmer);
      words[shape.shard_of(id)].push_back(format.pack(shape.rest_of(id), cut.super));
      kmers += cut.kmers;
    });
  });
  WordCounter<kWords> counter(k);
  double counting = 0;
  std::uint64_t distinct = 0, total_words = 0;
  for (std::size_t number = 0; number < words.size(); ++number) {
    std::vector<Word>& shard = words[number];
    total_words += shard.size();
    const double start = now();
    const EncodedShard encoded = counter.count(shard);
    counting += now() - start;
    distinct += encoded.sizes.kmers;
    const EncodedShard& expected = built.shards[number];
    if (encoded.sizes.words != expected.sizes.words ||
        !std::equal(encoded.payload.begin(), encoded.payload.end(), expected.payload.begin()))
      fmt::print("  SHARD {} DIFFERS\n", number);
    shard = {};
  }
  fmt::print(
      "  counted {} k-mers in {} super-k-mers: {:.2f} s, {:.1f} ns a super-k-mer, {:.1f} a distinct k-mer\n",
      kmers, total_words, counting, 1e9 * counting / static_cast<double>(total_words),
      1e9 * counting / static_cast<double>(distinct));
}

template <class Flanks>
struct Query {
  FlankedSuperKmer<Flanks> super;
  std::uint32_t shard, rest;
};

template <class Key, class Flanks>
void look_up(const Built<Flanks>& built, std::uint32_t k, bool canonical, const std::string& path) {
  const GroupShape shape(k);
  const GroupHash hash(shape.m);
  FlankedCut<Key, Flanks> cutter(k, canonical);
  std::vector<Query<Flanks>> queries;
  std::uint64_t kmers = 0, singles = 0;
  for_each_stretch(path, [&](const std::vector<std::uint8_t>& codes) {
    if (kmers > 100000000) return;
    cutter.cut(codes, [&](const CutSuperKmer<Flanks>& cut) {
      const std::uint32_t id = hash(cut.super.mmer);
      queries.push_back({cut.super, shape.shard_of(id), shape.rest_of(id)});
      kmers += cut.kmers;
      singles += cut.kmers == 1 ? 1 : 0;
    });
  });
  constexpr std::size_t kBatch = 64;
  for (int round = 0; round < 4; ++round) {
    const bool with_counts = round % 2 == 1;
    if (round == 2) {
      std::sort(queries.begin(), queries.end(),
                [](const auto& a, const auto& b) { return a.shard < b.shard; });
    }
    const double start = now();
    std::uint64_t found = 0, sum = 0;
    for (std::size_t at = 0; at < queries.size(); at += kBatch) {
      const std::size_t end = std::min(at + kBatch, queries.size());
      for (std::size_t i = at; i < end; ++i) {
        const ShardBits& view = built.views[queries[i].shard];
        if (view.layout.buckets == 0) continue;
        const std::uint64_t bit = view.layout.bucket_of(queries[i].rest) * view.layout.offset_bits;
        __builtin_prefetch(view.words + bit / 64);
      }
      for (std::size_t i = at; i < end; ++i) {
        const ShardBits& view = built.views[queries[i].shard];
        if (view.layout.buckets == 0) continue;
        const auto* bytes = reinterpret_cast<const char*>(view.words) +
                            view.part(view.layout.bucket_of(queries[i].rest)).at / 8;
        __builtin_prefetch(bytes);
        __builtin_prefetch(bytes + 64);
      }
      for (std::size_t i = at; i < end; ++i) {
        found += find_super_kmer(
            built.views[queries[i].shard], queries[i].rest, queries[i].super,
            [&](std::uint32_t, std::uint32_t number, const StringCounts& counts, std::uint32_t from) {
              if (!with_counts) return;
              for (std::uint32_t j = 0; j < number; ++j) sum += counts[from + j];
            });
      }
    }
    const double seconds = now() - start;
    fmt::print(
        "  {}, {}: {} super-k-mers of {:.2f} k-mers ({} of one), {:.1f} % found, {:.0f} ns each, {:.1f} M "
        "k-mers/s, sum {}\n",
        with_counts ? "counts" : "membership", round < 2 ? "in order of the text" : "shard by shard",
        queries.size(), static_cast<double>(kmers) / static_cast<double>(queries.size()), singles,
        100.0 * static_cast<double>(found) / static_cast<double>(kmers),
        1e9 * seconds / static_cast<double>(queries.size()), 1e-6 * static_cast<double>(kmers) / seconds,
        sum);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print("usage: {} INDEX [READS]...\n", argv[0]);
    return 2;
  }
  const index::IndexFile file(argv[1]);
  const std::uint32_t k = file.params().k;
  const bool canonical = file.params().canonical;
  with_key_types(k, [&]<class Key, class Flanks>() {
    const auto built = build_and_report<Key, Flanks>(file);
    for (int i = 2; i < argc; ++i) {
      count_reads<Key, Flanks>(built, k, canonical, argv[i]);
      look_up<Key, Flanks>(built, k, canonical, argv[i]);
    }
  });
}
