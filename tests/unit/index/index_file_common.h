#pragma once
/// The common parts of the tests of the index file: small indexes, and a payload encoder written from
/// frozen_shard.h alone.

#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "index/frozen_shard.h"
#include "index/shard_codec.h"
#include "index/writer/index_writer.h"
#include "kmer/bit_stream.h"
#include "refusal.h"
#include "scratch_folder.h"
#include "unit/source_tree.h"

namespace warpmer::index::test {

using tests::read_bytes;
using tests::refusal;
using tests::ScratchFolder;
using tests::write_bytes;

/// True when a message contains a part.
inline bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

/// Returns offsets and bytes as two hexadecimal digits, sixteen in a row: `00000010  05 00 ...`.
inline std::string hex_dump(const std::string& bytes) {
  std::ostringstream out;
  out << std::hex;
  out.fill('0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % 16 == 0) {
      out.width(8);
      out << i << " ";
    }
    out << ' ';
    out.width(2);
    out << static_cast<unsigned>(static_cast<unsigned char>(bytes[i]));
    if (i % 16 == 15 || i + 1 == bytes.size()) out << '\n';
  }
  return out.str();
}

/// Checks that a page of docs/ has these bytes in its example.
inline void check_example(const std::string& page, const std::string& bytes) {
  const std::string dump = hex_dump(bytes), document = read_bytes(source_tree() + "/docs/" + page);
  REQUIRE(!document.empty());
  CHECK_MESSAGE(says(document, dump), "the example should read\n", dump);
}

/// Packs values bit by bit, each part on a word boundary.
class NaivePacker {
 public:
  void add(std::uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; ++i, ++bit_) {
      if (bit_ % 64 == 0) words_.push_back(0);
      words_.back() |= ((value >> i) & 1) << (bit_ % 64);
    }
  }
  void align() { bit_ = words_.size() * 64; }
  std::vector<std::uint64_t> take() { return std::move(words_); }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t bit_ = 0;
};

using HashCounts = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

/// Freezes `entries`, which are sorted by hash; k is at most 31.
inline FrozenShard freeze(const HashCounts& entries, std::uint32_t k, std::uint8_t bucket_bits,
                          std::uint8_t count_bits) {
  FrozenShard frozen;
  if (entries.empty()) return frozen;
  const std::uint64_t escape = (std::uint64_t{1} << count_bits) - 1;
  const unsigned rest = 2 * k - bucket_bits;
  std::uint64_t largest = 0;
  for (const auto& [hash, count] : entries) {
    if (count - 1 < escape) continue;
    ++frozen.shape.exceptions;
    largest = std::max(largest, count);
  }
  frozen.shape.entries = entries.size();
  frozen.shape.bucket_bits = bucket_bits;
  frozen.shape.count_bits = count_bits;
  frozen.shape.exception_bits = static_cast<std::uint8_t>(std::bit_width(largest));
  NaivePacker out;
  for (std::uint64_t bucket = 0; bucket_bits > 0 && bucket <= std::uint64_t{1} << bucket_bits; ++bucket) {
    const auto before =
        std::ranges::count_if(entries, [&](const auto& e) { return e.first >> rest < bucket; });
    out.add(static_cast<std::uint64_t>(before), static_cast<unsigned>(std::bit_width(entries.size())));
  }
  out.align();
  for (const auto& [hash, count] : entries) {
    out.add(std::min(count - 1, escape), count_bits);
    out.add(hash & ((std::uint64_t{1} << rest) - 1), rest);
  }
  out.align();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].second - 1 < escape) continue;
    out.add(entries[i].second, frozen.shape.exception_bits);
    out.add(i, static_cast<unsigned>(std::bit_width(entries.size() - 1)));
  }
  frozen.payload = out.take();
  return frozen;
}

/// An index before it is written.
struct Sample {
  IndexParams params;
  std::vector<FrozenShard> shards;
  Totals totals;
  Histogram histogram;
};

inline Sample make_sample(std::uint32_t k, std::uint32_t shard_bits, std::size_t entries_per_shard,
                          std::uint64_t seed = 1) {
  Sample sample;
  sample.params = {.k = k, .canonical = true, .minimizer_length = std::min(k, 12u), .shard_bits = shard_bits};
  std::mt19937_64 random(seed);
  const std::uint64_t hashes = std::uint64_t{1} << (2 * k);
  for (std::uint32_t shard = 0; shard < sample.params.shards(); ++shard) {
    // Every fourth shard is empty, the others differ in size.
    std::map<std::uint64_t, std::uint64_t> entries;
    const std::size_t size = shard % 4 == 2 ? 0 : 1 + random() % entries_per_shard;
    while (entries.size() < size) {
      entries[random() % hashes] = random() % 8 == 0 ? 1 + random() % 100000 : 1 + random() % 3;
    }
    for (const auto& [hash, count] : entries) {
      ++sample.histogram[count];
      sample.totals.stored_kmers += count;
      sample.totals.largest_count = std::max(sample.totals.largest_count, count);
    }
    sample.totals.stored_distinct += entries.size();
    sample.shards.push_back(freeze({entries.begin(), entries.end()}, k, shard % 2 == 0 ? 2 : 0, 2));
  }
  sample.totals.counted_kmers = sample.totals.stored_kmers;
  sample.totals.counted_distinct = sample.totals.stored_distinct;
  sample.totals.records = 17;
  return sample;
}

inline Provenance sample_provenance() {
  return {"0.1.0", "warpmer count -k 11 a.fq", {"a.fq", "", "dir/b\xff.fq"}};
}

/// Writes a sample with one thread, in shard order.
inline void write_sample(const Sample& sample, const std::string& path,
                         const Provenance& provenance = sample_provenance()) {
  IndexWriter writer(path, sample.params);
  for (std::uint32_t i = 0; i < sample.params.shards(); ++i) writer.put(i, FrozenShard(sample.shards[i]));
  writer.finish(sample.totals, sample.histogram, provenance);
}

inline bool same_shard(const ShardView& view, const FrozenShard& frozen) {
  return view.shape == frozen.shape && view.payload_words == frozen.payload.size() &&
         std::equal(frozen.payload.begin(), frozen.payload.end(), view.payload);
}

/// Returns a copy of a payload as it is read from the file.
inline std::vector<std::uint64_t> copy_of(const IndexFile& file, std::uint32_t shard) {
  const std::size_t words = file.payload_words(shard);
  std::vector<std::uint64_t> copy(words + kReadAheadWords);
  file.read_payload(shard, copy.data());
  copy.resize(words);
  return copy;
}

inline bool same_shards(const IndexFile& file, const Sample& sample) {
  for (std::uint32_t i = 0; i < sample.params.shards(); ++i) {
    if (!same_shard(file.shard(i), sample.shards[i])) return false;
  }
  return true;
}

}  // namespace warpmer::index::test
