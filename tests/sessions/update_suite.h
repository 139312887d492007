#pragma once
/// Updates indexes by hand-made batches, and checks the results that every backend must give.

#include <doctest/doctest.h>

#include <atomic>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "backend/update_session.h"
#include "kmer/minimizer.h"
#include "lookups/lookup_fixture.h"
#include "sessions/session_suite.h"

namespace warpmer::tests {

struct Updated {
  Payloads payloads;  ///< payloads of the shards that are not empty
  index::Totals totals;
  index::Histogram histogram;
  backend::Shortfall shortfall;
  std::optional<backend::DeviceMemoryReport> device_memory;
};

/// The work of both sessions of an update, with the reads that they get.
struct Change {
  Reads added, removed;
  bool adds = true, removes = true;
};

/// The memory for merging, which is enough for every shard of these tests.
inline constexpr std::uint64_t kMergeBytes = std::uint64_t{256} << 20;

/// Runs an update. `each` is the plan of one session or, on a GPU, of both together.
inline Updated update(backend::Backend& backend, const backend::CountPlan& each,
                      const index::IndexFile& index, const Change& change,
                      std::uint64_t merge_bytes = kMergeBytes) {
  backend::UpdatePlan plan;
  if (change.adds) plan.added = each;
  if (change.removes) plan.removed = each;
  plan.merge_bytes = merge_bytes;
  const auto session = backend.start_update(plan, index);
  const auto feed = [&](backend::CountingSession* to, const Reads& reads) {
    if (to == nullptr) return;
    const auto batches = batches_of(reads, 200);
    std::atomic<std::size_t> next{0};
    run_team(
        each.threads,
        [&](unsigned thread) {
          io::Batch batch;
          for (std::size_t i; (i = next.fetch_add(1)) < batches.size();) {
            copy(batches[i], batch);
            to->add(batch, thread);
          }
          to->end_of_input(thread);
        },
        [&] { next = batches.size(); });
  };
  feed(session->added(), change.added);
  feed(session->removed(), change.removed);
  Updated updated;
  std::mutex mutex;
  bool once = true;
  const auto put = [&](std::uint32_t shard, index::FrozenShard&& frozen) {
    const std::lock_guard lock(mutex);
    if (frozen.kmers() > 0) once = updated.payloads.emplace(shard, frozen.payload).second && once;
  };
  const backend::ShardSink sink(put);
  run_team(
      each.threads, [&](unsigned thread) { session->finish(thread, sink, [] {}); }, [] {});
  CHECK(once);
  updated.totals = session->tally().totals();
  updated.histogram = session->tally().histogram();
  updated.shortfall = session->shortfall();
  updated.device_memory = session->report().device_memory;
  return updated;
}

inline Payloads payloads_of(const index::IndexFile& index) {
  Payloads payloads;
  for (std::uint32_t shard = 0; shard < index.params().shards(); ++shard) {
    if (index.kmers(shard) == 0) continue;
    const bool has_strings = index.params().k > kMaxDenseK;
    const std::uint64_t* words = has_strings ? index.strings(shard).words : index.shard(shard).payload;
    const std::uint64_t n = has_strings ? index.sizes(shard).words : index.shard(shard).payload_words;
    payloads.emplace(shard, std::vector<std::uint64_t>(words, words + n));
  }
  return payloads;
}

inline void check_updated(const Updated& updated, const index::IndexFile& expected) {
  CHECK((updated.payloads == payloads_of(expected)));
  CHECK((updated.histogram == expected.histogram()));
  CHECK(updated.totals.counted_kmers == expected.totals().counted_kmers);
  CHECK(updated.totals.counted_distinct == expected.totals().counted_distinct);
  CHECK(updated.totals.stored_distinct == expected.totals().stored_distinct);
  CHECK(updated.totals.largest_count == expected.totals().largest_count);
}

/// Any k, both strands and any team give the same bytes as counting the reads that remain.
inline void update_like_count(backend::Backend& backend, const std::vector<std::uint32_t>& all_k,
                              const std::vector<Team>& teams, const backend::CountPlan& pattern,
                              std::size_t genome_length = 20000, std::uint64_t merge_bytes = kMergeBytes) {
  const Reads was = simulated_reads(genome_length / 8, genome_length, 21);
  const Reads added = simulated_reads(genome_length / 12, genome_length, 22);
  const auto half = [](const Reads& reads) {
    return reads.begin() + static_cast<std::ptrdiff_t>(reads.size() / 2);
  };
  Reads removed(was.begin(), half(was));
  removed.insert(removed.end(), added.begin(), half(added));
  Reads left(half(was), was.end());
  left.insert(left.end(), half(added), added.end());
  Reads both = was;
  both.insert(both.end(), added.begin(), added.end());
  for (const std::uint32_t k : all_k) {
    CAPTURE(k);
    for (const bool canonical : {true, false}) {
      const TemporaryIndex old_path, all_path, left_path, none_path;
      write_index(old_path.path(), was, k, canonical);
      write_index(all_path.path(), both, k, canonical);
      write_index(left_path.path(), left, k, canonical);
      write_index(none_path.path(), Reads{}, k, canonical);
      const index::IndexFile old(old_path.path()), all(all_path.path()), rest(left_path.path()),
          none(none_path.path());
      for (const Team& team : teams) {
        CAPTURE(team.threads);
        backend::CountPlan plan = pattern;
        plan.kmers.k = k;
        plan.kmers.canonical = canonical;
        plan.threads = team.threads;
        plan.devices.cpu_devices = team.devices;
        check_updated(update(backend, plan, old, {added, removed}, merge_bytes), rest);
        check_updated(update(backend, plan, old, {added, {}, true, false}, merge_bytes), all);
        check_updated(update(backend, plan, all, {{}, added, false, true}, merge_bytes), old);
        check_updated(update(backend, plan, none, {was, {}, true, true}, merge_bytes), old);
        const Updated nothing = update(backend, plan, old, {{}, was, false, true}, merge_bytes);
        CHECK(nothing.payloads.empty());
        CHECK(nothing.shortfall.is_none());
      }
    }
  }
}

/// K-mers that are not there, or not so often, are counted.
inline void note_shortfalls(backend::Backend& backend, const std::vector<std::uint32_t>& all_k,
                            const backend::CountPlan& pattern, std::uint64_t merge_bytes = kMergeBytes) {
  const Reads was = simulated_reads(300, 5000, 23), added = simulated_reads(100, 5000, 24);
  Reads removed = simulated_reads(300, 9000, 23);
  for (int i = 0; i < 4; ++i) removed.insert(removed.end(), was.begin(), was.begin() + 20);
  for (const std::uint32_t k : all_k) {
    CAPTURE(k);
    const TemporaryIndex path;
    write_index(path.path(), was, k);
    const index::IndexFile index(path.path());
    Reads both = was;
    both.insert(both.end(), added.begin(), added.end());
    const auto there = expected_counts(both, k, true);
    backend::Shortfall expected;
    for (const auto& [kmer, count] : expected_counts(removed, k, true)) {
      const auto at = there.find(kmer);
      const std::uint64_t was_there = at == there.end() ? 0 : at->second;
      if (count > was_there) expected.note(was_there, count - was_there);
    }
    if (k > 8) CHECK(expected.absent_kmers > 0);  // all of the shortest k-mers are there
    CHECK(expected.short_kmers > 0);
    backend::CountPlan plan = pattern;
    plan.kmers.k = k;
    const backend::Shortfall shortfall =
        update(backend, plan, index, {added, removed}, merge_bytes).shortfall;
    CHECK(shortfall.absent_kmers == expected.absent_kmers);
    CHECK(shortfall.absent_occurrences == expected.absent_occurrences);
    CHECK(shortfall.short_kmers == expected.short_kmers);
    CHECK(shortfall.short_occurrences == expected.short_occurrences);
  }
}

/// Makes an index of k-mers with counts of all widths. The hashes of most crowd in one shard, which has more
/// than are taken at once; those of some do not.
template <class Key>
void update_what_crowds(backend::Backend& backend, std::uint32_t k, const backend::CountPlan& pattern,
                        std::size_t crowd, std::uint64_t merge_bytes = kMergeBytes) {
  CAPTURE(k);
  const KmerHash<Key> hash(k);
  std::mt19937_64 random(25);
  std::map<Key, std::uint64_t> counts;
  const auto any_count = [&] { return 1 + (random() >> (random() % 8 == 0 ? 24 + random() % 24 : 58)); };
  const std::uint32_t hot = shard_of_kmer(hash.inverse(Key{0}), k, false, shard_bits(k));
  std::size_t crowded = 0;
  for (Key h = 0; crowded < crowd; ++h) {
    const Key kmer = hash.inverse(h);
    if (shard_of_kmer(kmer, k, false, shard_bits(k)) != hot) continue;
    counts[kmer] = any_count();
    ++crowded;
  }
  for (int i = 0; i < 20000; ++i) {
    const Key any = (Key{random()} << (sizeof(Key) == 16 ? 63 : 0)) ^ random();
    counts[hash.inverse(any & key_mask<Key>(k))] = any_count();
  }
  counts[hash.inverse(key_mask<Key>(k))] = 7;
  const TemporaryIndex path, expected_path;
  write_index(path.path(), counts, k, false);
  // Some k-mers are added, some are taken away, some are new.
  Change change;
  const auto read_of = [&](Key kmer) {
    std::string text(k, ' ');
    kmer_to_text(kmer, k, text.data());
    return text;
  };
  std::vector<Key> gone;
  for (auto& [kmer, count] : counts) {
    if (random() % 3 == 0) {
      change.added.push_back(read_of(kmer));
      ++count;
    } else if (random() % 3 == 0 && count < 4) {
      change.removed.insert(change.removed.end(), count, read_of(kmer));
      gone.push_back(kmer);
    }
  }
  for (const Key kmer : gone) counts.erase(kmer);
  for (Key h = Key{crowd} << 20; change.added.size() % 1000 != 0; ++h) {
    const auto [at, is_new] = counts.emplace(hash.inverse(h), 0);
    ++at->second;
    change.added.push_back(read_of(at->first));
  }
  write_index(expected_path.path(), counts, k, false);
  const index::IndexFile index(path.path()), expected(expected_path.path());
  backend::CountPlan plan = pattern;
  plan.kmers.k = k;
  plan.kmers.canonical = false;
  check_updated(update(backend, plan, index, change, merge_bytes), expected);
}

/// Updates counts about 2^32, of which some pass it when reads are added, and one of the hash with all bits
/// set.
inline void update_beyond_32_bits(backend::Backend& backend, const backend::CountPlan& pattern) {
  constexpr std::uint32_t k = 32;
  const KmerHash<Key64> hash(k);
  std::map<Key64, std::uint64_t> counts;
  const Reads added = simulated_reads(3000, 4000, 27);
  const auto more = expected_counts(added, k, false);
  const auto kmer_of = [](const std::string& text) {
    Key64 kmer{};
    REQUIRE(kmer_from_text(text, kmer));
    return kmer;
  };
  for (const auto& [text, count] : more) {
    const std::size_t number = counts.size();
    counts[kmer_of(text)] = number % 20 == 0 ? (std::uint64_t{1} << 32) - 1 - number / 20 % (2 * count) : 1;
  }
  counts[hash.inverse(~Key64{0})] = UINT32_MAX;
  const TemporaryIndex path, expected_path;
  write_index(path.path(), counts, k, false);
  for (const auto& [text, count] : more) counts[kmer_of(text)] += count;
  write_index(expected_path.path(), counts, k, false);
  const index::IndexFile index(path.path()), expected(expected_path.path());
  backend::CountPlan plan = pattern;
  plan.kmers.k = k;
  plan.kmers.canonical = false;
  check_updated(update(backend, plan, index, {added, {}, true, false}), expected);
}

/// An error of the sink that takes the shards ends the session, and is the one that is reported.
inline void end_update_with_the_sink(backend::Backend& backend, const backend::CountPlan& pattern) {
  const Reads was = simulated_reads(400, 3000, 26);
  for (const std::uint32_t k : {7u, 31u}) {
    const TemporaryIndex path;
    write_index(path.path(), was, k);
    const index::IndexFile index(path.path());
    for (const unsigned threads : {1u, 3u}) {
      backend::CountPlan plan = pattern;
      plan.kmers.k = k;
      plan.threads = threads;
      const auto session = backend.start_update({plan, std::nullopt, std::uint64_t{64} << 20}, index);
      auto batches = batches_of(was, 10);
      run_team(
          threads,
          [&](unsigned thread) {
            for (std::size_t i = thread; i < batches.size(); i += threads)
              session->added()->add(batches[i], thread);
            session->added()->end_of_input(thread);
          },
          [] {});
      struct DiskFull {};
      std::atomic<int> taken{0};
      const auto put = [&](std::uint32_t, index::FrozenShard&&) {
        if (taken++ >= (k > kMaxDenseK ? 5 : 0)) throw DiskFull();
      };
      const backend::ShardSink sink(put);
      CHECK_THROWS_AS(run_team(
                          threads, [&](unsigned thread) { session->finish(thread, sink, [] {}); }, [] {}),
                      DiskFull);
    }
  }
}

}  // namespace warpmer::tests
