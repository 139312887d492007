// A table behind a socket answers as it does without one: counts, summaries, errors, what is added and
// removed, and the index of a snapshot.

#include "serve/remote_table.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/thread_team.h"
#include "live/oracle_table.h"
#include "random_text.h"
#include "unit/cpu/one_piece.h"
#include "unit/serve/served_table.h"

using namespace warpmer;
using namespace warpmer::tests;
using index::test::read_bytes;
using serve::RemoteTable;

namespace {

/// Returns a batch of named records with some bases that are none, of a genome's parts.
io::Batch random_batch(std::mt19937_64& random, const std::string& genome, std::size_t records,
                       const std::string& others = "N") {
  io::Batch batch;
  batch.file = "reads.fa";
  for (std::size_t i = 0; i < records; ++i) {
    io::Piece piece;
    piece.record = i + 1;
    const std::string name = "read" + std::to_string(i);
    piece.name_offset = static_cast<std::uint32_t>(batch.text.size() + 1);
    piece.name_length = static_cast<std::uint32_t>(name.size());
    batch.text.append(">" + name + "\n");
    std::string bases = genome.substr(random() % (genome.size() / 2), random() % 120);
    if (!bases.empty() && random() % 3 == 0)
      bases[random() % bases.size()] = others[random() % others.size()];
    piece.offset = static_cast<std::uint32_t>(batch.text.size());
    piece.length = static_cast<std::uint32_t>(bases.size());
    batch.text.append(bases + "\n");
    batch.pieces.push_back(piece);
  }
  return batch;
}

/// Returns the kind and the sentence of an error, or "no error".
template <class Work>
std::string outcome(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.kind())) + error.what();
  }
  return "no error";
}

void check_same_answers(const backend::Lookup& remote, const backend::Lookup& local, const io::Batch& batch) {
  backend::Profile here, there;
  local.profile(batch, here);
  remote.profile(batch, there);
  CHECK(there.counts == here.counts);
  CHECK(there.wide == here.wide);
  CHECK(there.first == here.first);
  backend::BatchSummary summed_here, summed_there;
  local.summarise(batch, summed_here);
  remote.summarise(batch, summed_there);
  CHECK(summed_there.pieces == summed_here.pieces);
}

std::string index_of(backend::LiveTable& table, const KmerParams& kmers, const std::string& path,
                     unsigned threads) {
  index::IndexWriter writer(path, params_of(kmers.k, kmers.canonical), threads);
  const auto snapshot = table.snapshot();
  const backend::ShardSink sink(
      [&](std::uint32_t shard, index::FrozenShard&& frozen) { writer.put(shard, std::move(frozen)); });
  run_team(
      threads, [&](unsigned thread) { snapshot->finish(thread, sink, [] {}); }, [] {});
  index::Totals totals = snapshot->tally().totals();
  totals.records = snapshot->totals().records;
  totals.bases = snapshot->totals().bases;
  writer.finish(totals, snapshot->tally().histogram(), {});
  return read_bytes(path);
}

}  // namespace

TEST_CASE("answers are the table's own, and so are errors") {
  std::mt19937_64 random(3);
  for (const KmerParams kmers : {KmerParams{11, true}, KmerParams{9, false}, KmerParams{31, true}}) {
    OracleTable table(kmers);
    const ServedTable served(table, kmers);
    RemoteTable remote(served.path());
    CHECK(remote.kmers().k == kmers.k);
    CHECK(remote.kmers().canonical == kmers.canonical);
    const std::string genome = random_text(random, 2000);
    const io::Batch added = random_batch(random, genome, 300);
    CHECK(remote.add(added, false) == OracleTable(kmers).add(added, false));
    CHECK(remote.totals().records == 300);
    CHECK(remote.describe() == "a map");
    CHECK(remote.memory_bytes() == 4711);

    for (int i = 0; i < 20; ++i) {
      const io::Batch batch = random_batch(random, genome, random() % 50);
      check_same_answers(remote.lookup(false), table.lookup(false), batch);
      const io::Batch bad = random_batch(random, genome, 1 + random() % 20, "N!J");
      check_same_answers(remote.lookup(true), table.lookup(true), bad);
      backend::Profile profile;
      backend::BatchSummary summary;
      const std::string error = outcome([&] { table.lookup(false).profile(bad, profile); });
      CHECK(outcome([&] { remote.lookup(false).profile(bad, profile); }) == error);
      CHECK(outcome([&] { remote.lookup(false).summarise(bad, summary); }) == error);
      if (error != "no error") CHECK(outcome([&] { remote.add(bad, false); }) == error);
    }
    std::vector<std::string> texts(40000);
    for (std::string& text : texts) text = genome.substr(random() % 1900, kmers.k);
    const std::vector<std::string_view> asked(texts.begin(), texts.end());
    std::vector<std::uint64_t> here(asked.size()), there(asked.size());
    table.lookup(false).find_all(asked, here.data());
    remote.lookup(false).find_all(asked, there.data());
    CHECK(there == here);
    for (const std::string_view wrong : {"ACGT", "ACGTACGTACN"}) {
      CHECK(outcome([&] { static_cast<void>(remote.lookup(false).find(wrong)); }) ==
            outcome([&] { static_cast<void>(table.lookup(false).find(wrong)); }));
    }
  }
}

TEST_CASE("counts beyond 32 bits are exact, and a sequence may be longer than a request") {
  const KmerParams kmers{11, true};
  OracleTable table(kmers);
  std::mt19937_64 random(5);
  const std::string text = random_text(random, 2 * serve::kMostBases + 500, "ACGTACGTACGTN");
  const std::string known = "ACGTTGCATTA";
  table.set(known, (std::uint64_t{1} << 40) + 1);
  const ServedTable served(table, kmers);
  const RemoteTable remote(served.path());
  check_same_answers(remote.lookup(false), table.lookup(false), batch_of(text));
  check_same_answers(remote.lookup(false), table.lookup(false),
                     batch_of(text.substr(0, serve::kMostBases + 7) + known + text.substr(0, 100)));
  check_same_answers(remote.lookup(false), table.lookup(false), batch_of(known));
}

TEST_CASE("what is added and removed through it makes the same table, and the same index") {
  std::mt19937_64 random(8);
  for (const KmerParams kmers : {KmerParams{11, true}, KmerParams{21, false}, KmerParams{31, true}}) {
    OracleTable behind(kmers), local(kmers);
    ServedTable served(behind, kmers, {.threads = 3});
    RemoteTable remote(served.path());
    const std::string genome = random_text(random, 3000);
    for (int i = 0; i < 10; ++i) {
      const io::Batch batch = random_batch(random, genome, random() % 100);
      if (i % 3 < 2) {
        CHECK(remote.add(batch, false) == local.add(batch, false));
      } else {
        const backend::Removal here = local.remove(batch, false), there = remote.remove(batch, false);
        CHECK(there.kmers == here.kmers);
        CHECK(there.shortfall.absent_kmers == here.shortfall.absent_kmers);
        CHECK(there.shortfall.absent_occurrences == here.shortfall.absent_occurrences);
        CHECK(there.shortfall.short_kmers == here.shortfall.short_kmers);
        CHECK(there.shortfall.short_occurrences == here.shortfall.short_occurrences);
      }
      CHECK(remote.totals().records == local.totals().records);
      CHECK(remote.totals().bases == local.totals().bases);
      CHECK(remote.tally().histogram() == local.tally().histogram());
    }
    const auto path = [&](const char* name) { return served.scratch() / name; };
    const std::string expected = index_of(local, kmers, path("local.wmi"), 1);
    CHECK(index_of(remote, kmers, path("one.wmi"), 1) == expected);
    CHECK(index_of(remote, kmers, path("four.wmi"), 4) == expected);
  }
}

namespace {

/// Somebody adds to it as soon as its counts have been told.
class ChangingTable : public OracleTable {
 public:
  using OracleTable::OracleTable;
  [[nodiscard]] backend::LiveTally tally() override {
    backend::LiveTally before = OracleTable::tally();
    add(batch_of("ACGTTGCATTACC"), false);
    return before;
  }
};

}  // namespace

TEST_CASE("counts and the reads that they are of are those of one moment") {
  const KmerParams kmers{11, true};
  ChangingTable table(kmers);
  const ServedTable served(table, kmers);
  const RemoteTable remote(served.path());
  for (std::uint64_t reads = 0; reads < 3; ++reads) {
    const serve::TableContent content = remote.content();
    CHECK(content.totals.records == reads);
    CHECK(content.totals.bases == 13 * reads);
    CHECK(content.totals.counted_kmers == 3 * reads);
  }
}

TEST_CASE("a table without memory says so, and stays as it is") {
  const KmerParams kmers{11, true};
  OracleTable table(kmers);
  table.most_kmers = 500;
  const ServedTable served(table, kmers);
  RemoteTable remote(served.path());
  std::mt19937_64 random(2);
  remote.add(batch_of(random_text(random, 400)), false);
  const auto before = remote.tally().histogram();
  CHECK(outcome([&] { remote.add(batch_of(random_text(random, 400)), false); }) == "2a small map is full");
  CHECK(remote.tally().histogram() == before);
}

TEST_CASE("a table that may not change is asked, and no more") {
  const KmerParams kmers{11, true};
  OracleTable table(kmers);
  table.set("ACGTTGCATTA", 7);
  const ServedTable served(table, kmers, {.read_only = "it is not to be changed"});
  RemoteTable remote(served.path());
  CHECK(remote.lookup(false).find("TAATGCAACGT") == 7);
  CHECK(outcome([&] { remote.add(batch_of("ACGTTGCATTA"), false); }) == "1it is not to be changed");
  CHECK(outcome([&] { remote.remove(batch_of("ACGTTGCATTA"), false); }) == "1it is not to be changed");
  CHECK(outcome([&] { static_cast<void>(remote.snapshot()); }) == "1it is not to be changed");
  CHECK(remote.tally().histogram() == index::Histogram{{7, 1}});
}

TEST_CASE("many clients add and ask at once") {
  const KmerParams kmers{15, true};
  OracleTable behind(kmers), local(kmers);
  const ServedTable served(behind, kmers, {.threads = 4});
  std::mt19937_64 random(6);
  const std::string genome = random_text(random, 2000);
  std::vector<io::Batch> batches(32);
  for (io::Batch& batch : batches) batch = random_batch(random, genome, 20);
  for (const io::Batch& batch : batches) local.add(batch, false);
  run_team(
      16,
      [&](unsigned thread) {
        RemoteTable remote(served.path());
        for (std::size_t i = 2 * thread; i < 2 * thread + 2; ++i) {
          remote.add(batches[i], false);
          // What is done is seen.
          backend::Profile profile;
          remote.lookup(false).profile(batches[i], profile);
          for (const std::uint32_t count : profile.counts) CHECK(count > 0);
        }
      },
      [] {});
  CHECK(RemoteTable(served.path()).tally().histogram() == local.tally().histogram());
  CHECK(RemoteTable(served.path()).totals().bases == local.totals().bases);
}
