/// `Histex`, `Tabex`, `Fastmerge`: what is in FastK's files.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/number_text.h"
#include "base/warning.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/command_files.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/text_output.h"
#include "cli/personalities/fastk/fastk_arguments.h"
#include "cli/personalities/named_jobs.h"
#include "cli/personalities/option_table.h"
#include "cli/personalities/personality.h"
#include "cli/personalities/programs.h"
#include "file/output/buffered_output.h"
#include "formats/fastk/fastk_histogram.h"
#include "formats/fastk/fastk_table.h"

namespace warpmer::cli {
namespace {

using formats::CountedKmer;
using formats::FastkHistogram;

/// Returns a path without its directory and its last ending.
std::string root_of(const std::string& path) { return std::filesystem::path(path).stem().string(); }

std::string with_ending(const std::string& path, std::string_view ending) {
  return path.ends_with(ending) ? path : path + std::string(ending);
}

struct HistexCall {
  bool is_of_instances = false, is_ascii = false, is_for_genescope = false;
  bool has_range = false;
  std::int64_t low = 1, high = 100;
};

/// `-h100` or `-h5:100`
void take_range(HistexCall& call, const GivenOption& given) {
  const std::string_view text = given.value;
  const std::size_t colon = text.find(':');
  const std::string_view last = colon == std::string_view::npos ? text : text.substr(colon + 1);
  const auto first =
      colon == std::string_view::npos ? std::optional<std::uint64_t>(1) : whole_number(text.substr(0, colon));
  const auto end = whole_number(last);
  constexpr std::uint64_t kMost = formats::kLargestFastkCount;
  if (!first || !end || *first < 1 || *first > kMost || *first > *end)
    throw UsageError(fmt::format("Histex: -h must have a range such as 100 or 5:100, not '{}'", text));
  call.low = static_cast<std::int64_t>(*first);
  call.high = static_cast<std::int64_t>(std::min(*end, kMost));
  call.has_range = true;
}

/// Rows of k-mers, or of their occurrences, from `low` to `high`; the first and the last are sums.
struct HistogramRows {
  std::int64_t low = 0;
  std::vector<std::int64_t> rows;
  std::int64_t last_instances = 0;

  [[nodiscard]] std::int64_t high() const { return low + static_cast<std::int64_t>(rows.size()) - 1; }
};

HistogramRows rows_of(const FastkHistogram& histogram, std::int64_t low, std::int64_t high,
                      bool is_of_instances) {
  HistogramRows result{low, std::vector<std::int64_t>(static_cast<std::size_t>(high - low + 1)), 0};
  const auto last_of_file = static_cast<std::int64_t>(histogram.high);
  for (std::size_t i = 0; i < histogram.kmers.size(); ++i) {
    const std::int64_t count = static_cast<std::int64_t>(histogram.low + i), kmers = histogram.kmers[i];
    std::int64_t instances = kmers * count;
    if (count == last_of_file) instances = histogram.high_instances;
    if (i == 0 && histogram.low > 1) instances = histogram.low_instances;
    const std::int64_t row = std::clamp(count, low, high);
    result.rows[static_cast<std::size_t>(row - low)] += is_of_instances ? instances : kmers;
    if (count >= high) result.last_instances += instances;
  }
  return result;
}

void print_table_of(const FastkHistogram& histogram, const HistogramRows& rows, const HistexCall& call,
                    const std::string& source, TextOutput& output) {
  const std::uint32_t k = histogram.k;
  const std::string what =
      call.is_of_instances ? fmt::format("{}-mer instances", k) : fmt::format("unique {}-mers", k);
  output.print("\nHistogram of {} of {}\n", what, root_of(source));
  std::int64_t total = 0;
  for (const std::int64_t row : rows.rows) total += row;
  output.print("\n  Input: {} {}\n", with_thousands(static_cast<std::uint64_t>(total)), what);
  if (total == 0) {
    output.print("\n     Empty\n");
    return;
  }
  output.print("\n     Freq:        Count   Cum. %\n");
  const auto share = [&](std::int64_t sum) {
    return 100.0 * static_cast<double>(sum) / static_cast<double>(total);
  };
  std::int64_t sum = rows.rows.back();
  if (sum > 0) output.print(" >= {:5}: {:12}   {:5.1f}%\n", rows.high(), sum, share(sum));
  for (std::int64_t count = rows.high() - 1; count > rows.low; --count) {
    const std::int64_t row = rows.rows[static_cast<std::size_t>(count - rows.low)];
    sum += row;
    if (row > 0) output.print("    {:5}: {:12}   {:5.1f}%\n", count, row, share(sum));
  }
  if (rows.high() > 1 && rows.rows.front() > 0)
    output.print("{}{:5}: {:12}   100.0%\n", rows.low == 1 ? "    " : " <= ", rows.low, rows.rows.front());
}

}  // namespace

int run_histex(const NamedCall& named) {
  using enum ValuePlace;
  HistexCall call;
  const OptionTable table{
      "Histex",
      {taken("-k", none, "how often k-mers occur, not how many there are", set_flag(call.is_of_instances)),
       taken("-A", none, "a count, a tab and its number a line", set_flag(call.is_ascii)),
       taken("-G", none, "as GeneScope.FK wants it", set_flag(call.is_for_genescope)),
       taken("-h", glued, "rows from 1, or LOW:, to this; 100 unless given",
             [&call](const GivenOption& given) { take_range(call, given); }),
       refused("-1", none, "1-code is not written")},
      true};
  const auto arguments = fastk_arguments(named, table, "SOURCE[.hist]", 1, 1);
  if (!arguments) return kDone;
  const std::string& source = arguments->front();
  if (call.is_for_genescope) {
    constexpr std::int64_t kLast = 1000;
    call.is_ascii = true;
    call.is_of_instances = false;
    call.low = 1;
    call.high = call.has_range ? std::max(call.high, kLast) : kLast;
    call.has_range = true;
  }
  const FastkHistogram histogram = formats::read_fastk_histogram(with_ending(source, ".hist"));
  const std::int64_t low = histogram.low, high = histogram.high;
  if (call.has_range && (call.low < low || call.high > high)) {
    throw UsageError(fmt::format(
        "Histex: the histogram has counts from {} to {}, and not all of the range wanted", low, high));
  }
  call.low = std::max(call.low, low);
  call.high = std::min(call.high, high);
  HistogramRows rows = rows_of(histogram, call.low, call.high, call.is_of_instances);
  TextOutput output("-");
  if (call.is_ascii) {
    if (call.is_for_genescope) rows.rows.back() = rows.last_instances / rows.high();
    for (std::int64_t count = rows.low; count <= rows.high(); ++count) {
      const std::int64_t row = rows.rows[static_cast<std::size_t>(count - rows.low)];
      if (row > 0) output.print("{}\t{}\n", count, row);
    }
  } else {
    print_table_of(histogram, rows, call, source, output);
  }
  output.finish();
  return kDone;
}

namespace {

/// A place in a table: the number of an entry, or the first bases of k-mers.
struct TableAddress {
  std::optional<std::uint64_t> number;
  Key128 first = 0, last = 0;  ///< k-mers with these bases
};

TableAddress address_of(const std::string& text, std::uint32_t k, std::uint64_t entries) {
  TableAddress address;
  if (!text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0) {
    address.number = whole_number(text);
    if (!address.number) throw UsageError(fmt::format("Tabex: '{}' is no number", text));
    if (*address.number >= entries)
      throw UsageError(fmt::format("Tabex: there is no entry {}; the table has {}", text, entries));
    return address;
  }
  if (text.size() > k || text.empty() || !kmer_from_text(text, address.first)) {
    throw UsageError(
        fmt::format("Tabex: '{}' is neither a number nor up to {} bases of a, c, g and t", text, k));
  }
  const auto rest = static_cast<std::uint32_t>(2 * (k - text.size()));
  address.last = rest == 0 ? address.first : (address.first << rest) | ((Key128{1} << rest) - 1);
  address.first <<= rest;
  return address;
}

constexpr std::size_t kMostDigits = 20, kRoomOfLine = kKmerRoom + 2 * kMostDigits + 16;

/// Writes a number with blanks before it, up to a width. Returns its end.
char* write_number(char* out, std::uint64_t number, std::ptrdiff_t width) {
  char digits[kMostDigits];
  const char* const end = std::to_chars(digits, digits + kMostDigits, number).ptr;
  for (std::ptrdiff_t blanks = width - (end - digits); blanks > 0; --blanks) *out++ = ' ';
  return std::copy(static_cast<const char*>(digits), end, out);
}

char* write_lower_case(char* out, Key128 kmer, std::uint32_t k) {
  constexpr char kToLower = 'a' - 'A';
  write_kmer(kmer, k, out);
  for (std::uint32_t i = 0; i < k; ++i) out[i] = static_cast<char>(out[i] | kToLower);
  return out + k;
}

/// Writes a k-mer, a tab and its count. Returns the end.
char* write_row(char* out, const CountedKmer& one, std::uint32_t k) {
  out = write_lower_case(out, one.kmer, k);
  *out++ = '\t';
  out = write_number(out, one.count, 0);
  *out++ = '\n';
  return out;
}

/// Writes an entry with its number. Returns the end.
char* write_entry(char* out, std::uint64_t number, const CountedKmer& one, std::uint32_t k) {
  constexpr std::string_view kBehindNumber = ": ", kBehindKmer = " = ";
  constexpr std::ptrdiff_t kNumberWidth = 9, kCountWidth = 5;
  *out++ = ' ';
  out = write_number(out, number, kNumberWidth);
  out = std::ranges::copy(kBehindNumber, out).out;
  out = write_lower_case(out, one.kmer, k);
  out = std::ranges::copy(kBehindKmer, out).out;
  out = write_number(out, one.count, kCountWidth);
  *out++ = '\n';
  return out;
}

/// True for the entries from one place to another.
bool is_within(const TableAddress& from, const TableAddress& to, std::uint64_t number, Key128 kmer) {
  const bool is_behind = from.number ? number >= *from.number : kmer >= from.first;
  return is_behind && (to.number ? number <= *to.number : kmer <= to.last);
}

}  // namespace

int run_tabex(const NamedCall& named) {
  using enum ValuePlace;
  bool is_ascii = false, checks = false;
  std::uint64_t least = 0;
  const OptionTable table{
      "Tabex",
      {taken("-A", none, "a k-mer, a tab and its count a line", set_flag(is_ascii)),
       taken("-C", none, "check that the table is sorted", set_flag(checks)),
       taken("-t", glued, "leave out k-mers that occur less often", store_number(least, 1)),
       refused("-1", none, "1-code is not written")},
      true};
  const auto arguments = fastk_arguments(named, table, "SOURCE[.ktab] [ADDRESS[-ADDRESS]]", 1, 2);
  if (!arguments) return kDone;
  if (checks && (is_ascii || least > 0)) throw UsageError("Tabex: -C goes with no other option");
  formats::FastkSource source(arguments->front());
  const formats::StreamFacts& facts = source.facts();
  TableAddress from{0, 0, 0}, to{UINT64_MAX, 0, 0};
  if (arguments->size() > 1) {
    const std::string& range = arguments->back();
    const std::size_t dash = range.find('-');
    from = address_of(range.substr(0, dash), facts.k, facts.distinct);
    const std::string last = dash == std::string::npos ? range : range.substr(dash + 1);
    if (!last.empty()) to = address_of(last, facts.k, facts.distinct);
  }
  TextOutput output("-");
  const auto begin = [&] {
    if (is_ascii || checks) return;
    output.print("Opening {}-mer table with {} entries", facts.k, with_thousands(facts.distinct));
    if (facts.min_count > 1) output.print(" occuring {}-or-more times", facts.min_count);
    output.print("\n");
  };
  std::uint64_t next = 0, found = 0;
  formats::for_each_kmer(source, [&](const CountedKmer& each) {
    const std::uint64_t number = next++;
    if (!is_within(from, to, number, each.kmer)) return;
    if (found++ == 0) begin();
    if (checks || each.count < least) return;
    char* const line = output.reserve(kRoomOfLine);
    char* const end = is_ascii ? write_row(line, each, facts.k) : write_entry(line, number, each, facts.k);
    output.commit(static_cast<std::size_t>(end - line));
  });
  if (found == 0) {
    output.print("\nNothing found in range given !\n");
  } else if (checks) {
    output.print("\nTable is OK\n");  // reading it has checked that
  }
  output.finish();
  return kDone;
}

namespace {

/// The next entry of each table.
class TableMerge {
 public:
  explicit TableMerge(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      tables_.push_back(std::make_unique<formats::FastkSource>(path));
      if (tables_.back()->facts().k != facts().k)
        throw UsageError("Fastmerge: the tables have k-mers of different lengths");
    }
    next_.resize(tables_.size());
    for (std::size_t i = 0; i < tables_.size(); ++i) advance(i);
  }

  [[nodiscard]] const formats::StreamFacts& facts() const { return tables_.front()->facts(); }
  [[nodiscard]] std::uint64_t min_count() const {
    std::uint64_t least = UINT64_MAX;
    for (const auto& table : tables_) least = std::min(least, table->facts().min_count);
    return least;
  }
  [[nodiscard]] std::uint64_t most_entries() const {
    std::uint64_t entries = 0;
    for (const auto& table : tables_) entries += table->facts().distinct;
    return entries;
  }

  /// Returns the sum of those of the last k-mer's counts that are exact.
  [[nodiscard]] std::uint64_t exact_part() const noexcept { return below_; }

  /// Returns the next k-mer with the sum of its counts; nothing at the end.
  std::optional<CountedKmer> next() {
    std::optional<CountedKmer> least;
    for (const auto& each : next_) {
      if (each && (!least || each->kmer < least->kmer)) least = CountedKmer{each->kmer, 0};
    }
    below_ = 0;
    for (std::size_t i = 0; least && i < next_.size(); ++i) {
      if (!next_[i] || next_[i]->kmer != least->kmer) continue;
      least->count += next_[i]->count;
      below_ += next_[i]->count < formats::kLargestFastkCount ? next_[i]->count : 0;
      advance(i);
    }
    return least;
  }

 private:
  void advance(std::size_t table) {
    CountedKmer one{};
    next_[table] = tables_[table]->read({&one, 1}) == 1 ? std::optional(one) : std::nullopt;
  }

  std::vector<std::unique_ptr<formats::FastkSource>> tables_;
  std::vector<std::optional<CountedKmer>> next_;
  std::uint64_t below_ = 0;
};

/// Returns the histogram beside a table.
std::string histogram_of(const std::string& source) {
  const std::string stub = formats::fastk_stub(source);
  return stub.substr(0, stub.rfind('.')) + ".hist";
}

void check_merged_files(const std::string& target, bool has_histogram, bool has_table,
                        const std::vector<std::string>& sources) {
  std::vector<std::string> outputs, inputs;
  if (has_histogram) outputs.push_back(target + ".hist");
  if (has_table) outputs.push_back(target + ".ktab");
  for (const std::string& source : sources)
    inputs.insert(inputs.end(), {formats::fastk_stub(source), histogram_of(source)});
  check_files(outputs, inputs);
}

/// Returns how often k-mers at the limit occur in the sources, of which only their histograms know.
std::int64_t high_instances_of(const std::vector<std::string>& sources) {
  std::int64_t instances = 0;
  std::error_code failed;
  for (const std::string& source : sources) {
    const std::string path = histogram_of(source);
    if (!std::filesystem::exists(path, failed)) {
      warn(fmt::format(
          "Fastmerge: there is no histogram {}; how often the most frequent k-mers occur is not known",
          path));
      return instances;
    }
    instances += formats::read_fastk_histogram(path).high_instances;
  }
  return instances;
}

}  // namespace

int run_fastmerge(const NamedCall& named) {
  using enum ValuePlace;
  bool has_histogram = false, has_table = false;
  std::uint32_t threads = formats::kFastkParts, parts = 1;
  const OptionTable options{"Fastmerge",
                            {taken("-h", none, "write TARGET.hist", set_flag(has_histogram)),
                             taken("-t", none, "write TARGET.ktab", set_flag(has_table)),
                             taken("-T", glued, "threads; the table has so many parts, 4 unless given",
                                   store_number(threads, 1, 1024)),
                             taken("-#", glued, "parts for each thread", store_number(parts, 1, 1024)),
                             ignored("-P", glued, "directory for temporary files"),
                             refused("-S", glued, "tables are not merged in slices")},
                            true};
  const auto arguments = fastk_arguments(named, options, "TARGET SOURCE SOURCE...", 3);
  if (!arguments) return kDone;
  if (!has_histogram && !has_table) throw UsageError("Fastmerge: at least one of -h and -t is needed");
  const std::string& target = arguments->front();
  if (target.ends_with(".hist") || target.ends_with(".ktab") || target.ends_with(".prof"))
    throw UsageError(fmt::format("Fastmerge: the target '{}' must have no ending", target));
  const std::vector<std::string> sources(arguments->begin() + 1, arguments->end());
  check_merged_files(target, has_histogram, has_table, sources);
  TableMerge merge(sources);
  formats::StreamFacts facts = merge.facts();
  facts.distinct = merge.most_entries();
  facts.min_count = merge.min_count();
  std::unique_ptr<formats::FastkSink> table;
  if (has_table) table = std::make_unique<formats::FastkSink>(target, facts, threads * parts);
  index::Histogram histogram;
  std::uint64_t capped = 0, capped_instances = 0;
  while (std::optional<CountedKmer> kmer = merge.next()) {
    if (kmer->count > formats::kLargestFastkCount) {
      ++capped;
      capped_instances += merge.exact_part();
      kmer->count = formats::kLargestFastkCount;
    }
    ++histogram[kmer->count];
    if (table) table->write({&*kmer, 1});
  }
  warn_of_capped(capped, formats::kLargestFastkCount, target);
  if (table) table->finish();
  if (has_histogram) {
    file::BufferedOutput output(target + ".hist");
    FastkHistogram merged = formats::fastk_histogram_of(facts.k, histogram);
    merged.high_instances = static_cast<std::int64_t>(capped_instances) + high_instances_of(sources);
    output.write(formats::encoded(merged));
    output.finish();
  }
  return kDone;
}

}  // namespace warpmer::cli
