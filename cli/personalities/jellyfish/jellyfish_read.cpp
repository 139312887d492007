/// `jellyfish histo`, `dump`, `stats`, `info`: what is in a database.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
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

}  // namespace

int run_jellyfish_histo(const JellyfishWords& command) {
  using enum ValuePlace;
  std::uint64_t low = 1, high = 10000, step = 1;
  bool is_full = false;
  std::string path = "-";
  const OptionTable table{
      "jellyfish histo",
      joined(
          {{taken("-l,--low", free, "count of the first row; 1 unless given", store_number(low)),
            taken("-h,--high", free, "count of the last row but one; 10000 unless given", store_number(high)),
            taken("-i,--increment", free, "counts of a row; 1 unless given", store_number(step, 1)),
            taken("-f,--full", none, "rows of no k-mers, too", set_flag(is_full)),
            ignored("-t,--threads", free, "threads"), ignored("-s,--buffer-size", free, "bytes of a buffer")},
           common_rows(path)}),
      true};
  const auto arguments = jellyfish_arguments(command, table, "db", 1, 1);
  if (!arguments) return kDone;
  if (high < low) throw UsageError("jellyfish histo: --high is below --low");
  constexpr std::uint64_t kMostRows = std::uint64_t{1} << 28;
  const std::uint64_t base = step >= low ? 0 : low - step, last = high + step;
  const std::uint64_t rows = (last + step - base) / step;
  if (last < high || rows > kMostRows) throw UsageError("jellyfish histo: too many rows; lower --high");
  const auto source = open_jellyfish(arguments->front());
  std::vector<std::uint64_t> kmers(rows);
  formats::for_each_kmer(*source, [&](const CountedKmer& each) {
    const std::uint64_t row = each.count < base   ? 0
                              : each.count > last ? rows - 1
                                                  : (each.count - base) / step;
    ++kmers[row];
  });
  TextOutput output(path);
  for (std::uint64_t i = 0; i < rows; ++i) {
    if (kmers[i] > 0 || is_full) output.print("{} {}\n", base + i * step, kmers[i]);
  }
  output.finish();
  return kDone;
}

int run_jellyfish_dump(const JellyfishWords& command) {
  using enum ValuePlace;
  CountLimits limits;
  bool is_columns = false, has_tab = false;
  std::string path = "-";
  const OptionTable table{
      "jellyfish dump",
      joined({{taken("-c,--column", none, "a line KMER COUNT for each k-mer, no FASTA", set_flag(is_columns)),
               taken("-t,--tab", none, "a tab between the columns", set_flag(has_tab))},
              limit_rows(limits),
              common_rows(path)}),
      true};
  const auto arguments = jellyfish_arguments(command, table, "db", 1, 1);
  if (!arguments) return kDone;
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
  const OptionTable table{
      "jellyfish stats",
      joined({limit_rows(limits),
              common_rows(path),
              {ignored("-r,--recompute", ValuePlace::none, "do not rely on what is known")}}),
      true};
  const auto arguments = jellyfish_arguments(command, table, "db", 1, 1);
  if (!arguments) return kDone;
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

namespace {

/// Returns a word as a shell would read it, with quotes only where they are needed.
std::string quoted_word(const std::string& word) {
  constexpr std::string_view kBlunt =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+-./:=@_";
  if (word.find_first_not_of(kBlunt) == std::string::npos) return word;
  std::string text(1, '\'');
  for (const char each : word) {
    if (each == '\'') {
      text += "'\\''";
    } else {
      text += each;
    }
  }
  text += '\'';
  return text;
}

std::string text_of(const nlohmann::json& header, const char* name) {
  const auto field = header.find(name);
  return field != header.end() && field->is_string() ? field->get<std::string>() : std::string();
}

std::string command_of(const nlohmann::json& header) {
  std::string text = text_of(header, "exe_path");
  const auto words = header.find("cmdline");
  if (words == header.end() || !words->is_array()) return text;
  for (const auto& word : *words) {
    text += ' ';
    if (word.is_string()) text += quoted_word(word.get<std::string>());
  }
  return text;
}

std::string info_of(const nlohmann::json& header) {
  const std::string host = text_of(header, "hostname");
  const bool is_canonical = header.value("canonical", nlohmann::json(false)) == nlohmann::json(true);
  return fmt::format("command: {}\nwhere: {}{}{}\nwhen: {}\ncanonical: {}\n", command_of(header),
                     quoted_word(host), host.empty() ? "" : ":", quoted_word(text_of(header, "pwd")),
                     text_of(header, "time"), is_canonical ? "yes" : "no");
}

}  // namespace

int run_jellyfish_info(const JellyfishWords& command) {
  using enum ValuePlace;
  bool skips = false, is_json = false, is_command = false;
  const OptionTable table{"jellyfish info",
                          {taken("-s,--skip", none, "print all that is behind the header", set_flag(skips)),
                           taken("-j,--json", none, "print the header, as JSON", set_flag(is_json)),
                           taken("-c,--cmd", none, "print the command line only", set_flag(is_command))},
                          true};
  const auto arguments = jellyfish_arguments(command, table, "file", 1, 1);
  if (!arguments) return kDone;
  if (skips + is_json + is_command > 1) throw UsageError("jellyfish info: -s, -j and -c exclude each other");
  const file::MappedInput file(arguments->front(), formats::kJellyfishMarkBytes, formats::check_is_jellyfish);
  const std::uint64_t begin = formats::read_jellyfish_header(file, {}).bytes;
  TextOutput output("-");
  if (skips) {
    const auto rest = file.bytes().subspan(begin);
    output.write({reinterpret_cast<const char*>(rest.data()), rest.size()});
  } else {
    const auto header = nlohmann::json::parse(formats::jellyfish_json(file));
    output.write(is_json ? header.dump(3) + "\n" : is_command ? command_of(header) + "\n" : info_of(header));
  }
  output.finish();
  return kDone;
}

}  // namespace warpmer::cli
