// Which m for which k: bytes of super-k-mer words per k-mer, and how even the shards come out.
//
//   zcat reads.fq.gz | minimizer_choice [K...]
//
// Reads FASTA or FASTQ text (only lines of plain bases are used, adjacent FASTA lines are joined) and
// prints, for each k and candidate m: k-mers per super-k-mer, bytes per k-mer with 16- and 32-byte
// words (words too short for a maximal super-k-mer are cut, as counting does), and the largest of
// 4096 shards over the mean, in k-mers and in super-k-mers.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <string>
#include <vector>

#include "kmer/minimizer.h"
#include "kmer/super_kmer.h"

namespace {

using namespace warpmer;

constexpr std::uint32_t kBits = 12;

std::vector<std::string> read_stretches() {
  std::vector<std::string> stretches(1);
  std::string line;
  bool fastq = false;
  for (std::size_t number = 0; std::getline(std::cin, line); ++number) {
    if (number == 0) fastq = line[0] == '@';
    if (fastq ? number % 4 != 1 : line[0] == '>') {
      if (!stretches.back().empty()) stretches.emplace_back();
      continue;
    }
    for (const char c : line) {
      if (char_class(c) == CharClass::base) {
        stretches.back() += static_cast<char>(base_code(c));
      } else if (!stretches.back().empty()) {
        stretches.emplace_back();
      }
    }
  }
  return stretches;
}

/// Minimizer hash of every k-mer of a stretch, by a monotone queue.
std::vector<std::uint32_t> minimizers(const std::string& codes, std::uint32_t k, std::uint32_t m) {
  std::vector<std::uint32_t> result;
  if (codes.size() < k) return result;
  const std::uint64_t mask = key_mask<Key64>(m);
  const std::size_t window = k - m + 1;
  std::uint64_t value = 0;
  std::deque<std::pair<std::uint32_t, std::size_t>> queue;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    value = (value >> 2) | (static_cast<std::uint64_t>(codes[i]) << (2 * (m - 1)));
    if (i + 1 < m) continue;
    const std::size_t at = i + 1 - m;
    const auto hash = minimizer_hash(canonical_mmer(static_cast<std::uint32_t>(value & mask), m));
    while (!queue.empty() && queue.back().first >= hash) queue.pop_back();
    queue.emplace_back(hash, at);
    if (queue.front().second + window <= at) queue.pop_front();
    if (i + 1 >= k) result.push_back(queue.front().first);
  }
  return result;
}

void report(const std::vector<std::string>& stretches, std::uint32_t k, std::uint32_t m) {
  std::vector<std::uint64_t> shard_kmers(1u << kBits), shard_supers(1u << kBits);
  std::uint64_t kmers = 0, supers = 0, words16 = 0, words32 = 0;
  for (const auto& codes : stretches) {
    const auto mins = minimizers(codes, k, m);
    for (std::size_t i = 0, end; i < mins.size(); i = end) {
      for (end = i + 1; end < mins.size() && mins[end] == mins[i];) ++end;
      const std::uint64_t n = end - i;
      const auto words = [&](std::uint32_t fit) { return fit == 0 ? 0 : (n + fit - 1) / fit; };
      words16 += k <= SuperKmer<2>::kMaxBases ? words(max_kmers_per_word<2>(k)) : 0;
      words32 += words(max_kmers_per_word<4>(k));
      ++supers;
      kmers += n;
      shard_kmers[shard_of(mins[i], m, kBits)] += n;
      shard_supers[shard_of(mins[i], m, kBits)] += 1;
    }
  }
  const auto over_mean = [](const std::vector<std::uint64_t>& shards, std::uint64_t total) {
    return static_cast<double>(*std::max_element(shards.begin(), shards.end())) * (1u << kBits) /
           static_cast<double>(total);
  };
  const auto n = static_cast<double>(kmers);
  std::printf("%u\t%u\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\n", k, m, n / static_cast<double>(supers),
              16.0 * static_cast<double>(words16) / n, 32.0 * static_cast<double>(words32) / n,
              over_mean(shard_kmers, kmers), over_mean(shard_supers, supers));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::uint32_t> ks;
  for (int i = 1; i < argc; ++i) ks.push_back(static_cast<std::uint32_t>(std::atoi(argv[i])));
  if (ks.empty()) ks = {13, 15, 17, 19, 21, 25, 27, 31, 32, 33, 41, 45, 51, 55, 64};
  const auto stretches = read_stretches();
  std::puts("k\tm\tk-mers/super\tB/k-mer (16)\tB/k-mer (32)\tmax/mean k-mers\tmax/mean supers");
  for (const auto k : ks) {
    for (const std::uint32_t m : {7u, 8u, 9u, 10u, 11u, 12u, 13u, 14u, 15u}) {
      if (m <= k && k <= kMaxK) report(stretches, k, m);
    }
  }
}
