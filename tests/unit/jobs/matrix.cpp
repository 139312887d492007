// Tables of k-mers and samples, and dumps, made by several threads, against maps.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "backend/indexes/entry_text.h"
#include "backend/indexes/index_set.h"
#include "cpu/sets/entry_sorter.h"
#include "file/output/ordered_text.h"
#include "jobs/matrix_job.h"
#include "kmer/kmer.h"
#include "kmer_index.h"
#include "tier.h"
#include "unit/index/index_file_common.h"

using namespace warpmer;
using namespace warpmer::backend;
using namespace warpmer::file;
using namespace warpmer::formats;
using namespace warpmer::jobs;
using index::test::ScratchFolder;

namespace {

/// By shard and hash, or key of its group, as in an index: a k-mer's text and its count in each sample.
template <class Key>
using Table = std::map<std::pair<std::uint32_t, Key>, std::pair<std::string, std::vector<std::uint64_t>>>;

/// Some k-mers are in many samples, most are in few.
template <class Key>
Table<Key> random_table(std::uint32_t k, std::size_t samples, std::size_t kmers, std::mt19937_64& random) {
  Table<Key> table;
  for (std::size_t i = 0; i < kmers; ++i) {
    const Key bits = static_cast<Key>((Key128{random()} << 64) | random()) & key_mask<Key>(k);
    const Key kmer = canonical(bits, k);
    std::string text(k, ' ');
    kmer_to_text(kmer, k, text.data());
    auto& [name, counts] = table[tests::place_of(kmer, tests::params_of(k, true))];
    name = text;
    counts.assign(samples, 0);
    const auto any_count = [&] { return 1 + random() % (random() % 9 == 0 ? 100000 : 3); };
    for (std::uint64_t& count : counts) count = random() % 3 == 0 ? any_count() : 0;
    counts[random() % samples] = any_count();
  }
  return table;
}

template <class Key>
void write_sample(const std::string& path, std::uint32_t k, const Table<Key>& table, std::size_t sample) {
  tests::KmerPlaces<Key> places;
  for (const auto& [place, row] : table) {
    if (row.second[sample] > 0) places[place] = row.second[sample];
  }
  tests::write_places(path, tests::params_of(k, true), places);
}

/// The rows of samples [0, end).
template <class Key>
std::string rows_of(const Table<Key>& table, std::size_t end) {
  std::string text;
  for (const auto& [place, row] : table) {
    if (std::all_of(row.second.begin(), row.second.begin() + static_cast<std::ptrdiff_t>(end),
                    [](std::uint64_t count) { return count == 0; }))
      continue;
    text += row.first;
    for (std::size_t i = 0; i < end; ++i) text += "\t" + std::to_string(row.second[i]);
    text += "\n";
  }
  return text;
}

std::string matrix_of(const MatrixOptions& options) {
  JobProgress progress;
  std::string text;
  write_matrix(options, progress, [&](std::string_view piece, const Progress&) { text += piece; });
  CHECK(progress.stage == JobProgress::Stage::done);
  CHECK(progress.shards_done == progress.shards_total);
  return text;
}

template <class Key>
void check_matrices(std::uint32_t k, std::size_t samples, std::size_t kmers) {
  std::mt19937_64 random(k);
  const Table<Key> table = random_table<Key>(k, samples, kmers, random);
  const ScratchFolder folder;
  MatrixOptions all;
  for (std::size_t i = 0; i < samples; ++i) {
    all.samples.push_back("s" + std::to_string(i));
    all.inputs.push_back(folder / all.samples.back());
    all.of_inputs.emplace_back();
    write_sample(all.inputs.back(), k, table, i);
  }
  MatrixFormat format;
  format.k = k;
  const std::string wanted = matrix_header(format, all.samples) + rows_of(table, samples);
  for (const unsigned threads : {1u, 4u}) {
    all.resources.threads = threads;
    CHECK(matrix_of(all) == wanted);
  }
  // Some of the samples, then the others.
  const std::size_t first = samples / 2;
  const std::string path = folder / "old.tsv";
  const std::vector<std::string> first_names(all.samples.begin(),
                                             all.samples.begin() + static_cast<std::ptrdiff_t>(first));
  index::test::write_bytes(path, matrix_header(format, first_names) + rows_of(table, first));
  MatrixFile old(path, 1);
  MatrixOptions rest = all;
  for (auto* names : {&rest.inputs, &rest.samples})
    names->erase(names->begin(), names->begin() + static_cast<std::ptrdiff_t>(first));
  rest.of_inputs.resize(samples - first);
  rest.old = &old;
  CHECK(matrix_of(rest) == wanted);
}

}  // namespace

TEST_CASE("a matrix is the same for any number of threads, and when its samples come one after the other") {
  const std::size_t kmers = tests::by_tier(20000, 3000);
  check_matrices<Key64>(9, 5, kmers);
  check_matrices<Key64>(31, 4, kmers);
  check_matrices<Key128>(45, 30, kmers / 10);
}

TEST_CASE("a dump is in the order of the index or of the alphabet, for any number of threads") {
  for (const std::uint32_t k : {5u, 32u}) {
    std::mt19937_64 random(k);
    const Table<Key64> table = random_table<Key64>(k, 1, tests::by_tier(600000, 20000), random);
    const ScratchFolder folder;
    write_sample(folder / "a.wmi", k, table, 0);
    std::vector<std::string> lines;
    for (const auto& [place, row] : table)
      lines.push_back(row.first + "\t" + std::to_string(row.second[0]) + "\n");
    const index::IndexFile index(folder / "a.wmi");
    for (const bool sorted : {false, true}) {
      if (sorted) std::sort(lines.begin(), lines.end());
      std::string wanted;
      for (const std::string& line : lines) wanted += line;
      for (const unsigned threads : {1u, 4u}) {
        std::string text;
        EntryTextPlan plan;
        plan.sorted = sorted;
        plan.resources.threads = threads;
        // Hardly more than what it is to begin with, so that sorting takes several passes.
        plan.resources.memory_bytes = working_bytes(threads) + OrderedText::memory_bytes(threads) +
                                      threads * cpu::EntrySorter<Key64>::kBytesOfOrderedBin +
                                      (std::uint64_t{3} << 20);
        write_entries(index, plan, [&](std::string_view piece, const Progress&) { text += piece; });
        CHECK(text == wanted);
      }
    }
  }
}
