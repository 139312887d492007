// Shards that are larger than memory: counted a range of hashes at a time, kept in the spill file, written
// from there.
// ctest: one thread

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cpu/count/shard_counter.h"
#include "cpu/count/shard_spill.h"
#include "cpu/simd/kernels.h"
#include "index/index_writer.h"
#include "index/shard_codec.h"
#include "kmer/hash.h"
#include "unit/index/index_file_common.h"

using namespace warpmer;

namespace {

template <class Key>
using Entries = std::map<Key, std::uint64_t>;

template <class Key>
Key random_key(std::mt19937_64& random, std::uint32_t k) {
  Key key = random();
  if constexpr (sizeof(Key) == 16) key = (key << 64) | random();
  return key & key_mask<Key>(k);
}

template <class Key>
index::FrozenShard freeze(const Entries<Key>& entries, std::uint32_t k) {
  std::vector<Key> hashes;
  std::vector<std::uint64_t> counts;
  for (const auto& [hash, count] : entries) {
    hashes.push_back(hash);
    counts.push_back(count);
  }
  return index::freeze(hashes.data(), counts.data(), hashes.size(), k);
}

/// Returns a shard for readers, which look past the end.
index::FrozenShard readable(index::FrozenShard frozen) {
  frozen.payload.resize(frozen.payload.size() + warpmer::kReadAheadWords);
  return frozen;
}

/// Words of random bases, some of them many times, a page of them at a time.
template <int Words>
struct WordList {
  std::vector<SuperKmer<Words>> words;

  WordList(std::mt19937_64& random, std::uint32_t k, std::size_t n) {
    const std::uint32_t most = max_kmers_per_word<Words>(k);
    while (words.size() < n) {
      const auto kmers = static_cast<std::uint32_t>(1 + random() % most);
      SuperKmer<Words> word{};
      for (std::uint32_t base = 0; base < kmers + k - 1; ++base)
        word.word[base / 32] |= (random() % 4) << (base % 32 * 2);
      word.word[Words - 1] |= std::uint64_t{kmers - 1} << 58;
      words.insert(words.end(), random() % 8 == 0 ? 50 : 1, word);
    }
  }
  [[nodiscard]] std::uint64_t size() const { return words.size(); }
  template <class Visit>
  void for_each_page(Visit&& visit) {
    for (std::size_t i = 0; i < words.size(); i += 100)
      visit(words.data() + i, std::min<std::size_t>(100, words.size() - i));
  }
};

/// All ranges together have each k-mer once, with its count, in order.
template <class Key, int Words>
void count_in_ranges(const cpu::Kernels& kernels, std::uint32_t k, std::size_t room) {
  CAPTURE(k);
  CAPTURE(room);
  std::mt19937_64 random(k);
  WordList<Words> words(random, k, 3000);
  Entries<Key> expected;
  const KmerHash<Key> hash(k);
  for (const auto& word : words.words) {
    const SuperKmerReader<Key, Words> reader(word, k);
    for (std::uint32_t i = 0; i < reader.kmers(); ++i) ++expected[hash(reader.canonical(i))];
  }
  // Runs share k-mers with the words, and have counts that a list has no room for, and the last hash.
  std::vector<index::FrozenShard> runs;
  for (int i = 0; i < 3; ++i) {
    Entries<Key> run{{key_mask<Key>(k), 7}, {Key{0}, std::uint64_t{1} << 40}};
    for (const auto& [key, count] : expected) {
      if (random() % 5 == 0) run[key] = random() % 3 == 0 ? random() >> 8 : 1 + random() % 9;
    }
    for (int j = 0; j < 5000; ++j) run[random_key<Key>(random, k)] = 1;
    runs.push_back(readable(freeze(run, k)));
    for (const auto& [key, count] : run) expected[key] += count;
  }
  cpu::ShardCounter<Key, Words> counter(kernels, k, true);
  Entries<Key> found;
  std::size_t ranges = 0;
  bool in_range = true;
  for (Key first = 0;; ++ranges) {
    const Key last = counter.count_range(first, key_mask<Key>(k), room, words, [&] {
      for (const auto& run : runs) counter.add(run);
    });
    REQUIRE(counter.size() > 0);
    CHECK(counter.size() <=
          room + cpu::PendingPage<SuperKmer<Words>>::kCapacity * SuperKmer<Words>::kMaxKmers);
    for (std::size_t i = 0; i < counter.size(); ++i) {
      in_range = in_range && counter.keys()[i] >= first && counter.keys()[i] <= last &&
                 found.emplace(counter.keys()[i], counter.counts()[i]).second;
    }
    if (last == key_mask<Key>(k)) break;
    REQUIRE(last >= first);
    first = last + 1;
  }
  CHECK(in_range);
  CHECK((found == expected));
  CHECK(ranges >= expected.size() / room);
  // A whole shard after that is counted as ever.
  counter.count(words);
  std::uint64_t all = 0, kmers = 0;
  for (std::size_t i = 0; i < counter.size(); ++i) all += counter.counts()[i];
  for (const auto& word : words.words) kmers += word.kmers();
  CHECK(all == kmers);
}

template <class Key>
Entries<Key> random_entries(std::uint32_t k, std::size_t n) {
  std::mt19937_64 random(n + k);
  Entries<Key> entries;
  while (entries.size() < n) {
    entries[random_key<Key>(random, k)] =
        random() % 10 == 0 ? random() >> random() % 64 | 1 : 1 + random() % 3;
  }
  return entries;
}

/// Puts entries into a spill file, in two parts.
template <class Key>
void append(cpu::ShardSpill<Key>& spill, const Entries<Key>& entries, std::uint32_t k) {
  cpu::Freezer freezer(cpu::best_kernels(), k);
  std::vector<Key> hashes;
  std::vector<std::uint64_t> counts;
  for (const auto& [hash, count] : entries) {
    hashes.push_back(hash);
    counts.push_back(count);
  }
  const std::size_t first = hashes.size() / 3;
  spill.append(hashes.data(), counts.data(), first, freezer);
  spill.append(hashes.data() + first, counts.data() + first, hashes.size() - first, freezer);
}

template <class Key>
void spill_and_read(std::uint32_t k, std::size_t n) {
  CAPTURE(k);
  CAPTURE(n);
  const Entries<Key> entries = random_entries<Key>(k, n);
  const index::FrozenShard expected = freeze(entries, k);
  warpmer::file::SpillFile file(std::filesystem::temp_directory_path().string());
  std::atomic<std::uint64_t> written{0};
  cpu::ShardSpill<Key> spill(cpu::best_kernels(), k, file, written);
  append(spill, entries, k);
  const index::FrozenShard frozen = spill.finish();
  CHECK(written == file.bytes_written());
  CHECK(frozen.payload.empty());
  CHECK(frozen.shape == expected.shape);
  for (int again = 0; again < 2; ++again) {
    std::vector<std::uint64_t> words;
    frozen.source->read(
        [&](const std::uint64_t* some, std::size_t size) { words.insert(words.end(), some, some + size); });
    CHECK((words == expected.payload));
  }
}

/// A payload that a test has.
struct HeldPayload : index::PayloadSource {
  explicit HeldPayload(std::vector<std::uint64_t> held, bool fails_in_the_end = false)
      : words(std::move(held)), fails(fails_in_the_end) {}
  void read(const Take& take) const override {
    for (std::size_t i = 0; i < words.size(); i += 3)
      take(words.data() + i, std::min<std::size_t>(3, words.size() - i));
    if (fails) throw ResourceError("the disk has gone");
  }
  std::vector<std::uint64_t> words;
  bool fails;
};

}  // namespace

TEST_CASE("a shard is counted in ranges of its hashes, however little room there is") {
  for (const cpu::Kernels* kernels : cpu::available_kernels()) {
    CAPTURE(kernels->name);
    for (const std::size_t room : {4096u, 5000u, 30000u, 1u << 22}) {
      count_in_ranges<Key64, 2>(*kernels, 31, room);
      count_in_ranges<Key64, 2>(*kernels, 32, room);
      count_in_ranges<Key128, 2>(*kernels, 40, room);
      count_in_ranges<Key128, 4>(*kernels, 64, room);
    }
  }
}

TEST_CASE("a shard in the spill file is read as the payload that it has in memory") {
  for (const std::size_t n : {0u, 1u, 7u, 4096u, 30000u}) {
    spill_and_read<Key64>(31, n);
    spill_and_read<Key64>(32, n);
    spill_and_read<Key128>(33, n);
    spill_and_read<Key128>(64, n);
  }
}

TEST_CASE("an index is the same whether payloads come from memory or from elsewhere, in any order") {
  const index::test::ScratchFolder scratch;
  const index::test::Sample sample = index::test::make_sample(11, 4, 200);
  write_sample(sample, scratch / "memory.wmi");
  for (const bool in_order : {true, false}) {
    index::IndexWriter writer(scratch / "source.wmi", sample.params);
    for (std::uint32_t i = 0; i < sample.params.shards(); ++i) {
      const std::uint32_t shard = in_order ? i : sample.params.shards() - 1 - i;
      index::FrozenShard frozen = sample.shards[shard];
      const std::uint64_t waiting = writer.bytes_waiting();
      if (shard % 3 != 1) frozen.source = std::make_shared<HeldPayload>(std::exchange(frozen.payload, {}));
      const bool is_elsewhere = frozen.source != nullptr;
      writer.put(shard, std::move(frozen));
      if (is_elsewhere) CHECK(writer.bytes_waiting() <= waiting);
    }
    writer.finish(sample.totals, sample.histogram, index::test::sample_provenance());
    CHECK(index::test::read_bytes(scratch / "source.wmi") == index::test::read_bytes(scratch / "memory.wmi"));
  }
  index::FrozenShard bad = sample.shards[0];
  bad.source = std::make_shared<HeldPayload>(std::exchange(bad.payload, {}), true);
  {
    index::IndexWriter writer(scratch / "bad.wmi", sample.params);
    CHECK_THROWS_WITH_AS(writer.put(0, std::move(bad)), "the disk has gone", ResourceError);
    CHECK_THROWS_AS(writer.finish(sample.totals, sample.histogram, {}), ResourceError);
  }
  CHECK(scratch.files() == 2);
}
