// What strings of groups (src/groups) take, and how fast they are made and looked up, on one thread:
//
//   group_strings INDEX [READS.fq|.fa...]
//
// Takes the k-mers and counts of an index, puts them into groups, and prints bits a k-mer by part, the time
// to encode and to decode, and, of reads (plain text, one line a sequence or FASTQ), lookups a second:
// cutting apart.

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "groups/flanked_cut.h"
#include "groups/flanked_kmer.h"
#include "groups/group_counter.h"
#include "groups/shard_encoder.h"
#include "groups/shard_reader.h"
#include "groups/string_lookup.h"
#include "index/index_file.h"
#include "index/shard_codec.h"
#include "kmer/hash.h"

namespace {

using namespace warpmer;
using namespace warpmer::groups;

double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <class Flanks>
struct Entry {
  std::uint32_t rest, layer;
  Flanks flanks;
  std::uint64_t count;
  bool operator<(const Entry& other) const {
    return rest != other.rest     ? rest < other.rest
           : layer != other.layer ? layer < other.layer
                                  : flanks < other.flanks;
  }
};

template <class Flanks>
struct Built {
  std::vector<EncodedShard> shards;
  std::vector<FlankLengths> lengths;
  std::vector<ShardView> views;
};

/// Puts the k-mers of one index into shards of groups.
template <class Key, class Flanks>
Built<Flanks> build(const index::IndexFile& file) {
  const std::uint32_t k = file.params().k;
  const GroupShape shape(k);
  const GroupHash hash(shape.m);
  const KmerHash<Key> kmer_hash(k);
  std::vector<std::vector<Entry<Flanks>>> entries(std::size_t{1} << kGroupShardBits);
  for (std::uint32_t shard = 0; shard < file.params().shards(); ++shard) {
    index::ShardReader<Key>(file.shard(shard), k).for_each([&](Key key, std::uint64_t count) {
      const auto place = flanked_kmer<Flanks>(kmer_hash.inverse(key), shape, file.params().canonical);
      const std::uint32_t id = hash(place.mmer);
      entries[id >> shape.rest_bits()].push_back(
          {id & ((1u << shape.rest_bits()) - 1), place.layer, place.flanks, count});
    });
  }
  Built<Flanks> built;
  built.lengths = make_length_table(shape.flank_bases());
  double sorting = 0, encoding = 0, decoding = 0;
  ShardEncoder<Flanks> encoder(k);
  PathCover<Flanks> cover(shape.flank_bases());
  std::vector<Flanks> flanks;
  std::vector<std::uint64_t> counts;
  std::vector<std::uint32_t> begins;
  std::uint64_t kmers = 0, strings = 0, groups = 0, words = 0, buckets = 0, large = 0, offset_bits = 0;
  for (auto& shard : entries) {
    const double start = now();
    std::sort(shard.begin(), shard.end());
    const double sorted = now();
    encoder.begin();
    for (std::size_t at = 0; at < shard.size();) {
      const std::uint32_t rest = shard[at].rest;
      begins.assign(shape.flank_bases() + 2, 0);
      flanks.clear();
      counts.clear();
      for (; at < shard.size() && shard[at].rest == rest; ++at) {
        flanks.push_back(shard[at].flanks);
        counts.push_back(shard[at].count);
        ++begins[shard[at].layer + 1];
      }
      for (std::uint32_t layer = 0; layer <= shape.flank_bases(); ++layer) begins[layer + 1] += begins[layer];
      encoder.add_group(rest, [&](auto& strings_of, auto& counts_of) {
        return cover.cover(flanks, counts, begins.data(), strings_of, counts_of);
      });
    }
    built.shards.push_back(encoder.finish());
    const double encoded = now();
    sorting += sorted - start;
    encoding += encoded - sorted;
    const ShardSizes& sizes = built.shards.back().sizes;
    kmers += sizes.kmers;
    groups += sizes.groups;
    strings += encoder.strings();
    words += sizes.words;
    buckets += sizes.buckets;
    large += sizes.large_groups;
    offset_bits += sizes.offset_bits * ShardLayout::offsets(sizes);
    built.shards.back().payload.resize(sizes.words + kReadAheadWords);
    shard = {};
  }
  for (const EncodedShard& shard : built.shards)
    built.views.emplace_back(shape, shard.sizes, shard.payload.data(), built.lengths.data());
  const double start = now();
  GroupKmers<Flanks> group(shape.flank_bases());
  std::uint64_t again = 0, sum = 0;
  for (const ShardView& view : built.views) {
    for_each_group(view, group, [&](std::uint32_t, const GroupKmers<Flanks>& kmers_of) {
      again += kmers_of.size();
      for (const std::uint64_t count : kmers_of.counts()) sum += count;
    });
  }
  decoding = now() - start;
  const auto n = static_cast<double>(kmers);
  fmt::print("k {} m {}: {} k-mers, {} groups ({:.1f} k-mers), {} strings ({:.2f} k-mers), {} large groups\n",
             k, shape.m, kmers, groups, n / static_cast<double>(groups), strings,
             n / static_cast<double>(strings), large);
  const double index_bytes = static_cast<double>(file.content_bytes()) / n;
  fmt::print("  bytes a k-mer: {:.3f} (format 1: {:.2f}); offsets {:.2f} bits, {:.1f} strings a bucket\n",
             8.0 * static_cast<double>(words) / n, index_bytes, static_cast<double>(offset_bits) / n,
             static_cast<double>(strings) / static_cast<double>(buckets));
  fmt::print("  ns a k-mer: sorting {:.1f}, encoding {:.1f}, decoding {:.1f}\n", 1e9 * sorting / n,
             1e9 * encoding / n, 1e9 * decoding / n);
  if (again != kmers || sum != file.totals().stored_kmers)
    fmt::print("  DECODED {} k-mers, {} in all\n", again, sum);
  return built;
}

template <class Flanks>
struct Query {
  FlankedSuperKmer<Flanks> super;
  std::uint32_t shard, rest;
};

/// Calls `visit(codes)` for every stretch of bases of a plain FASTA or FASTQ file (FASTA: line by line).
template <class Visit>
void for_each_stretch(const std::string& path, Visit&& visit) {
  std::ifstream in(path);
  std::string line;
  std::vector<std::uint8_t> codes;
  std::getline(in, line);
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

/// Counts reads by groups, and compares with the shards that the index gives.
template <class Key, class Flanks>
void count_reads(const Built<Flanks>& built, std::uint32_t k, bool canonical, const std::string& path) {
  const GroupShape shape(k);
  const GroupHash hash(shape.m);
  struct Word {
    std::uint32_t rest;
    FlankedSuperKmer<Flanks> super;
  };
  std::vector<std::vector<Word>> words(std::size_t{1} << kGroupShardBits);
  FlankedCut<Key, Flanks> cutter(k, canonical);
  std::uint64_t kmers = 0;
  for_each_stretch(path, [&](const std::vector<std::uint8_t>& codes) {
    cutter.cut(codes, [&](const CutSuperKmer<Flanks>& cut) {
      const std::uint32_t id = hash(cut.super.mmer);
      words[id >> shape.rest_bits()].push_back({id & ((1u << shape.rest_bits()) - 1), cut.super});
      kmers += cut.kmers;
    });
  });
  GroupCounter<Flanks> counter(shape.flank_bases());
  ShardEncoder<Flanks> encoder(k);
  std::vector<std::uint64_t> order, other;
  double sorting = 0, counting = 0, encoding = 0;
  std::uint64_t distinct = 0, total_words = 0;
  for (std::size_t number = 0; number < words.size(); ++number) {
    const std::vector<Word> shard = words[number];
    total_words += shard.size();
    const double start = now();
    order.resize(shard.size());
    other.resize(shard.size());
    for (std::size_t i = 0; i < shard.size(); ++i) order[i] = std::uint64_t{shard[i].rest} << 32 | i;
    const std::uint32_t half = (shape.rest_bits() + 1) / 2;
    for (int pass = 0; pass < 2; ++pass) {
      const std::uint32_t shift = 32 + static_cast<std::uint32_t>(pass) * half;
      std::vector<std::uint32_t> ends((std::size_t{1} << half) + 1);
      for (const std::uint64_t x : order) ++ends[(x >> shift & ((1u << half) - 1)) + 1];
      for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
      for (const std::uint64_t x : order) other[ends[x >> shift & ((1u << half) - 1)]++] = x;
      order.swap(other);
    }
    const double sorted = now();
    encoder.begin();
    for (std::size_t at = 0; at < shard.size();) {
      const auto rest = static_cast<std::uint32_t>(order[at] >> 32);
      for (; at < shard.size() && order[at] >> 32 == rest; ++at)
        counter.add(shard[static_cast<std::uint32_t>(order[at])].super, 1);
      encoder.add_group(rest, [&](auto& strings, auto& counts) { return counter.finish(strings, counts); });
    }
    const double counted = now();
    const EncodedShard encoded = encoder.finish();
    encoding += now() - counted;
    counting += counted - sorted;
    sorting += sorted - start;
    distinct += encoded.sizes.kmers;
    const EncodedShard& expected = built.shards[number];
    if (encoded.sizes.words != expected.sizes.words ||
        !std::equal(encoded.payload.begin(), encoded.payload.end(), expected.payload.begin()))
      fmt::print("  SHARD {} DIFFERS\n", number);
  }
  const auto n = static_cast<double>(distinct);
  fmt::print(
      "  counted {} k-mers in {} super-k-mers; ns a distinct k-mer: sorting {:.1f}, counting {:.1f}, "
      "encoding {:.1f}; "
      "seconds {:.2f} {:.2f} {:.2f}\n",
      kmers, total_words, 1e9 * sorting / n, 1e9 * counting / n, 1e9 * encoding / n, sorting, counting,
      encoding);
}

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
      queries.push_back({cut.super, id >> shape.rest_bits(), id & ((1u << shape.rest_bits()) - 1)});
      kmers += cut.kmers;
      singles += cut.kmers == 1 ? 1 : 0;
    });
  });
  if (getenv("SORTED"))
    std::sort(queries.begin(), queries.end(), [](auto& a, auto& b) { return a.shard < b.shard; });
  constexpr std::size_t kBatch = 64;
  for (int with_counts = 0; with_counts < 2; ++with_counts) {
    const double start = now();
    std::uint64_t found = 0, sum = 0;
    for (std::size_t at = 0; at < queries.size(); at += kBatch) {
      const std::size_t end = std::min(at + kBatch, queries.size());
      for (std::size_t i = at; i < end; ++i) {
        const ShardView& view = built.views[queries[i].shard];
        if (view.layout.buckets == 0) continue;
        const std::uint64_t bit = view.layout.bucket_of(queries[i].rest) * view.layout.offset_bits;
        __builtin_prefetch(view.words + bit / 64);
      }
      for (std::size_t i = at; i < end; ++i) {
        const ShardView& view = built.views[queries[i].shard];
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
              if (with_counts == 0) return;
              for (std::uint32_t j = 0; j < number; ++j) sum += counts[from + j];
            });
      }
    }
    const double seconds = now() - start;
    fmt::print(
        "  {}: {} super-k-mers of {:.2f} k-mers ({} of one), {:.1f} % found, {} ns a super-k-mer, {:.1f} M "
        "k-mers/s, sum {}\n",
        with_counts ? "counts" : "membership", queries.size(),
        static_cast<double>(kmers) / static_cast<double>(queries.size()), singles,
        100.0 * static_cast<double>(found) / static_cast<double>(kmers),
        1e9 * seconds / static_cast<double>(queries.size()), 1e-6 * static_cast<double>(kmers) / seconds,
        sum);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const index::IndexFile file(argv[1]);
  const std::uint32_t k = file.params().k;
  const auto run = [&]<class Key, class Flanks>() {
    const auto built = build<Key, Flanks>(file);
    for (int i = 2; i < argc; ++i) count_reads<Key, Flanks>(built, k, file.params().canonical, argv[i]);
    if (getenv("COUNT")) return;
    for (int i = 2; i < argc; ++i) look_up<Key, Flanks>(built, k, file.params().canonical, argv[i]);
  };
  if (k <= kMaxNarrowK) {
    run.operator()<Key64, Key64>();
  } else if (k <= kMaxNarrowFlanksK) {
    run.operator()<Key128, Key64>();
  } else {
    run.operator()<Key128, Key128>();
  }
}
