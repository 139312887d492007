#include "io/compress/bzip2_blocks.h"

#ifdef WARPMER_HAVE_BZIP2
#include <bzlib.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "io/compress/compressed_errors.h"

namespace warpmer::io {
namespace {

constexpr unsigned kMarkBits = 48;
constexpr std::size_t kMarkBytes = kMarkBits / 8;
constexpr std::size_t kHeaderBytes = 4;

bool is_level(char c) { return c >= '1' && c <= '9'; }

}  // namespace

bool is_bzip2(std::string_view start) {
  if (start.size() < kHeaderBytes || !start.starts_with("BZh") || !is_level(start[3])) return false;
  const std::string_view mark = start.substr(kHeaderBytes, kMarkBytes);
  return std::string_view("\x31\x41\x59\x26\x53\x59").starts_with(mark) ||
         std::string_view("\x17\x72\x45\x38\x50\x90").starts_with(mark);
}

#ifdef WARPMER_HAVE_BZIP2

namespace {

constexpr CompressedParts kBzip2 = {.format = "bzip2", .part = "stream"};
constexpr std::uint64_t kBlockMark = 0x314159265359;
constexpr std::uint64_t kEndMark = 0x177245385090;
constexpr unsigned kCrcBits = 32;
constexpr std::size_t kCrcBytes = kCrcBits / 8;
/// Most bytes of a block: 900,000 symbols of at most 20 bits, and tables.
constexpr std::size_t kMostBlockBytes = std::size_t{5} << 19;
constexpr std::size_t kMostExtraText = std::size_t{7} << 20;  ///< kept of a block beside a block of the ring

/// Returns 48 bits, from bit `bit` of `bytes` on, where there are 7 bytes, or 6 and `bit` is 0.
std::uint64_t mark_at(const char* bytes, unsigned bit) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kMarkBytes; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  if (bit == 0) return value;
  value = value << bit | static_cast<unsigned char>(bytes[kMarkBytes]) >> (8 - bit);
  return value & ((std::uint64_t{1} << kMarkBits) - 1);
}

/// Returns 32 bits in the same way.
std::uint32_t crc_at(const char* bytes, unsigned bit) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kCrcBytes; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  if (bit > 0) value = value << bit | static_cast<unsigned char>(bytes[kCrcBytes]) >> (8 - bit);
  return static_cast<std::uint32_t>(value);
}

bool is_mark(std::uint64_t bits) { return bits == kBlockMark || bits == kEndMark; }

/// For each byte, the bits at which a mark may have begun in the byte before it.
std::array<std::uint8_t, 256> make_possible_bits() {
  std::array<std::uint8_t, 256> possible{};
  for (const std::uint64_t mark : {kBlockMark, kEndMark}) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      const std::uint64_t second = mark >> (kMarkBits - 16 + bit) & 0xff;
      possible[second] |= static_cast<std::uint8_t>(1U << bit);
    }
  }
  return possible;
}

struct BitPlace {
  std::size_t byte = 0;
  unsigned bit = 0;
};

/// Returns the first mark that begins at the byte `begin` or behind it, as far as all of it is there.
std::optional<BitPlace> find_mark(std::string_view data, std::size_t begin) {
  static const std::array<std::uint8_t, 256> kPossible = make_possible_bits();
  for (std::size_t at = begin; at + kMarkBytes < data.size(); ++at) {
    const unsigned possible = kPossible[static_cast<unsigned char>(data[at + 1])];
    for (unsigned bits = possible; bits != 0; bits &= bits - 1) {
      const auto bit = static_cast<unsigned>(std::countr_zero(bits));
      if (is_mark(mark_at(data.data() + at, bit))) return BitPlace{at, bit};
    }
  }
  return std::nullopt;
}

}  // namespace

bool has_bzip2() noexcept { return true; }

/// Bits of a file, from the first bit of a byte on.
struct Bzip2Blocks::BlockBits {
  std::string bytes;
  unsigned in_last = 8;  ///< bits of the last byte, the upper ones; the others are 0

  void clear() {
    bytes.clear();
    in_last = 8;
  }
  /// Appends bits of `data`, from bit `first` of its first byte to before bit `end` of its last.
  void append(std::string_view data, unsigned first, unsigned end) {
    std::size_t left = 8 * (data.size() - 1) + end - first;
    for (std::size_t at = 0; left > 0; ++at) {
      const auto here = static_cast<unsigned char>(data[at]);
      const auto next = at + 1 < data.size() ? static_cast<unsigned char>(data[at + 1]) : 0U;
      const auto count = static_cast<unsigned>(std::min<std::size_t>(8, left));
      append_byte((here << first | next >> (8 - first)) & 0xff & (0xff00U >> count), count);
      left -= count;
    }
  }
  void append_number(std::uint64_t value, unsigned bits) {
    for (unsigned left = bits; left > 0; left -= 8)
      append_byte(static_cast<unsigned>(value >> (left - 8) & 0xff), 8);
  }

 private:
  void append_byte(unsigned byte, unsigned count) {
    if (in_last == 8) {
      bytes += static_cast<char>(byte);
      in_last = count;
      return;
    }
    bytes.back() = static_cast<char>(static_cast<unsigned char>(bytes.back()) | byte >> in_last);
    if (in_last + count > 8) {
      bytes += static_cast<char>(byte << (8 - in_last) & 0xff);
      in_last = in_last + count - 8;
    } else {
      in_last += count;
    }
  }
};

/// A block as it stands in the file, and the library at work on it.
struct Bzip2Blocks::Bzip2Block {
  ~Bzip2Block() { end(); }

  BlockBits bits;  ///< from its mark on
  char level = '9';
  bool is_block = false;     ///< there is one; it may be the end of a stream alone
  bool is_end_mark = false;  ///< begins with the mark of an end that is none
  std::string behind_end;    ///< the bytes behind that mark and its checksum
  bool ends_stream = false;
  std::uint32_t stream_crc = 0;  ///< as its end says
  std::uint64_t stream = 0;      ///< number of the stream, from 1
  std::uint64_t file_end = 0;    ///< place in the file at which it ends

  bool has_failed = false;
  std::uint32_t crc = 0;  ///< of the block, as it says
  std::string extra;      ///< text that a block of the ring has no room for
  std::size_t given = 0;  ///< bytes of that which readers have

  void begin();
  bool decompress(TextBlock& out);
  bool go_on(TextBlock& out);

 private:
  enum class BzipState { going_on, done, failed };
  BzipState decompress_into(char* text, std::size_t size, std::size_t& text_size);
  void end();
  static void* allocate(void* block, int count, int size);
  static void release(void* /*block*/, void* /*memory*/) {}

  std::string stream_bytes_;  ///< the block as a stream of its own
  bz_stream library_ = {};
  bool is_begun_ = false;
  BzipState state_ = BzipState::done;
  std::vector<std::pair<std::size_t, std::unique_ptr<char[]>>> memory_;  ///< memory of the library, kept
  std::size_t used_memory_ = 0;
};

/// The library asks for the same memory for every block of a level.
void* Bzip2Blocks::Bzip2Block::allocate(void* block, int count, int size) {
  auto& self = *static_cast<Bzip2Block*>(block);
  const std::size_t bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
  const std::size_t place = self.used_memory_++;
  if (place == self.memory_.size()) self.memory_.emplace_back();
  auto& [kept, memory] = self.memory_[place];
  if (kept < bytes) {
    memory.reset(new (std::nothrow) char[bytes]);
    kept = memory ? bytes : 0;
  }
  return memory.get();
}

void Bzip2Blocks::Bzip2Block::end() {
  if (std::exchange(is_begun_, false)) BZ2_bzDecompressEnd(&library_);
}

/// Makes a stream of the bits: a header before them, and its end behind them, with the block's checksum as
/// that of the stream.
void Bzip2Blocks::Bzip2Block::begin() {
  end();
  has_failed = false;
  extra.clear();
  given = 0;
  BlockBits whole;
  whole.bytes = std::move(stream_bytes_);
  whole.clear();
  whole.bytes.reserve(bits.bytes.size() + 2 * kMarkBytes + kHeaderBytes);
  whole.bytes.append("BZh").append(1, level).append(bits.bytes);
  whole.in_last = bits.in_last;
  crc = bits.bytes.size() >= kMarkBytes + kCrcBytes ? crc_at(bits.bytes.data() + kMarkBytes, 0) : 0;
  whole.append_number(kEndMark, kMarkBits);
  whole.append_number(crc, kCrcBits);
  stream_bytes_ = std::move(whole.bytes);
  used_memory_ = 0;
  library_ = {};
  library_.bzalloc = allocate;
  library_.bzfree = release;
  library_.opaque = this;
  if (BZ2_bzDecompressInit(&library_, 0, 0) != BZ_OK) throw std::bad_alloc();
  is_begun_ = true;
  state_ = BzipState::going_on;
  library_.next_in = stream_bytes_.data();
  library_.avail_in = static_cast<unsigned>(stream_bytes_.size());
}

/// Decompresses until `size` characters are at `text`, of which `text_size` are there already.
Bzip2Blocks::Bzip2Block::BzipState Bzip2Blocks::Bzip2Block::decompress_into(char* text, std::size_t size,
                                                                            std::size_t& text_size) {
  library_.next_out = text + text_size;
  library_.avail_out = static_cast<unsigned>(size - text_size);
  const int result = BZ2_bzDecompress(&library_);
  text_size = size - library_.avail_out;
  if (result == BZ_MEM_ERROR) throw std::bad_alloc();
  // Bits that are left over belong to something else, so the mark at their end is none.
  if (result == BZ_STREAM_END) return library_.avail_in == 0 ? BzipState::done : BzipState::failed;
  return result == BZ_OK && library_.avail_out == 0 ? BzipState::going_on : BzipState::failed;
}

/// Decompresses the block, or the first 8 MiB of its text; false if it does not decompress.
bool Bzip2Blocks::Bzip2Block::decompress(TextBlock& out) {
  begin();
  state_ = decompress_into(out.text.get(), kTextBytes, out.text_size);
  while (state_ == BzipState::going_on && extra.size() < kMostExtraText) {
    std::size_t size = extra.size();
    extra.resize(size + kTextBytes);
    state_ = decompress_into(extra.data(), extra.size(), size);
    extra.resize(size);
  }
  if (state_ == BzipState::failed) return false;
  out.has_more = state_ == BzipState::going_on || !extra.empty();
  return true;
}

/// Puts the next of its text into the ring's block; false if there is none. It may turn out to be damaged.
bool Bzip2Blocks::Bzip2Block::go_on(TextBlock& out) {
  out.text_size = std::min(kTextBytes, extra.size() - given);
  if (out.text_size > 0) {
    std::memcpy(out.text.get(), extra.data() + given, out.text_size);
    given += out.text_size;
  } else {
    state_ = decompress_into(out.text.get(), kTextBytes, out.text_size);
    has_failed = state_ == BzipState::failed;
  }
  return state_ == BzipState::going_on || given < extra.size();
}

Bzip2Blocks::Bzip2Blocks(std::unique_ptr<file::ByteFile> file) : file_(std::move(file)) {}

Bzip2Blocks::~Bzip2Blocks() = default;

std::uint64_t Bzip2Blocks::memory_bytes(unsigned threads) {
  constexpr std::uint64_t kLibrary = std::uint64_t{4} << 20;
  constexpr std::uint64_t kRaw = std::uint64_t{1} << 20;  // a block, and the stream that is made of it
  return ReadAhead::ring_size(std::min(threads, kMostThreads)) * (3 * kTextBytes + 2 * kRaw + kLibrary) +
         kMostBlockBytes;
}

Bzip2Blocks::Bzip2Block& Bzip2Blocks::block_of(TextBlock& out) {
  if (!out.scratch) out.scratch = std::make_shared<Bzip2Block>();
  return *static_cast<Bzip2Block*>(out.scratch.get());
}

bool Bzip2Blocks::load(TextBlock& out) {
  Bzip2Block& block = block_of(out);
  const std::uint64_t taken = file_->disk_bytes();
  if (!is_in_stream_ && !begin_stream()) return false;
  block.bits.clear();
  block.level = level_;
  block.stream = streams_;
  block.is_block = block.is_end_mark = block.ends_stream = false;
  const std::string_view start = file_->peek(kMarkBytes + 1);
  if (start.size() < kMarkBytes + 1) fail_truncated(*file_, kBzip2, streams_);
  const std::uint64_t mark = mark_at(start.data(), bit_);
  if (!is_mark(mark)) fail_corrupt(*file_, kBzip2, streams_, file_->disk_bytes() + start.size());
  if (mark == kEndMark) take_end_of_stream(block);
  block.is_end_mark = mark == kEndMark && is_in_stream_;
  if (mark == kBlockMark || block.is_end_mark) cut(block);
  block.file_end = file_->disk_bytes();
  out.disk_bytes = block.file_end - taken;
  return true;
}

/// Takes the header of the next stream; false at the end of the file.
bool Bzip2Blocks::begin_stream() {
  const std::string_view start = file_->peek(kHeaderBytes + kMarkBytes);
  if (start.empty()) return false;
  constexpr std::string_view kMagic = "BZh";
  if (!start.starts_with(kMagic.substr(0, std::min(start.size(), kMagic.size()))))
    fail_at_junk(*file_, kBzip2, streams_, start);
  ++streams_;
  if (start.size() < kHeaderBytes + kMarkBytes) fail_truncated(*file_, kBzip2, streams_);
  if (!is_level(start[3])) fail_corrupt(*file_, kBzip2, streams_, file_->disk_bytes() + kHeaderBytes);
  level_ = start[3];
  file_->skip(kHeaderBytes);
  is_in_stream_ = true;
  bit_ = 0;
  return true;
}

/// Takes the block that begins at the mark here, up to the next mark, and the end of its stream if that is
/// one.
void Bzip2Blocks::cut(Bzip2Block& block) {
  block.is_block = true;
  constexpr std::size_t kStep = std::size_t{64} << 10;
  std::optional<BitPlace> next;
  std::string_view data;
  for (std::size_t searched = kMarkBytes; !next;) {
    const std::size_t wanted = data.size() + kStep;
    data = file_->peek(wanted);
    next = find_mark(data, searched);
    if (next) break;
    if (block.is_end_mark && (data.size() < wanted || data.size() > kMostBlockBytes))
      fail_at_junk(*file_, kBzip2, streams_, block.behind_end);
    if (data.size() < wanted) fail_truncated(*file_, kBzip2, streams_);
    if (data.size() > kMostBlockBytes) fail_corrupt(*file_, kBzip2, streams_, file_->disk_bytes() + wanted);
    searched = data.size() - kMarkBytes;
  }
  block.bits.append(data.substr(0, next->byte + 1), bit_, next->bit);
  const bool is_end = mark_at(data.data() + next->byte, next->bit) == kEndMark;
  file_->skip(next->byte);
  bit_ = next->bit;
  if (is_end) take_end_of_stream(block);
}

/// Takes the end of a stream that the mark here says is here, if that is true: then another stream follows,
/// or the end of the file. What is neither is left, because the mark may be none.
void Bzip2Blocks::take_end_of_stream(Bzip2Block& block) {
  const std::size_t end = (bit_ + kMarkBits + kCrcBits + 7) / 8;
  const std::string_view data = file_->peek(end + kHeaderBytes + kMarkBytes);
  if (data.size() < end) fail_truncated(*file_, kBzip2, streams_);
  const std::string_view next = data.substr(end);
  constexpr std::string_view kMagic = "BZh";
  block.behind_end = next;
  if (!next.starts_with(kMagic.substr(0, std::min(next.size(), kMagic.size())))) return;
  block.ends_stream = true;
  block.stream_crc = crc_at(data.data() + kMarkBytes, bit_);
  file_->skip(end);
  bit_ = 0;
  is_in_stream_ = false;
}

void Bzip2Blocks::work(TextBlock& out) {
  Bzip2Block& block = block_of(out);
  block.has_failed = block.is_block && (block.is_end_mark || !block.decompress(out));
  if (!block.has_failed) return;
  out.text_size = 0;
  out.has_more = false;
}

bool Bzip2Blocks::hand_over(TextBlock& out) {
  Bzip2Block& block = block_of(out);
  bool has_more = out.has_more;
  if (std::exchange(out.is_handed_over, true)) {
    has_more = block.go_on(out);
    if (block.has_failed) fail(block);
  } else if (failed_ || block.has_failed) {
    if (!join(block)) return false;
    out.text_size = 0;
    if (!block.decompress(out)) {
      if (block.ends_stream) fail(block);
      failed_ = std::make_unique<BlockBits>(std::move(block.bits));
      out.text_size = 0;
      return false;
    }
    has_more = out.has_more;
  }
  if (!has_more) check(block);
  return has_more;
}

/// Puts the block that failed before in front of one that comes next. False if nothing failed before: then
/// this one has, and waits for the next.
bool Bzip2Blocks::join(Bzip2Block& block) {
  if (failed_) {
    BlockBits joined = std::move(*failed_);
    failed_.reset();
    if (joined.bytes.size() > kMostBlockBytes) fail(block);
    if (block.is_block) joined.append(block.bits.bytes, 0, block.bits.in_last);
    block.bits = std::move(joined);
    block.is_block = true;
    return true;
  }
  if (block.is_end_mark) fail_at_junk(*file_, kBzip2, block.stream, block.behind_end);
  if (block.ends_stream) fail(block);
  failed_ = std::make_unique<BlockBits>(std::move(block.bits));
  return false;
}

/// Compares the checksums of a stream's blocks with that of the stream.
void Bzip2Blocks::check(const Bzip2Block& block) {
  if (block.is_block) crc_ = std::rotl(crc_, 1) ^ block.crc;
  if (!block.ends_stream) return;
  if (std::exchange(crc_, 0) != block.stream_crc) fail(block);
}

void Bzip2Blocks::fail(const Bzip2Block& block) const {
  fail_corrupt(*file_, kBzip2, block.stream, block.file_end);
}

#else

bool has_bzip2() noexcept { return false; }
struct Bzip2Blocks::BlockBits {};
Bzip2Blocks::Bzip2Blocks(std::unique_ptr<file::ByteFile> file) : file_(std::move(file)) {}
Bzip2Blocks::~Bzip2Blocks() = default;
std::uint64_t Bzip2Blocks::memory_bytes(unsigned /*threads*/) { return 0; }
bool Bzip2Blocks::load(TextBlock& /*out*/) { return false; }
void Bzip2Blocks::work(TextBlock& /*out*/) {}
bool Bzip2Blocks::hand_over(TextBlock& /*out*/) { return false; }

#endif

}  // namespace warpmer::io
