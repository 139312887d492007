#include "io/hts/cram_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "file/input_error.h"
#include "file/shell_word.h"
#include "io/compress/inflater.h"
#include "io/compress/little_endian.h"

namespace warpmer::io {
namespace {

/// Seen at once: containers begin with less.
constexpr std::size_t kWatchStep = 4096;
/// Bytes within which the part of a container ends that is looked at, or it is no container.
constexpr std::size_t kLongestStart = std::size_t{1} << 20;
/// Bytes of a checksum behind a container's header, and behind a block.
constexpr std::size_t kChecksumBytes = 4;

/// Thrown where there are not enough bytes yet.
struct Short {};

/// Takes numbers off the front of some bytes. Numbers of variable length have as many bytes behind the first
/// as that has bits set at its upper end (CRAMv3, section 2.3).
class Numbers {
 public:
  explicit Numbers(std::string_view bytes) : all_(bytes) {}

  std::string_view take(std::size_t size) {
    if (all_.size() - at_ < size) throw Short{};
    at_ += size;
    return all_.substr(at_ - size, size);
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(take(1)[0]); }
  /// Reads ITF-8: 32 bits, of which the fifth byte has the lowest four.
  std::int32_t itf8() {
    constexpr unsigned kMost = 4;
    const unsigned first = byte(), more = std::min(ones(first), kMost);
    std::uint32_t value = first & (more == kMost ? 0x0f : 0xffu >> (more + 1));
    for (unsigned i = 0; i < std::min(more, kMost - 1); ++i) value = value << 8 | byte();
    if (more == kMost) value = value << 4 | (byte() & 0x0f);
    return static_cast<std::int32_t>(value);
  }
  /// Reads LTF-8: 64 bits.
  std::int64_t ltf8() {
    const unsigned first = byte(), more = ones(first);
    std::uint64_t value = more < 7 ? first & (0xffu >> (more + 1)) : 0;
    for (unsigned i = 0; i < more; ++i) value = value << 8 | byte();
    return static_cast<std::int64_t>(value);
  }
  [[nodiscard]] std::size_t at() const { return at_; }
  /// Returns the number of bytes, those that were taken among them.
  [[nodiscard]] std::size_t size() const { return all_.size(); }

 private:
  static unsigned ones(unsigned byte) {
    unsigned count = 0;
    while (count < 8 && (byte & (0x80u >> count)) != 0) ++count;
    return count;
  }

  std::string_view all_;
  std::size_t at_ = 0;
};

/// The fields in front of a block's data.
struct BlockHeader {
  unsigned method = 0;
  std::int32_t data_bytes = 0;
  std::int32_t text_bytes = 0;  ///< bytes of the data when it is decompressed

  explicit BlockHeader(Numbers& numbers) {
    method = numbers.byte();
    numbers.byte();  // kind
    numbers.itf8();  // identifier
    data_bytes = numbers.itf8();
    text_bytes = numbers.itf8();
  }
};

/// True when the container that a compression header is the first block of says that it needs a reference
/// (key RR, section 8.4.1). A header that is compressed, as no program does it, is not looked into.
bool says_that_it_needs_reference(Numbers& numbers) {
  constexpr unsigned kRaw = 0;
  if (BlockHeader(numbers).method != kRaw) return true;
  numbers.itf8();  // bytes of the map
  for (std::int32_t left = numbers.itf8(); left > 0; --left) {
    const std::string_view key = numbers.take(2);
    if (key == "RR") return numbers.byte() != 0;
    const std::int32_t bytes = key == "SM" ? 5 : key == "TD" ? numbers.itf8() : 1;
    if (bytes < 0) return true;
    numbers.take(static_cast<std::size_t>(bytes));
  }
  return true;
}
/// Does the same for a container that ends at `end`. Damage may make more of the header than there is.
bool requires_reference(Numbers& numbers, std::uint64_t end) {
  try {
    return says_that_it_needs_reference(numbers);
  } catch (const Short&) {
    if (numbers.size() < end) throw;
    return true;
  }
}

}  // namespace

void CramWatch::see(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::uint64_t wanted = skip_ > 0 ? skip_ : data_bytes_ > 0 ? data_bytes_ : kWatchStep;
    const std::size_t count = std::min<std::uint64_t>(bytes.size(), wanted);
    if (skip_ > 0) {
      skip_ -= count;
    } else if (data_bytes_ > 0) {
      add_data(bytes.substr(0, count));
    } else {
      see_some(bytes.substr(0, count));
    }
    bytes.remove_prefix(count);
  }
}

void CramWatch::see_some(std::string_view bytes) {
  pending_ += bytes;
  try {
    while (!pending_.empty()) {
      if (version_ == 0) {
        begin();
      } else if (is_in_block_) {
        leave_block();
      } else if (blocks_left_ > 0) {
        enter_block();
      } else {
        enter_container();
      }
    }
  } catch (const Short&) {
    if (pending_.size() > kLongestStart) fail("what comes next is no container");
  }
}

/// Reads the definition of the file.
void CramWatch::begin() {
  const std::string_view definition = Numbers(pending_).take(kDefinitionBytes);
  version_ = static_cast<std::uint8_t>(definition[4]);
  if (version_ != 2 && version_ != 3) {
    fail(
        fmt::format("it is of version {}, and versions 2 and 3 can be read; `samtools view -O "
                    "cram,version=3.0 -o new.cram {}` "
                    "writes one of those",
                    version_, file::shell_input(shown_)));
  }
  pass_over(kDefinitionBytes);
}

/// Throws where something else than the end follows the end: some programs end a file twice.
void CramWatch::check_behind_end() const {
  using namespace std::string_view_literals;
  // The container that is the end, behind the lowest byte of its size, which depends on the version.
  constexpr auto kEnd = "\0\0\0\xff\xff\xff\xff\x0f\xe0\x45\x4f\x46"sv;
  const std::string_view start = pending_, behind_first = start.substr(1, kEnd.size());
  if ((start[0] == '\x0f' || start[0] == '\x0b') && kEnd.starts_with(behind_first)) return;
  fail(fmt::format("what follows the marker of its end is not the end of the file, but {}; {}",
                   file::quoted(start, 8),
                   start.starts_with("CRAM")
                       ? "put files together by `samtools cat`, and not by `cat`, or name them one by one"
                       : "the file is damaged, or something was appended to it"));
}

/// Reads a container's header (section 7), and as much of its first block as is wanted.
void CramWatch::enter_container() {
  if (has_ended_) check_behind_end();
  constexpr std::int32_t kNoReference = -1;
  constexpr std::int32_t kStartOfEnd = 0x454f46;  // "EOF" (section 9)
  Numbers numbers(pending_);
  std::uint64_t body_bytes = little_endian(numbers.take(4), 0, 4);
  const std::int32_t reference = numbers.itf8();
  const std::int32_t start = numbers.itf8();
  numbers.itf8();  // how much of it there is
  const std::int64_t records = numbers.itf8();
  if (version_ >= 3) {
    numbers.ltf8();  // records before
  } else {
    numbers.itf8();
  }
  const std::int64_t bases = numbers.ltf8();
  const std::int32_t blocks = numbers.itf8();
  const std::int32_t slices = numbers.itf8();
  const bool is_end = containers_ > 0 && records == 0 && reference == kNoReference && start == kStartOfEnd;
  constexpr std::int64_t kMostBases = std::int64_t{1} << 40;  // of any container that was ever made, by far
  if (body_bytes > INT32_MAX || records < 0 || bases < 0 || bases > kMostBases || slices < 0)
    fail("damaged: a container of impossible size");
  for (std::int32_t i = 0; i < slices; ++i) numbers.itf8();
  if (version_ >= 3) {
    // With threads, htslib takes a container whose header is damaged for the end of the file.
    const std::uint32_t checksum = gzip_crc(0, std::string_view(pending_).substr(0, numbers.at()));
    if (little_endian(numbers.take(kChecksumBytes), 0, kChecksumBytes) != checksum)
      fail("damaged: the header of a container");
  }
  const std::uint64_t header_bytes = numbers.at();

  if (containers_ == 0) {
    const BlockHeader block(numbers);
    size_.header_bytes = static_cast<std::uint64_t>(std::max(block.text_bytes, 0));
    // Of a large header htslib writes a size for version 2 that is too small by some bytes, and reads the
    // block.
    const std::uint64_t block_bytes =
        numbers.at() - header_bytes + static_cast<std::uint64_t>(std::max(block.data_bytes, 0));
    if (version_ < 3) body_bytes = std::max(body_bytes, block_bytes);
  } else if (slices > 0) {
    if (reference != kNoReference && !size_.needs_reference)
      size_.needs_reference = requires_reference(numbers, header_bytes + body_bytes);
    const std::uint64_t all_bases = static_cast<std::uint64_t>(bases) + CramSize::kRecordBases * records;
    size_.slice_bases = std::max(size_.slice_bases, all_bases / slices);
  }
  // All that is wanted has come: it is not looked at again.
  if (containers_ > 0) records_ += static_cast<std::uint64_t>(records);
  ++containers_;
  has_ended_ = is_end;
  if (version_ < 3 || blocks <= 0) return pass_over(header_bytes + body_bytes);
  pass_over(header_bytes);
  blocks_left_ = blocks;
  body_bytes_ = body_bytes;
}

/// Reads a block's header (section 8), and as much of its data as there is. htslib looks at the checksums of
/// blocks that it decompresses, and not at those of others, as compression headers are.
void CramWatch::enter_block() {
  Numbers numbers(pending_);
  const BlockHeader block(numbers);
  const std::uint64_t header_bytes = numbers.at(),
                      all = header_bytes + static_cast<std::uint32_t>(block.data_bytes) + kChecksumBytes;
  if (block.data_bytes < 0 || all > body_bytes_) fail("damaged: a block of impossible size");
  body_bytes_ -= all;
  is_in_block_ = true;
  checksum_ = 0;
  data_bytes_ = all - kChecksumBytes;
  const std::size_t here = std::min<std::uint64_t>(data_bytes_, pending_.size());
  add_data(std::string_view(pending_).substr(0, here));
  pending_.erase(0, here);
}

/// Goes on with what a checksum is of.
void CramWatch::add_data(std::string_view bytes) {
  checksum_ = gzip_crc(checksum_, bytes);
  data_bytes_ -= bytes.size();
}

/// Reads the checksum behind a block. Behind the last block there may be bytes that mean nothing, and a
/// container may say that it has more blocks than it has.
void CramWatch::leave_block() {
  const std::uint64_t checksum = little_endian(Numbers(pending_).take(kChecksumBytes), 0, kChecksumBytes);
  if (checksum != checksum_) fail("damaged: a block of a container");
  pass_over(kChecksumBytes);
  is_in_block_ = false;
  --blocks_left_;
  if (body_bytes_ == 0) blocks_left_ = 0;
  if (blocks_left_ == 0) pass_over(body_bytes_);
}

/// Passes over so many bytes from the beginning of what is pending.
void CramWatch::pass_over(std::uint64_t bytes) {
  skip_ = bytes - std::min<std::uint64_t>(bytes, pending_.size());
  pending_.erase(0, bytes);
}

void CramWatch::fail(std::string_view what) const { file::fail_at({shown_}, fmt::format("CRAM: {}", what)); }

}  // namespace warpmer::io
