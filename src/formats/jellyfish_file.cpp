#include "formats/jellyfish_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "file/input_error.h"
#include "formats/count_width.h"
#include "formats/jellyfish_order.h"

namespace warpmer::formats {
namespace {

using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little,
              "keys and counts are read and written as they are in memory");

constexpr std::string_view kFormat = "binary/sorted";
constexpr std::size_t kLengthDigits = 9;
constexpr std::size_t kAlignment = 8;
/// Jellyfish's have some kilobytes, and the command line, which the system limits to 2 MB.
constexpr std::size_t kLongestHeader = std::size_t{4} << 20;
constexpr std::uint32_t kDefaultCountBytes = 4;
constexpr std::uint32_t kMostJellyfishCountBytes = 8;

/// Bytes that a record is decoded from: a whole key, and a whole word of count behind it.
constexpr std::uint64_t kJellyfishDecodedBytes = 24;

/// Returns the offsets at which Jellyfish tries next for a k-mer whose slot is taken: its own default, which
/// programs that load databases into a hash of theirs expect, and `merge` compares.
Json reprobes() {
  constexpr unsigned kMaxReprobe = 126;
  Json offsets = {1};
  for (unsigned i = 1; i <= kMaxReprobe; ++i) offsets.push_back(i * (i + 1) / 2);
  return offsets;
}

/// Returns the columns that the order multiplies k-mers with: that of the highest bit first.
Json matrix_of(const JellyfishOrder<Key128>& order, std::uint32_t key_bits) {
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

/// Keeps of a header what has the wanted names and is no list: a list of numbers would take forty times the
/// memory of its text.
class HeaderFields final : public nlohmann::json_sax<Json> {
 public:
  [[nodiscard]] const Json& fields() const noexcept { return fields_; }

  bool null() override { return true; }
  bool boolean(bool value) override { return keep(value); }
  bool number_integer(number_integer_t value) override { return keep(value); }
  bool number_unsigned(number_unsigned_t value) override { return keep(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return keep(value); }
  bool string(string_t& value) override { return keep(value); }
  bool binary(binary_t& /*value*/) override { return true; }
  bool key(string_t& name) override {
    if (depth_ == 1) is_wanted_ = std::ranges::find(kWanted, name) != std::end(kWanted);
    if (depth_ == 1 && is_wanted_) name_ = name;
    return true;
  }
  bool start_object(std::size_t /*elements*/) override { return ++depth_ > 0; }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(std::size_t /*elements*/) override { return depth_++ > 0; }  // a header is no list
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  static constexpr std::string_view kWanted[] = {"format", "key_len", "counter_len", "canonical"};

  template <class Value>
  bool keep(const Value& value) {
    if (depth_ == 1 && is_wanted_) fields_[name_] = value;
    return depth_ > 0;
  }

  Json fields_ = Json::object();
  std::string name_;
  int depth_ = 0;  ///< number of objects and lists that are open
  bool is_wanted_ = false;
};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string format_fault(const std::string& format) {
  if (format == "text/sorted") {
    return "a text database (jellyfish count --text); make a table of it with 'jellyfish dump -c', and "
           "convert that";
  }
  if (format == "bloomcounter") return "a Bloom counter (jellyfish bc), which holds no k-mers";
  return fmt::format("of Jellyfish's format {}, not {}", file::quoted(format), kFormat);
}

}  // namespace

JellyfishSource::JellyfishSource(const std::string& path)
    : file_(path, kLengthDigits + 1, [](std::span<const std::byte> start, const std::string& name) {
        if (header_bytes(text_of(start)) == 0)
          throw InputError(fmt::format("{}: no Jellyfish database", name));
      }) {
  read_header();
  file_.will_need(at_, file_.bytes().size() - at_);
}

void JellyfishSource::refuse(const std::string& what) const {
  throw InputError(fmt::format("{}: {}", file_.name(), what));
}

void JellyfishSource::read_header() {
  const std::string_view text = text_of(file_.bytes());
  const std::size_t length = header_bytes(text);
  if (length == 0)
    refuse("no Jellyfish database: it does not begin with the length of a header, and a header");
  if (text.size() - kLengthDigits < length) refuse("this Jellyfish database is cut off in its header");
  if (length > kLongestHeader) {
    refuse(fmt::format("a header of {} bytes, and those of Jellyfish have up to {}: this database is damaged",
                       length, kLongestHeader));
  }
  std::string_view header = text.substr(kLengthDigits, length);
  header = header.substr(0, header.find_last_not_of('\0') + 1);
  HeaderFields parsed;
  if (!Json::sax_parse(header, &parsed)) refuse("this Jellyfish database is damaged: its header is no JSON");
  const Json& fields = parsed.fields();

  const auto number = [&](const char* name, std::uint64_t most) {
    const auto field = fields.find(name);
    if (field == fields.end() || !field->is_number_unsigned() || field->get<std::uint64_t>() < 1 ||
        field->get<std::uint64_t>() > most) {
      refuse(
          fmt::format("this Jellyfish database is damaged: its header has no '{}' from 1 to {}", name, most));
    }
    return field->get<std::uint32_t>();
  };
  const auto format = fields.find("format");
  if (format == fields.end() || !format->is_string())
    refuse("this Jellyfish database is damaged: its header has no 'format'");
  if (const auto name = format->get<std::string>(); name != kFormat) refuse(format_fault(name));
  const std::uint32_t key_bits = number("key_len", UINT32_MAX);
  if (key_bits % 2 != 0) refuse(fmt::format("this Jellyfish database is damaged: 'key_len' is {}", key_bits));
  facts_.k = key_bits / 2;
  if (facts_.k > kMaxK) refuse(fmt::format("k-mers of {} bases; warpmer's have 1 to {}", facts_.k, kMaxK));
  count_bytes_ = number("counter_len", kMostJellyfishCountBytes);
  const auto is_canonical = fields.find("canonical");
  facts_.canonical = is_canonical != fields.end() && is_canonical->is_boolean() && is_canonical->get<bool>();
  facts_.largest_count = largest_of_bytes(count_bytes_);
  limit_.set(count_bytes_, facts_.max_count);

  key_bytes_ = (key_bits + 7) / 8;
  at_ = kLengthDigits + length;
  if (const std::uint64_t rest = (text.size() - at_) % (key_bytes_ + count_bytes_); rest != 0) {
    refuse(
        fmt::format("this Jellyfish database is cut off or damaged: the record at byte {} has {} bytes of {}",
                    text.size() - rest, rest, key_bytes_ + count_bytes_));
  }
}

std::size_t JellyfishSource::read(std::span<CountedKmer> out) {
  const std::size_t n = with_key_type(facts_.k, [&]<class Key>(Key) { return decode<Key>(out); });
  release_read();
  return n;
}

template <class Key>
std::size_t JellyfishSource::decode(std::span<CountedKmer> out) {
  const std::span<const std::byte> bytes = file_.bytes();
  const std::uint32_t record_bytes = key_bytes_ + count_bytes_;
  const Key no_base = ~key_mask<Key>(facts_.k);
  // Bits that are read with a k-mer and are not the k-mer's.
  const Key beyond = ~key_mask<Key>(4 * key_bytes_);
  std::byte last[kJellyfishDecodedBytes + sizeof(std::uint64_t)] = {};
  std::size_t n = 0;
  for (; n < out.size() && at_ < bytes.size(); at_ += record_bytes) {
    const std::byte* record = bytes.data() + at_;
    if (bytes.size() - at_ < kJellyfishDecodedBytes) {  // a whole one would reach beyond the file
      std::memcpy(last, record, record_bytes);
      record = last;
    }
    Key kmer;
    std::memcpy(&kmer, record, sizeof kmer);
    kmer &= ~beyond;
    std::uint64_t count;
    std::memcpy(&count, record + key_bytes_, sizeof count);
    if ((kmer & no_base) != 0 || (facts_.canonical && canonical(kmer, facts_.k) != kmer)) {
      refuse(fmt::format("this Jellyfish database is damaged: the record at byte {} is no {}{}-mer", at_,
                         facts_.canonical ? "canonical " : "", facts_.k));
    }
    out[n] = {kmer, count & facts_.largest_count};
    if (out[n].count == 0 && count_bytes_ == kMostJellyfishCountBytes) {
      refuse(
          fmt::format("a count of 0 at byte {}: Jellyfish loses all counts of 8 bytes; count again, with "
                      "--out-counter-len 4",
                      at_ + key_bytes_));
    }
    limit_.note(out[n].count);
    n += out[n].count != 0 ? 1 : 0;
  }
  return n;
}

void JellyfishSource::release_read() {
  if (at_ - released_ < kReleaseBytes) return;
  file_.check_size();
  file_.release(released_, at_ - released_);
  released_ = at_;
}

JellyfishSink::JellyfishSink(const std::string& path, const StreamFacts& facts, std::uint32_t count_bytes)
    : output_(path),
      facts_(facts),
      key_bytes_((2 * facts.k + 7) / 8),
      count_bytes_(count_bytes != 0 ? count_bytes
                                    : std::clamp(bytes_of_count(facts.largest_count), kDefaultCountBytes,
                                                 bytes_of_count(kLargestJellyfishCount))) {
  if (largest_of_bytes(count_bytes_) > kLargestJellyfishCount) {
    throw UsageError(fmt::format("{}: Jellyfish cannot merge counts of {} bytes; choose 1 to {}", path,
                                 count_bytes_, bytes_of_count(kLargestJellyfishCount)));
  }
  write_header();
}

void JellyfishSink::write_header() {
  const std::uint32_t bits = 2 * facts_.k;
  const JellyfishOrder<Key128> order(facts_.k);
  const Json steps = reprobes();
  const Json fields = {
      {"alignment", kAlignment},
      {"canonical", facts_.canonical},
      {"cmdline", {"warpmer", "convert"}},
      {"counter_len", count_bytes_},
      {"format", kFormat},
      {"key_len", bits},
      {"matrix1", matrix_of(order, bits)},
      {"max_reprobe", steps.size() - 1},
      {"reprobes", steps},
      {"size", std::uint64_t{1} << order.position_bits()},
      {"val_len", 7},  // bits of a count in memory: Jellyfish's default
  };
  std::string header = fields.dump();
  header.resize((kLengthDigits + header.size() + kAlignment - 1) / kAlignment * kAlignment - kLengthDigits);
  output_.write(fmt::format("{:0{}}", header.size(), kLengthDigits));
  output_.write(header);
  output_.expect(output_.bytes_written() + facts_.distinct * (key_bytes_ + count_bytes_));
}

void JellyfishSink::write(std::span<const CountedKmer> kmers) {
  constexpr std::size_t kStep = 4096;  // records between two looks at the output's buffer
  check_counts(kmers, facts_.k, count_bytes_);
  for (; !kmers.empty(); kmers = kmers.subspan(std::min(kStep, kmers.size()))) {
    const auto part = kmers.first(std::min(kStep, kmers.size()));
    with_key_type(facts_.k, [&]<class Key>(Key) { check_order<Key>(part); });
    append(part);
  }
}

template <class Key>
void JellyfishSink::check_order(std::span<const CountedKmer> kmers) {
  const JellyfishOrder<Key> order(facts_.k);
  auto last = static_cast<Key>(last_rank_);
  for (const CountedKmer& each : kmers) {
    const Key rank = order.rank(static_cast<Key>(each.kmer));
    if (rank <= last && !is_empty_) throw InternalError("k-mers for a Jellyfish database came out of order");
    last = rank;
    is_empty_ = false;
  }
  last_rank_ = last;
}

void JellyfishSink::append(std::span<const CountedKmer> kmers) {
  char* const begin = output_.reserve(kmers.size() * (key_bytes_ + count_bytes_) + kJellyfishDecodedBytes);
  char* out = begin;
  for (const CountedKmer& each : kmers) {
    // Whole words are written, and what is too much of them written over.
    std::memcpy(out, &each.kmer, sizeof each.kmer);
    out += key_bytes_;
    std::memcpy(out, &each.count, sizeof each.count);
    out += count_bytes_;
  }
  output_.commit(static_cast<std::size_t>(out - begin));
}

}  // namespace warpmer::formats
