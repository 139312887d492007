#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "file/input_error.h"
#include "formats/kff_file.h"
#include "formats/stream/count_width.h"

namespace warpmer::formats {
namespace {

constexpr std::uint64_t kMajorVersion = 1;
/// Mark, version, encoding, two flags, length of the text.
constexpr std::uint64_t kHeaderBytes = 12;
constexpr std::uint32_t kMostDataBytes = 8;
constexpr std::size_t kLongestName = 256;
/// Most variables in a section: the format has eight, and programs have a few of their own.
constexpr std::uint64_t kMostVariables = 4096;
/// A name of one letter would be the shortest variable; an entry of an index is as long as that.
constexpr std::uint64_t kLeastVariableBytes = 9, kIndexEntryBytes = 9;
/// `footer_size`, its zero byte and its value: what a footer ends with.
constexpr std::string_view kFooterSize{"footer_size\0", 12};

/// Bytes that a block of one k-mer is decoded from: a whole key, and a whole word of count behind it.
constexpr std::uint64_t kKffDecodedBytes = 24;

std::uint64_t big_endian(const std::byte* at, std::uint32_t bytes) {
  std::uint64_t value = 0;
  for (std::uint32_t i = 0; i < bytes; ++i) value = value << 8 | std::to_integer<std::uint64_t>(at[i]);
  return value;
}

/// Returns the number in the first `bits` bits of what is stored from `at` on.
template <class Key>
Key load_highest(const std::byte* at, std::uint32_t bits) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  Key value = __builtin_bswap64(word);
  if constexpr (sizeof(Key) > sizeof word) {
    std::memcpy(&word, at + sizeof word, sizeof word);
    value = value << 64 | __builtin_bswap64(word);
  }
  return value >> (kKeyBits<Key> - bits);
}

/// Returns the whole bytes for numbers of which the largest is one less than `values`: ceil(log2 values)
/// bits.
std::uint32_t bytes_below(std::uint64_t values) {
  return (static_cast<std::uint32_t>(std::bit_width(values - 1)) + 7) / 8;
}

constexpr std::uint64_t bytes_of_bases(std::uint64_t bases) { return (bases + 3) / 4; }

/// Bases of the file before the first one of a sequence at `offset`.
constexpr std::uint64_t first_base(std::uint64_t offset, std::uint64_t bases) {
  return 4 * offset + (4 - bases % 4) % 4;
}

}  // namespace

KffSource::KffSource(const std::string& path)
    : file_(path, kKffMark.size(), [](std::span<const std::byte> start, const std::string& name) {
        if (start.size() < kKffMark.size() ||
            std::memcmp(start.data(), kKffMark.data(), kKffMark.size()) != 0)
          throw InputError(fmt::format("{}: no KFF file", name));
      }) {
  read_header();
  read_footer();
  first_section_ = at_;
  if (!next_section()) {  // from the first k-mers follows k
    facts_.k = static_cast<std::uint32_t>(variable("k", variables_.k, 1, kMaxK));
  }
  file_.will_need(at_, left());
}

void KffSource::refuse(const std::string& what) const {
  throw InputError(fmt::format("{}, byte {}: {}", file_.name(), at_, what));
}

void KffSource::need(std::uint64_t bytes, const char* what) const {
  if (bytes > left()) refuse(fmt::format("this KFF file is cut off or damaged: it ends in {}", what));
}

std::uint64_t KffSource::take_number(std::uint32_t bytes, const char* what) {
  need(bytes, what);
  const std::uint64_t value = big_endian(file_.bytes().data() + at_, bytes);
  at_ += bytes;
  return value;
}

void KffSource::read_header() {
  const auto bytes = file_.bytes();
  const auto has_mark = [&](std::uint64_t offset) {
    return std::memcmp(bytes.data() + offset, kKffMark.data(), kKffMark.size()) == 0;
  };
  if (bytes.size() < kKffMark.size() || !has_mark(0)) refuse("no KFF file: it does not begin with KFF");
  if (bytes.size() < kHeaderBytes + kKffMark.size() || !has_mark(bytes.size() - kKffMark.size()))
    refuse("this KFF file is cut off: it does not end with KFF; copy it again, or make it again");
  end_ = bytes.size() - kKffMark.size();
  at_ = kKffMark.size();
  if (const std::uint64_t major = take_number(1, "its header"); major != kMajorVersion)
    refuse(fmt::format("KFF of version {}; warpmer reads version {}", major, kMajorVersion));
  take_number(1, "its header");
  const std::uint64_t encoding = take_number(1, "its header");
  unsigned seen = 0;
  for (unsigned base = 0; base < 4; ++base) {
    const auto code = static_cast<unsigned>(encoding >> (6 - 2 * base)) & 3;
    base_of_code_[code] = static_cast<std::uint8_t>(base);
    is_plain_encoding_ = is_plain_encoding_ && code == base;
    seen |= 1u << code;
  }
  if (seen != 0xF) {
    refuse(
        fmt::format("this KFF file is damaged: in the encoding {:#04x} two bases have one code", encoding));
  }
  is_unique_ = take_number(1, "its header") != 0;
  facts_.may_repeat = !is_unique_;
  facts_.canonical = take_number(1, "its header") != 0;
  const std::uint64_t text_bytes = take_number(4, "its header");
  need(text_bytes, "its header");
  at_ += text_bytes;
}

/// Reads, of the footer, only what KMC left out: no more is of interest; that comes last, and is asked for
/// first.
void KffSource::read_footer() {
  const std::uint64_t begin = at_;
  const std::uint64_t tail = kFooterSize.size() + 8;
  if (left() >= tail &&
      std::memcmp(file_.bytes().data() + end_ - tail, kFooterSize.data(), kFooterSize.size()) == 0) {
    const std::uint64_t footer_bytes = big_endian(file_.bytes().data() + end_ - 8, 8);
    if (footer_bytes <= left() && file_.bytes()[end_ - footer_bytes] == std::byte{'v'}) {
      at_ = end_ - footer_bytes + 1;
      Variables footer;
      read_variables(footer);
      facts_.min_count = std::max<std::uint64_t>(footer.min_count.value_or(1), 1);
      const std::uint64_t max_count = footer.max_count.value_or(UINT64_MAX);
      if (max_count == kNoKmcLimit) limit_.may_be_lower();  // KMC wrote it, and does not write down -cs
      facts_.max_count = max_count == kNoKmcLimit ? UINT64_MAX : std::max(max_count, facts_.min_count);
    }
  }
  at_ = begin;
}

void KffSource::read_variables(Variables& variables) {
  constexpr const char* kWhere = "a section of variables";
  const std::uint64_t number = take_number(8, kWhere);
  if (number > left() / kLeastVariableBytes)
    refuse(fmt::format("this KFF file is damaged: {} variables do not fit into it", number));
  if (number > kMostVariables) {
    refuse(fmt::format("{} variables in a section of this KFF file; warpmer reads up to {}", number,
                       kMostVariables));
  }
  for (std::uint64_t i = 0; i < number; ++i) {
    const auto* const name = reinterpret_cast<const char*>(file_.bytes().data() + at_);
    const std::size_t length = ::strnlen(name, std::min<std::uint64_t>(left(), kLongestName));
    if (length == kLongestName) refuse("this KFF file is damaged: the name of a variable does not end");
    need(length + 1 + 8, kWhere);
    at_ += length + 1;
    set_variable(variables, {name, length}, take_number(8, kWhere));
  }
}

void KffSource::set_variable(Variables& variables, std::string_view name, std::uint64_t value) const {
  struct Known {
    std::string_view name;
    std::optional<std::uint64_t> Variables::*variable;
  };
  static constexpr Known kKnown[] = {{"k", &Variables::k},
                                     {"m", &Variables::m},
                                     {"max", &Variables::max},
                                     {"data_size", &Variables::data_size},
                                     {"min_count", &Variables::min_count},
                                     {"max_count", &Variables::max_count}};
  for (const Known& each : kKnown) {
    if (each.name == name) variables.*each.variable = value;
  }
}

/// Goes on to the next section with k-mers in it; false at the end.
bool KffSource::next_section() {
  while (enter_section()) {
    if (blocks_left_ > 0) return true;
  }
  return false;
}

/// Goes on to the next section of k-mers, which may have none; false at the end.
bool KffSource::enter_section() {
  while (left() > 0) {
    const auto letter = static_cast<char>(take_number(1, "a section"));
    switch (letter) {
      case 'v':
        ++scope_;
        read_variables(variables_);
        break;
      case 'i':
        skip_index();
        break;
      case 'r':
      case 'm':
        begin_section(letter == 'm');
        return true;
      default:
        --at_;
        refuse(fmt::format("this KFF file is damaged: a section begins with {}, not with v, r, m or i",
                           file::quoted(letter)));
    }
  }
  return false;
}

void KffSource::skip_index() {
  const std::uint64_t entries = take_number(8, "an index");
  if (entries > left() / kIndexEntryBytes)
    refuse(fmt::format("this KFF file is damaged: {} sections in an index do not fit into it", entries));
  at_ += entries * kIndexEntryBytes;
  take_number(8, "an index");
}

std::uint64_t KffSource::variable(const char* name, std::optional<std::uint64_t> value, std::uint64_t least,
                                  std::uint64_t most) const {
  if (!value) refuse(fmt::format("this KFF file is damaged: it does not say what {} is", name));
  if (*value < least || *value > most)
    refuse(fmt::format("{} is {} in this KFF file; warpmer reads {} to {}", name, *value, least, most));
  return *value;
}

void KffSource::begin_section(bool has_minimizer) {
  const auto k = static_cast<std::uint32_t>(variable("k", variables_.k, 1, kMaxK));
  if (facts_.k != 0 && k != facts_.k)
    refuse(fmt::format("{}-mers and {}-mers in one KFF file; warpmer takes one k", facts_.k, k));
  facts_.k = k;
  shape_ = {};
  shape_.max = variable("max", variables_.max, 1, UINT64_MAX - kMaxK);
  shape_.data_bytes =
      static_cast<std::uint32_t>(variable("data_size", variables_.data_size, 0, kMostDataBytes));
  limit_.set(shape_.data_bytes, facts_.max_count);
  shape_.number_bytes = bytes_below(shape_.max);
  if (has_minimizer) {
    shape_.minimizer_bases = static_cast<std::uint32_t>(variable("m", variables_.m, 1, k));
    shape_.place_bytes = bytes_below(k + shape_.max - 1);
    const std::uint64_t bytes = bytes_of_bases(shape_.minimizer_bases);
    need(bytes, "a minimizer");
    shape_.minimizer = first_base(at_, shape_.minimizer_bases);
    at_ += bytes;
  }
  blocks_left_ = take_number(8, "a section");
  const std::uint64_t least_bytes = shape_.number_bytes + shape_.place_bytes +
                                    bytes_of_bases(k - shape_.minimizer_bases) + shape_.data_bytes;
  if (blocks_left_ > left() / std::max<std::uint64_t>(least_bytes, 1))
    refuse(fmt::format("this KFF file is cut off or damaged: {} blocks do not fit into it", blocks_left_));
}

void KffSource::begin_block() {
  constexpr const char* kWhere = "a block";
  --blocks_left_;
  const std::uint64_t n = shape_.number_bytes == 0 ? 1 : take_number(shape_.number_bytes, kWhere);
  if (n < 1 || n > shape_.max) {
    refuse(fmt::format("this KFF file is damaged: {} k-mers in a block, where there are 1 to {}", n,
                       shape_.max));
  }
  const std::uint64_t place = take_number(shape_.place_bytes, kWhere);
  need(n / 4, kWhere);  // before numbers are large enough to wrap
  const std::uint64_t bases = n + facts_.k - 1 - shape_.minimizer_bases;
  if (place > bases)
    refuse(fmt::format("this KFF file is damaged: a minimizer at base {} of {}", place, bases));
  const std::uint64_t sequence_bytes = bytes_of_bases(bases);
  need(sequence_bytes + n * shape_.data_bytes, kWhere);
  block_ = {.sequence = first_base(at_, bases),
            .minimizer = shape_.minimizer,
            .place = place,
            .place_end = place + shape_.minimizer_bases,
            .data = at_ + sequence_bytes,
            .kmers_left = n};
  at_ += sequence_bytes + n * shape_.data_bytes;
  for (std::uint32_t i = 1; i < facts_.k; ++i) block_.kmer = block_.kmer << 2 | next_base();
}

unsigned KffSource::next_base() {
  const std::uint64_t i = block_.next_base++;
  const std::uint64_t base = i < block_.place       ? block_.sequence + i
                             : i < block_.place_end ? block_.minimizer + (i - block_.place)
                                                    : block_.sequence + (i - shape_.minimizer_bases);
  const auto four = std::to_integer<unsigned>(file_.bytes()[base / 4]);
  return base_of_code_[four >> (6 - 2 * (base % 4)) & 3];
}

std::array<unsigned, 4> KffSource::codes() const {
  std::array<unsigned, 4> codes{};
  for (unsigned code = 0; code < codes.size(); ++code) codes[base_of_code_[code]] = code;
  return codes;
}

std::vector<KffSection> KffSource::take_sections() {
  at_ = first_section_;
  scope_ = 0;
  std::vector<KffSection> sections;
  while (enter_section()) {
    const std::uint32_t bases = shape_.minimizer_bases;
    const std::uint64_t minimizer_bytes = bytes_of_bases(bases);
    const auto minimizer = file_.bytes().subspan(shape_.minimizer / 4, minimizer_bytes);
    sections.push_back({.scope = scope_,
                        .max = shape_.max,
                        .data_bytes = shape_.data_bytes,
                        .minimizer = {minimizer.begin(), minimizer.end()},
                        .minimizer_bases = bases,
                        .at = at_,
                        .blocks = blocks_left_});
    if (has_single_kmers()) {  // records of one length, which fit into the file
      at_ += blocks_left_ * (bytes_of_bases(facts_.k) + shape_.data_bytes);
      blocks_left_ = 0;
    }
    while (blocks_left_ > 0) begin_block();
    block_ = {};
    release_read(file_, at_, released_);
  }
  return sections;
}

std::size_t KffSource::read(std::span<CountedKmer> out) {
  return with_key_type(facts_.k, [&]<class Key>(Key) {
    std::size_t n = 0;
    while (n < out.size()) {
      if (block_.kmers_left > 0) {
        n += take_from_block<Key>(out.subspan(n));
      } else if (blocks_left_ > 0 && has_single_kmers()) {
        n += take_single<Key>(out.subspan(n));
      } else if (blocks_left_ > 0) {
        begin_block();
      } else if (!next_section()) {
        break;
      }
    }
    if (block_.kmers_left == 0) release_read(file_, at_, released_);
    return n;
  });
}

template <class Key>
std::size_t KffSource::take_from_block(std::span<CountedKmer> out) {
  const Key mask = key_mask<Key>(facts_.k);
  auto kmer = static_cast<Key>(block_.kmer);
  std::size_t n = 0;
  for (; n < out.size() && block_.kmers_left > 0; --block_.kmers_left) {
    kmer = (static_cast<Key>(kmer << 2) | next_base()) & mask;
    const std::uint64_t count =
        shape_.data_bytes == 0 ? 1 : big_endian(file_.bytes().data() + block_.data, shape_.data_bytes);
    block_.data += shape_.data_bytes;
    out[n] = {facts_.canonical ? canonical(kmer, facts_.k) : kmer, count};
    limit_.note(count);
    n += count != 0 ? 1 : 0;
  }
  block_.kmer = kmer;
  return n;
}

/// Blocks of one k-mer and nothing but its count, which are records of one length.
template <class Key>
std::size_t KffSource::take_single(std::span<CountedKmer> out) {
  const std::span<const std::byte> bytes = file_.bytes();
  const auto sequence_bytes = static_cast<std::uint32_t>(bytes_of_bases(facts_.k));
  const std::uint32_t block_bytes = sequence_bytes + shape_.data_bytes;
  const Key mask = key_mask<Key>(facts_.k);
  std::byte last[kKffDecodedBytes] = {};
  std::size_t n = 0;
  for (; n < out.size() && blocks_left_ > 0; --blocks_left_, at_ += block_bytes) {
    const std::byte* block = bytes.data() + at_;
    if (bytes.size() - at_ < kKffDecodedBytes) {  // a whole one would reach beyond the file
      std::memcpy(last, block, block_bytes);
      block = last;
    }
    Key kmer = load_highest<Key>(block, 8 * sequence_bytes) & mask;
    if (!is_plain_encoding_) kmer = recode(kmer) & mask;
    const std::uint64_t count =
        shape_.data_bytes == 0 ? 1 : load_highest<Key64>(block + sequence_bytes, 8 * shape_.data_bytes);
    out[n] = {facts_.canonical ? canonical(kmer, facts_.k) : kmer, count};
    limit_.note(count);
    n += count != 0 ? 1 : 0;
  }
  return n;
}

/// Returns the bases of some codes, all at once.
template <class Key>
Key KffSource::recode(Key codes) const {
  const Key ones = ~Key{0} / 3;  // the lower bit of each pair
  const Key low = codes & ones, high = codes >> 1 & ones;
  Key bases = 0;
  for (unsigned code = 0; code < 4; ++code) {
    const Key is_code = (code & 1 ? low : ~low) & (code & 2 ? high : ~high) & ones;
    bases |= is_code * base_of_code_[code];
  }
  return bases;
}

}  // namespace warpmer::formats
