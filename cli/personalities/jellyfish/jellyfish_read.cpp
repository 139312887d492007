/// `jellyfish histo`, `dump`, `stats`: what is in a database.

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/framework/command_files.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/text_output.h"
#include "cli/personalities/jellyfish/jellyfish.h"

namespace warpmer::cli {
namespace {

using formats::CountedKmer;

/// The options that all of them have.
std::vector<OptionRow> common_rows(std::string& output) {
  using enum ValuePlace;
  return {taken("-o,--output", free, "output; standard output unless given", store_text(output)),
          ignored("-v,--verbose", none, "more to read on stderr")};
}

struct CountLimits {
  std::uint64_t lower = 0, upper = UINT64_MAX;

  [[nodiscard]] bool contain(std::uint64_t count) const { return count >= lower && count <= upper; }
};

std::vector<OptionRow> limit_rows(CountLimits& limits) {
  using enum ValuePlace;
  return {taken("-L,--lower-count", free, "leave out smaller counts", store_number(limits.lower)),
          taken("-U,--upper-count", free, "leave out larger counts", store_number(limits.upper))};
}

/// The rows of a histogram, of which there may be any number: no memory is taken for those of large counts
/// that do not occur.
class JellyfishRows {
 public:
  void add(std::uint64_t row) {
    if (row >= kDense) {
      ++others_[row];
      return;
    }
    ++dense_[row];
  }

  /// Prints a row for each number of k-mers, or for each up to `last` where `is_full`.
  void print(std::uint64_t base, std::uint64_t step, std::uint64_t last, bool is_full,
             TextOutput& output) const {
    const auto print_row = [&](std::uint64_t row, std::uint64_t kmers) {
      output.print("{} {}\n", base + row * step, kmers);
    };
    const std::uint64_t end = is_full ? std::min(last, kDense - 1) + 1 : kDense;
    for (std::uint64_t row = 0; row < end; ++row) {
      if (dense_[row] > 0 || is_full) print_row(row, dense_[row]);
    }
    std::uint64_t next = kDense;
    for (const auto& [row, kmers] : others_) {
      for (; is_full && next < row; ++next) print_row(next, 0);
      print_row(row, kmers);
      next = row + 1;
    }
    for (; is_full && next <= last && next != 0; ++next) print_row(next, 0);
  }

 private:
  static constexpr std::uint64_t kDense = std::uint64_t{1} << 16;

  std::vector<std::uint64_t> dense_ = std::vector<std::uint64_t>(kDense);
  std::map<std::uint64_t, std::uint64_t> others_;
};

}  // namespace

int run_jellyfish_histo(const JellyfishWords& command) {
  using enum ValuePlace;
  std::uint64_t low = 1, high = 10000, step = 1;
  bool is_full = false;
  std::string path = "-";
  OptionTable table{
      "jellyfish histo",
      joined(
          {{taken("-l,--low", free, "count of the first row; 1 unless given", store_number(low)),
            taken("-h,--high", free, "count of the last row but one; 10000 unless given", store_number(high)),
            taken("-i,--increment", free, "counts of a row; 1 unless given", store_number(step, 1)),
            taken("-f,--full", none, "rows of no k-mers, too", set_flag(is_full)),
            ignored("-t,--threads", free, "threads"), ignored("-s,--buffer-size", free, "bytes of a buffer")},
           common_rows(path)})};
  const auto arguments = jellyfish_arguments(command, std::move(table), "db", 1, 1);
  if (!arguments) return kDone;
  if (high < low) throw UsageError("jellyfish histo: --high is below --low");
  const std::uint64_t base = step >= low ? 0 : low - step;
  const std::uint64_t last = high > UINT64_MAX - step ? UINT64_MAX : high + step;
  check_files({path}, *arguments);
  const auto source = open_jellyfish(arguments->front());
  JellyfishRows rows;
  formats::for_each_kmer(*source, [&](const CountedKmer& each) {
    rows.add(each.count < base ? 0 : (std::min(each.count, last) - base) / step);
  });
  TextOutput output(path);
  rows.print(base, step, is_full ? (last - base) / step : 0, is_full, output);
  output.finish();
  return kDone;
}

int run_jellyfish_dump(const JellyfishWords& command) {
  using enum ValuePlace;
  CountLimits limits;
  bool is_columns = false, has_tab = false;
  std::string path = "-";
  OptionTable table{
      "jellyfish dump",
      joined({{taken("-c,--column", none, "a line KMER COUNT for each k-mer, no FASTA", set_flag(is_columns)),
               taken("-t,--tab", none, "a tab between the columns", set_flag(has_tab))},
              limit_rows(limits),
              common_rows(path)})};
  const auto arguments = jellyfish_arguments(command, std::move(table), "db", 1, 1);
  if (!arguments) return kDone;
  // The next dump may replace a dump, which is FASTA.
  check_files({path}, *arguments, is_columns ? Force::no_flag : Force::given);
  const auto source = open_jellyfish(arguments->front());
  const std::uint32_t k = source->facts().k;
  TextOutput output(path);
  constexpr std::size_t kDigits = 20, kMarks = 4;
  formats::for_each_kmer(*source, [&](const CountedKmer& each) {
    if (!limits.contain(each.count)) return;
    char* const begin = output.reserve(k + kKmerRoom + kDigits + kMarks);
    char* end = begin;
    const auto put_kmer = [&] {
      write_kmer(each.kmer, k, end);
      end += k;
    };
    const auto put_count = [&] { end = std::to_chars(end, end + kDigits, each.count).ptr; };
    if (is_columns) {
      put_kmer();
      *end++ = has_tab ? '\t' : ' ';
      put_count();
    } else {
      *end++ = '>';
      put_count();
      *end++ = '\n';
      put_kmer();
    }
    *end++ = '\n';
    output.commit(static_cast<std::size_t>(end - begin));
  });
  output.finish();
  return kDone;
}

int run_jellyfish_stats(const JellyfishWords& command) {
  CountLimits limits;
  std::string path = "-";
  OptionTable table{"jellyfish stats",
                    joined({limit_rows(limits),
                            common_rows(path),
                            {ignored("-r,--recompute", ValuePlace::none, "do not rely on what is known")}})};
  const auto arguments = jellyfish_arguments(command, std::move(table), "db", 1, 1);
  if (!arguments) return kDone;
  check_files({path}, *arguments);
  const auto source = open_jellyfish(arguments->front());
  std::uint64_t unique = 0, distinct = 0, total = 0, largest = 0;
  formats::for_each_kmer(*source, [&](const CountedKmer& each) {
    if (!limits.contain(each.count)) return;
    unique += each.count == 1 ? 1 : 0;
    total += each.count;
    largest = std::max(largest, each.count);
    ++distinct;
  });
  TextOutput output(path);
  output.print("Unique:    {}\nDistinct:  {}\nTotal:     {}\nMax_count: {}\n", unique, distinct, total,
               largest);
  output.finish();
  return kDone;
}

}  // namespace warpmer::cli
