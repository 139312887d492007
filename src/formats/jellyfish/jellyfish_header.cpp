#include "formats/jellyfish/jellyfish_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "file/input_error.h"
#include "formats/jellyfish/jellyfish_order.h"

namespace warpmer::formats {
namespace {

using Json = nlohmann::json;

constexpr const char* kCommandLine = "cmdline";
/// Ours alone: Jellyfish has only the command line to tell of them, and reads over other fields.
constexpr const char *kMinCount = "min_count", *kMaxCount = "max_count";
constexpr int kBloomRows = 64;
constexpr std::size_t kLengthDigits = 9;
static_assert(kJellyfishMarkBytes == kLengthDigits + 1);
constexpr std::size_t kAlignment = 8;
/// Jellyfish's have some kilobytes, and the command line, which the system limits to 2 MB.
constexpr std::size_t kLongestHeader = std::size_t{4} << 20;

/// Returns the offsets at which Jellyfish tries next for a k-mer whose slot is taken: its own default, which
/// programs that load databases into a hash of theirs expect, and `merge` compares.
Json reprobes(bool is_lexicographic) {
  constexpr unsigned kMaxReprobe = 126;
  if (is_lexicographic) return {1};  // each k-mer has a slot of its own
  Json offsets = {1};
  for (unsigned i = 1; i <= kMaxReprobe; ++i) offsets.push_back(i * (i + 1) / 2);
  return offsets;
}

/// Returns the columns that the order multiplies k-mers with: that of the highest bit first.
Json matrix_of(const JellyfishOrder<Key128>& order, std::uint32_t key_bits) {
  if (order.is_lexicographic()) return {{"r", key_bits}, {"c", key_bits}, {"identity", true}};
  Json columns = Json::array();
  for (std::uint32_t bit = key_bits; bit-- > 0;) columns.push_back(order.position(Key128{1} << bit));
  return {{"r", order.position_bits()}, {"c", key_bits}, {"identity", false}, {"columns", columns}};
}

/// Returns the length of the header that a file begins with, or 0 where it does not.
std::size_t header_bytes(std::string_view start) {
  std::size_t length = 0;
  const char* const end = start.data() + std::min(start.size(), kLengthDigits);
  const auto [stop, error] = std::from_chars(start.data(), end, length);
  const bool is_one = error == std::errc{} && stop == start.data() + kLengthDigits &&
                      start.size() > kLengthDigits && start[kLengthDigits] == '{';
  return is_one ? length : 0;
}

/// Parses what a header says of records and lines, and nothing else: a list of numbers would take forty times
/// the memory of its text. Returns a discarded value for what is no JSON.
Json parse_header(std::string_view text) {
  constexpr std::string_view kWanted[] = {"format", "key_len",    "counter_len", "canonical",
                                          "size",   kCommandLine, kMinCount,     kMaxCount};
  using Event = Json::parse_event_t;
  const auto is_wanted = [&](int depth, Event event, const Json& parsed) {
    if (event == Event::key)
      return std::ranges::find(kWanted, parsed.get_ref<const std::string&>()) != std::end(kWanted);
    const bool is_list = event == Event::array_start || event == Event::array_end;
    return depth == 0 || event == Event::value || (depth == 1 && is_list);
  };
  return Json::parse(text, is_wanted, false);
}

/// Returns the value of an option as Jellyfish takes it, in any of four forms: -L 2, -L2, --lower-count 2,
/// --lower-count=2.
std::optional<std::uint64_t> option_in(const std::vector<std::string>& words, std::string_view letter,
                                       std::string_view name) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view value = words[i];
    if (value == letter || value == name) {
      value = i + 1 < words.size() ? words[i + 1] : std::string_view();
    } else if (value.starts_with(letter)) {
      value.remove_prefix(letter.size());
    } else if (value.starts_with(name) && value[name.size()] == '=') {
      value.remove_prefix(name.size() + 1);
    } else {
      continue;
    }
    std::uint64_t number = 0;
    const char* const end = value.data() + value.size();
    if (std::from_chars(value.data(), end, number).ptr == end && !value.empty()) return number;
  }
  return std::nullopt;
}

/// Notes which k-mers were left out: as we write it, or as Jellyfish was told when it counted or merged.
void note_bounds(const Json& fields, StreamFacts& facts) {
  const auto note = [&](const char* name, std::uint64_t& bound) {
    const auto field = fields.find(name);
    if (field != fields.end() && field->is_number_unsigned()) bound = field->get<std::uint64_t>();
  };
  note(kMinCount, facts.min_count);
  note(kMaxCount, facts.max_count);
  std::vector<std::string> words;
  for (const Json& word : fields.value(kCommandLine, Json::array())) {
    if (word.is_string()) words.push_back(word);
  }
  if (!words.empty() && (words[0] == "count" || words[0] == "merge")) {
    facts.min_count = option_in(words, "-L", "--lower-count").value_or(facts.min_count);
    facts.max_count = option_in(words, "-U", "--upper-count").value_or(facts.max_count);
  }
  facts.min_count = std::max<std::uint64_t>(facts.min_count, 1);
}

std::string format_fault(const std::string& format, std::string_view wanted) {
  if (format == "text/sorted") {
    return "a text database (jellyfish count --text); make a table of it with 'jellyfish dump -c', and "
           "convert that";
  }
  if (format == kJellyfishBloom) return "a Bloom counter (jellyfish bc), which holds no k-mers";
  return fmt::format("of Jellyfish's format {}, not {}", file::quoted(format), wanted);
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Returns the JSON of a header, and its bytes with all before and behind it.
std::pair<std::string_view, std::uint64_t> header_in(const file::MappedInput& file) {
  const std::string_view text = text_of(file.bytes());
  const std::size_t length = header_bytes(text);
  if (length == 0)
    file.refuse("no Jellyfish database: it does not begin with the length of a header, and a header");
  if (text.size() - kLengthDigits < length) file.refuse("this Jellyfish database is cut off in its header");
  if (length > kLongestHeader) {
    file.refuse(
        fmt::format("a header of {} bytes, and those of Jellyfish have up to {}: this database is damaged",
                    length, kLongestHeader));
  }
  const std::string_view header = text.substr(kLengthDigits, length);
  return {header.substr(0, header.find_last_not_of('\0') + 1), kLengthDigits + length};
}

/// Returns the header of these fields, and of those that say who made the file.
std::string sealed(Json fields, const JellyfishCall& made_by) {
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) fields[name] = value;
  };
  add("exe_path", made_by.program);
  add("hostname", made_by.host);
  add("pwd", made_by.directory);
  add("time", made_by.time);
  // What is no UTF-8 (names of files may be) is replaced.
  std::string header = fields.dump(-1, ' ', false, Json::error_handler_t::replace);
  header.resize((kLengthDigits + header.size() + kAlignment - 1) / kAlignment * kAlignment - kLengthDigits);
  return fmt::format("{:0{}}", header.size(), kLengthDigits) + header;
}

}  // namespace

void check_is_jellyfish(std::span<const std::byte> start, const std::string& name) {
  if (header_bytes(text_of(start)) == 0) throw InputError(fmt::format("{}: no Jellyfish database", name));
}

std::string_view jellyfish_json(const file::MappedInput& file) { return header_in(file).first; }

JellyfishHeader read_jellyfish_header(const file::MappedInput& file, std::string_view wanted) {
  const auto [text, bytes] = header_in(file);
  const Json fields = parse_header(text);
  if (fields.is_discarded()) file.refuse("this Jellyfish database is damaged: its header is no JSON");
  const auto number = [&](const char* name, std::uint64_t most) {
    const auto field = fields.find(name);
    if (field == fields.end() || !field->is_number_unsigned() || field->get<std::uint64_t>() < 1 ||
        field->get<std::uint64_t>() > most) {
      file.refuse(
          fmt::format("this Jellyfish database is damaged: its header has no '{}' from 1 to {}", name, most));
    }
    return field->get<std::uint32_t>();
  };
  JellyfishHeader header;
  StreamFacts& facts = header.facts;
  header.bytes = bytes;
  const auto format = fields.find("format");
  if (format == fields.end() || !format->is_string())
    file.refuse("this Jellyfish database is damaged: its header has no 'format'");
  header.format = format->get<std::string>();
  if (!wanted.empty() && header.format != wanted) file.refuse(format_fault(header.format, wanted));
  const std::uint32_t key_bits = number("key_len", UINT32_MAX);
  if (key_bits % 2 != 0)
    file.refuse(fmt::format("this Jellyfish database is damaged: 'key_len' is {}", key_bits));
  facts.k = key_bits / 2;
  if (facts.k > kMaxK) file.refuse(fmt::format("k-mers of {} bases; warpmer's have 1 to {}", facts.k, kMaxK));
  if (header.format == kJellyfishBinary) header.count_bytes = number("counter_len", kMostJellyfishCountBytes);
  const auto is_canonical = fields.find("canonical");
  facts.canonical = is_canonical != fields.end() && is_canonical->is_boolean() && is_canonical->get<bool>();
  const auto size = fields.find("size");
  if (size != fields.end() && size->is_number_unsigned()) header.size = size->get<std::uint64_t>();
  note_bounds(fields, facts);
  return header;
}

std::string jellyfish_header(const StreamFacts& facts, std::uint32_t position_bits, std::uint32_t count_bytes,
                             std::string_view format, const JellyfishCall& made_by) {
  const std::uint32_t bits = 2 * facts.k;
  const JellyfishOrder<Key128> order(facts.k, position_bits);
  const Json steps = reprobes(order.is_lexicographic());
  Json fields = {
      {"alignment", kAlignment},
      {"canonical", facts.canonical},
      {"cmdline", made_by.command_line},
      {"format", format},
      {"key_len", bits},
      {"matrix1", matrix_of(order, bits)},
      {"max_reprobe", steps.size() - 1},
      {"reprobes", steps},
      {"size", std::uint64_t{1} << order.position_bits()},
      // Bits of a count in memory: Jellyfish's default, and one that it then has left of a step.
      {"val_len", order.is_lexicographic() ? 8 : 7},
  };
  if (format == kJellyfishBinary) fields["counter_len"] = count_bytes;
  if (facts.min_count > 1) fields[kMinCount] = facts.min_count;
  if (facts.max_count != UINT64_MAX) fields[kMaxCount] = facts.max_count;
  return sealed(std::move(fields), made_by);
}

JellyfishBloomHeader read_jellyfish_bloom_header(const file::MappedInput& file) {
  const auto [text, bytes] = header_in(file);
  JellyfishBloomHeader header;
  header.bytes = bytes;
  try {
    const Json fields = Json::parse(text);
    if (fields.at("format") != kJellyfishBloom) file.refuse("no Bloom counter of 'jellyfish bc'");
    const std::uint64_t key_bits = fields.at("key_len");
    if (key_bits % 2 != 0 || key_bits < 2 || key_bits > 2 * kMaxK) {
      file.refuse(fmt::format("this Bloom counter's k-mers have {} bits; warpmer's have 2 to {}", key_bits,
                              2 * kMaxK));
    }
    header.k = static_cast<std::uint32_t>(key_bits / 2);
    header.canonical = fields.value("canonical", false);
    fields.at("size").get_to(header.digits);
    fields.at("nb_hashes").get_to(header.hashes);
    for (std::size_t i = 0; i < 2; ++i) {
      fields.at(fmt::format("matrix{}", i + 1)).at("columns").get_to(header.columns[i]);
      if (header.columns[i].size() != key_bits)
        file.refuse("this Bloom counter is damaged: a matrix has other columns");
    }
  } catch (const Json::exception&) {
    file.refuse("this Bloom counter is damaged: its header is not as 'jellyfish bc' writes it");
  }
  if (header.digits == 0 || header.hashes == 0)
    file.refuse("this Bloom counter is damaged: it has no digits");
  return header;
}

std::string jellyfish_bloom_header(const JellyfishBloomHeader& header, const JellyfishCall& made_by) {
  const std::uint32_t bits = 2 * header.k;
  const auto matrix = [bits](const std::vector<std::uint64_t>& columns) {
    return Json{{"r", kBloomRows}, {"c", bits}, {"identity", false}, {"columns", columns}};
  };
  return sealed({{"alignment", kAlignment},
                 {"canonical", header.canonical},
                 {"cmdline", made_by.command_line},
                 {"format", kJellyfishBloom},
                 {"key_len", bits},
                 {"matrix1", matrix(header.columns[0])},
                 {"matrix2", matrix(header.columns[1])},
                 {"nb_hashes", header.hashes},
                 {"size", header.digits}},
                made_by);
}

}  // namespace warpmer::formats
