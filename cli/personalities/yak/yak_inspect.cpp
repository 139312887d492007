/// `yak inspect`: the histogram of a file; of two, which share of the k-mers of each the other has.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/lookup/lookup.h"
#include "base/error.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/text_output.h"
#include "cli/personalities/named_jobs.h"
#include "cli/personalities/option_table.h"
#include "cli/personalities/personality.h"
#include "cli/personalities/yak/yak.h"
#include "formats/yak_file.h"
#include "jobs/temporary_index.h"

namespace warpmer::cli {
namespace {

void print_histogram(const std::string& path) {
  formats::YakSource source(path);
  std::array<std::uint64_t, kYakCounts> kmers{};
  formats::for_each_kmer(source, [&](const formats::CountedKmer& each) { ++kmers.at(each.count); });
  TextOutput output("-");
  std::uint64_t sum = 0;
  for (std::size_t count = kmers.size(); count-- > 0;) {
    sum += kmers.at(count);
    if (sum > 0) output.print("HS\t{}\t0\t{}\t{}\n", count, kmers.at(count), sum);
  }
  output.finish();
}

/// Numbers of k-mers by their count in a first file, and in a second, 0 where they are not there.
using YakTable = std::vector<YakRow>;

YakTable table_of(formats::KmerSource& first, const backend::Lookup& second) {
  const std::uint32_t k = first.facts().k;
  YakTable table(kYakCounts);
  constexpr std::size_t kKmersAtATime = 4096;
  std::vector<formats::CountedKmer> kmers(kKmersAtATime);
  while (const std::size_t n = first.read(kmers)) {
    const std::vector<std::uint64_t> counts = counts_in(second, std::span(kmers).first(n), k);
    for (std::size_t i = 0; i < n; ++i) table.at(kmers[i].count).at(counts[i]) += 1;
  }
  return table;
}

/// Prints which share of the first file's k-mers, of those with a count or more, the second one has once,
/// twice and so on.
void print_sensitivity(const YakTable& table, const YakRow& of_second, std::size_t most_count,
                       TextOutput& output) {
  YakRow found{};  // of the k-mers so far: so many have the count or more in the second
  double all = 0;
  for (std::size_t count = kYakCounts; count-- > 0;) {
    double kmers = 0, at_least = 0;
    for (std::size_t other = kYakCounts; other-- > 0;) {
      kmers += table[count][other];
      at_least += table[count][other];
      if (other > 0) found[other] += at_least;
    }
    all += kmers;
    if (kmers == 0) continue;
    output.print("SN\t{}\t{:.0f}\t{:.0f}", count, kmers, of_second[count]);
    for (std::size_t other = 1; other <= most_count; ++other) output.print("\t{:.4f}", found[other] / all);
    output.write("\n");
  }
}

/// Prints how good the first file's k-mers are, of those with a count or more, by the second one's.
void print_qualities(const YakTable& table, const YakRow& of_second, std::size_t most_count, double k,
                     TextOutput& output) {
  std::vector<YakRow> sums(most_count + 1);
  YakRow sum{};
  for (std::size_t count = kYakCounts; count-- > 0;) {
    for (std::size_t other = 0; other < kYakCounts; ++other) sum[other] += table[count][other];
    if (count <= most_count) sums[count] = sum;
  }
  for (std::size_t count = most_count; count > 0; --count) {
    if (std::ranges::all_of(table[count], [](double kmers) { return kmers == 0; })) continue;
    double all = 0;
    for (const double kmers : sums[count]) all += kmers;
    const YakQuality quality = yak_quality(of_second, sums[count], k);
    output.print("QV\t{}\t{:.0f}\t{:.0f}\t{:.3f}\t{:.3f}\n", count, all, sums[count][0], quality.raw,
                 quality.adjusted);
  }
}

void compare(const std::vector<std::string>& files, std::size_t most_count,
             const index::Provenance& provenance) {
  formats::YakSource first(files[0]);
  const jobs::TemporaryIndex temporary(folder_for_temporary("-"));
  {
    formats::YakSource second(files[1]);
    if (second.facts().k != first.facts().k) {
      throw UsageError(fmt::format("yak inspect: {} has {}-mers, and {} has {}-mers", files[0],
                                   first.facts().k, files[1], second.facts().k));
    }
    import_into(second, files[1], host::settled(named_resources()), provenance, temporary);
  }
  const index::IndexFile index(temporary.path());
  const YakRow of_second = yak_row(index);
  const YakTable table = table_of(first, *backend::make_cpu_lookup(index));
  TextOutput output("-");
  print_sensitivity(table, of_second, most_count, output);
  print_qualities(table, of_second, most_count, first.facts().k, output);
  output.finish();
}

}  // namespace

int run_yak_inspect(const std::vector<std::string>& words, const index::Provenance& provenance) {
  std::uint64_t most_count = 20;
  const OptionTable table{"yak inspect",
                          {taken("-m", ValuePlace::free, "largest count, of two files; 20 unless given",
                                 store_number(most_count, 1, formats::kLargestYakCount))},
                          true};
  if (wants_help(words)) {
    print_on_standard_output(help_text(table, "<in1.yak> [in2.yak]"));
    return words.empty() ? kUsageError : kDone;
  }
  const std::vector<std::string> files = take_all_options(table, words);
  if (files.empty() || files.size() > 2) throw UsageError("yak inspect: it takes one file, or two");
  if (files.size() == 1) {
    print_histogram(files.front());
  } else {
    compare(files, most_count, provenance);
  }
  return kDone;
}

}  // namespace warpmer::cli
