#include "io/gzip_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "io/deflate_blocks.h"
#include "io/input_error.h"

namespace warpmer::io {
namespace {

constexpr std::size_t kTakesBack = DeflateInflater::kTakesBack;
constexpr std::size_t kFirstTextPerRaw = 8;                     ///< before any is known; some more than usual
constexpr std::size_t kFewestRawBytes = std::size_t{8} << 10;   ///< of a chunk
constexpr std::size_t kSearchBytes = std::size_t{32} << 10;     ///< read at once to look for a block
constexpr std::size_t kInflaterBytes = std::size_t{128} << 10;  ///< what ISA-L's state takes, and some more

/// A part of a portion's text, all of it in one member.
struct Segment {
  std::size_t end = 0;
  std::uint32_t crc = 0;
  bool ends_member = false;
  GzipTrailer trailer;
};

}  // namespace

/// A stretch of the file. Its first byte is also the last of the chunk before where a block starts in the
/// middle of it.
struct GzipStream::Chunk {
  std::uint64_t number = 0;
  std::unique_ptr<char[]> raw;  ///< kTakesBack bytes of the chunk before, then this one
  std::size_t size = 0;         ///< without the former
  unsigned begin_bit = 0;
  unsigned end_bit = 0;
  bool begins_block = false;  ///< at begin_bit of the first byte
  bool ends_block = false;    ///< at end_bit of the last byte, or behind that if end_bit is 0
  bool is_last = false;
  std::uint64_t file_end = 0;  ///< where in the file it ends

  bool is_begun = false;
  bool is_done = false;
  bool has_last_byte = false;        ///< `input` has the byte that is the next chunk's, too
  std::span<const char> input;       ///< what is to be decompressed yet
  std::vector<Segment> segments;     ///< of the text in the portion
  std::uint64_t members_before = 0;  ///< that ended before this text

  [[nodiscard]] const char* begin() const { return raw.get() + kTakesBack; }
  [[nodiscard]] unsigned char last() const { return static_cast<unsigned char>(begin()[size - 1]); }

  /// Everything but what of the first byte belongs to the block before, and of the last to the next.
  void rewind() {
    const std::size_t first = begin_bit > 0 ? 1 : 0;
    const std::size_t end = size - (ends_block && end_bit > 0 ? 1 : 0);
    input = {begin() + first, end - first};
    has_last_byte = false;
    segments.clear();
  }
  void enter(GzipMembers& members, std::string_view window) const {
    const unsigned bits = begin_bit > 0 ? static_cast<unsigned char>(begin()[0]) >> begin_bit : 0;
    members.enter(window, bits, begin_bit > 0 ? 8 - begin_bit : 0);
  }
  [[nodiscard]] std::size_t ended_members() const {
    return static_cast<std::size_t>(std::count_if(
        segments.begin(), segments.end(), [](const Segment& segment) { return segment.ends_member; }));
  }
  /// Where in the text its last member begins, if that is there.
  [[nodiscard]] std::size_t last_member() const {
    for (std::size_t i = segments.size(); i-- > 0;) {
      if (segments[i].ends_member) return segments[i].end;
    }
    return 0;
  }
  void sum_up(std::string_view text);
};

/// Makes the segments cover all of the text, and computes their checksums.
void GzipStream::Chunk::sum_up(std::string_view text) {
  segments.push_back({.end = text.size(), .trailer = {}});
  std::size_t begin = 0;
  for (Segment& segment : segments) {
    segment.crc = gzip_crc(0, text.substr(begin, segment.end - begin));
    begin = segment.end;
  }
}

/// What a thread needs to decompress a chunk before its turn.
struct GzipStream::Guess {
  Guess(InflaterMaker make, std::size_t text_bytes)
      : first(make), second(make), second_text(new char[text_bytes]) {}

  GzipMembers first;  ///< its text goes to the portion
  GzipMembers second;
  std::unique_ptr<char[]> second_text;
  DeflateWindow window;  ///< the real one
};

unsigned GzipStream::useful_threads(unsigned threads) {
  constexpr unsigned kFewest = 4, kMost = 16;
  return threads < kFewest ? 1 : std::min(threads, kMost);
}

GzipStream::Shape GzipStream::shape(unsigned threads) {
  if (threads == 1)
    return {.text_bytes = 512U << 10, .raw_bytes = 256U << 10, .share = 0.75, .looks_for_blocks = false};
  return {.text_bytes = 1U << 20, .raw_bytes = 512U << 10, .share = 0.5, .looks_for_blocks = true};
}

std::uint64_t GzipStream::memory_bytes(unsigned threads) {
  const Shape shape = GzipStream::shape(threads);
  const std::uint64_t portions = ReadAhead::ring_size(threads) * (shape.text_bytes + shape.raw_bytes);
  const std::uint64_t guesses =
      shape.looks_for_blocks ? threads * (shape.text_bytes + 4 * kInflaterBytes) : 0;
  return portions + guesses + 2 * kInflaterBytes;
}

GzipStream::GzipStream(std::unique_ptr<ByteFile> file, unsigned threads, InflaterMaker make)
    : file_(std::move(file)),
      make_(make),
      shape_(shape(threads)),
      text_per_raw_(kFirstTextPerRaw),
      ahead_(kTakesBack, '\0'),
      members_(make) {}

GzipStream::~GzipStream() = default;

GzipStream::Chunk& GzipStream::chunk_of(Portion& portion) {
  if (!portion.scratch) portion.scratch = std::make_shared<Chunk>();
  return *static_cast<Chunk*>(portion.scratch.get());
}

bool GzipStream::load(Portion& portion) {
  if (is_at_end_) return false;
  Chunk& chunk = chunk_of(portion);
  if (!chunk.raw) chunk.raw.reset(new char[kTakesBack + shape_.raw_bytes]);
  chunk.number = next_number_++;
  chunk.begin_bit = begin_bit_;
  chunk.begins_block = begins_block_;
  chunk.ends_block = false;
  chunk.end_bit = 0;
  std::memcpy(chunk.raw.get(), ahead_.data(), ahead_.size());
  chunk.size = ahead_.size() - kTakesBack;

  const double share = shape_.share * static_cast<double>(shape_.text_bytes) / text_per_raw_.load();
  const auto wanted_bytes = static_cast<std::size_t>(
      std::clamp<double>(share, kFewestRawBytes, static_cast<double>(shape_.raw_bytes)));
  fill(chunk, wanted_bytes);
  if (shape_.looks_for_blocks) end_at_block(chunk, wanted_bytes);

  // The next chunk begins with the byte that this one ends in the middle of.
  const std::size_t taken = chunk.size - (chunk.end_bit > 0 ? 1 : 0);
  if (!chunk.ends_block) ahead_.assign(chunk.begin() + taken - kTakesBack, kTakesBack);
  begins_block_ = chunk.ends_block;
  begin_bit_ = chunk.end_bit;
  chunk.is_last = is_at_end_;
  portion.disk_bytes = taken;
  loaded_bytes_ += taken;
  chunk.file_end = loaded_bytes_;
  chunk.is_begun = chunk.is_done = false;
  chunk.rewind();
  return true;
}

/// Reads until the chunk has `wanted` bytes, or the file ends.
void GzipStream::fill(Chunk& chunk, std::size_t wanted) {
  while (chunk.size < wanted && !is_at_end_) {
    const std::size_t count = file_->read(chunk.raw.get() + kTakesBack + chunk.size, wanted - chunk.size);
    chunk.size += count;
    is_at_end_ = count == 0;
  }
}

/// Makes the chunk end at the first block behind `wanted` bytes; leaves it as long as it can be if there is
/// none.
void GzipStream::end_at_block(Chunk& chunk, std::size_t wanted) {
  std::uint64_t begin = 8 * wanted;
  while (!is_at_end_ && chunk.size < shape_.raw_bytes) {
    fill(chunk, std::min(chunk.size + kSearchBytes, shape_.raw_bytes));
    const std::uint64_t end = 8 * (chunk.size - std::min(chunk.size, kBlockHeaderBytes));
    const auto block = find_block({chunk.begin(), chunk.size}, begin, end);
    if (block) {
      // What was read behind it is the next chunk's.
      const std::size_t place = *block / 8;
      ahead_.assign(chunk.begin() + place - kTakesBack, kTakesBack + chunk.size - place);
      chunk.ends_block = true;
      chunk.end_bit = *block % 8;
      chunk.size = place + (chunk.end_bit > 0 ? 1 : 0);
      is_at_end_ = false;
      return;
    }
    begin = std::max(begin, end);
  }
}

void GzipStream::work(Portion& portion) {
  Chunk& chunk = chunk_of(portion);
  std::unique_ptr<Guess> guessed;
  if (portion.is_urgent && may_be_guessed(chunk)) guessed = guess(portion, chunk);
  if (!await_turn(chunk)) return;
  try {
    if (guessed && is_at_block_) {
      confirm(portion, chunk, *guessed);
    } else {
      decode_in_turn(portion, chunk);
    }
    chunk.sum_up({portion.text.get(), portion.text_size});
  } catch (...) {
    stop();
    throw;
  }
  if (guessed) give_back(std::move(guessed));
}

/// Whether to decompress a chunk before its turn.
bool GzipStream::may_be_guessed(const Chunk& chunk) {
  if (!chunk.begins_block || !(chunk.ends_block || chunk.is_last)) return false;
  const std::lock_guard<std::mutex> guard(mutex_);
  return turn_ != chunk.number;
}

/// Decompresses from the chunk's input until the text is full, or to the chunk's end.
GzipStream::Progress GzipStream::decode(GzipMembers& members, Chunk& chunk, std::span<char>& text) {
  const char* const begin = text.data();
  while (true) {
    const GzipMembers::Status status = members.decode(chunk.input, text);
    if (status == GzipMembers::Status::corrupt || status == GzipMembers::Status::junk)
      return Progress::failed;
    if (status == GzipMembers::Status::end_of_member) {
      chunk.segments.push_back({.end = static_cast<std::size_t>(text.data() - begin),
                                .ends_member = true,
                                .trailer = members.trailer()});
      continue;
    }
    if (text.size() < GzipMembers::kEndText) return Progress::text_full;
    if (!chunk.input.empty()) continue;
    if (!chunk.ends_block || chunk.has_last_byte) return Progress::inside;
    if (members.ends_block(chunk.last(), chunk.end_bit, text)) return Progress::at_block;
    if (chunk.end_bit == 0) return Progress::inside;
    chunk.has_last_byte = true;
    chunk.input = {chunk.begin() + chunk.size - 1, 1};
  }
}

/// Decompresses a whole chunk with both guesses of its window; null if that fails, for whatever reason.
std::unique_ptr<GzipStream::Guess> GzipStream::guess(Portion& portion, Chunk& chunk) {
  std::unique_ptr<Guess> guess = take_guess();
  const auto decode_whole = [&](GzipMembers& members, std::string_view window, char* into) {
    chunk.rewind();
    chunk.enter(members, window);
    std::span<char> text(into, shape_.text_bytes);
    const Progress progress = decode(members, chunk, text);
    portion.text_size = shape_.text_bytes - text.size();
    return progress == Progress::at_block ||
           (chunk.is_last && progress == Progress::inside && members.is_between());
  };
  if (decode_whole(guess->second, DeflateWindow::second_guess(), guess->second_text.get()) &&
      decode_whole(guess->first, DeflateWindow::first_guess(), portion.text.get())) {
    return guess;
  }
  give_back(std::move(guess));
  return nullptr;
}

/// Makes the text of a guess, which starts where a block does indeed.
void GzipStream::confirm(Portion& portion, Chunk& chunk, Guess& guess) {
  char* const text = portion.text.get();
  const char* const second = guess.second_text.get();
  const std::size_t size = portion.text_size;
  chunk.members_before = ended_members_;
  guess.window = window_;
  // Only the first member in the chunk can refer to the text before it. The next chunk waits for the window
  // only, so that comes first.
  const bool ends_member = chunk.ended_members() > 0;
  const std::size_t unknown = ends_member ? chunk.segments.front().end : size;
  const std::size_t in_window = ends_member ? unknown : size - std::min(size, DeflateWindow::kSize);
  bool is_known = guess.window.resolve(text + in_window, second + in_window, unknown - in_window);
  move_window({text, size}, chunk);
  ended_members_ += chunk.ended_members();
  learn(size, static_cast<std::ptrdiff_t>(chunk.size));
  chunk.is_done = true;
  is_at_block_ = !chunk.is_last;
  ++guessed_chunks_;
  pass_turn();

  is_known &= guess.window.resolve(text, second, in_window);
  if (!is_known) fail_corrupt(chunk, chunk.members_before);
}

/// Decompresses the chunk, or what of it the portion has room for. The turn remains the chunk's until all of
/// it is decompressed.
void GzipStream::decode_in_turn(Portion& portion, Chunk& chunk) {
  if (!chunk.is_begun) {
    chunk.is_begun = true;
    chunk.rewind();
    if (is_at_block_) chunk.enter(members_, window_.text());
  }
  chunk.segments.clear();
  chunk.members_before = ended_members_;
  std::span<char> text(portion.text.get(), shape_.text_bytes);
  const char* const from = chunk.input.data();
  const Progress progress = decode(members_, chunk, text);
  portion.text_size = shape_.text_bytes - text.size();
  ended_members_ += chunk.ended_members();
  if (progress == Progress::failed) fail(chunk);
  move_window({portion.text.get(), portion.text_size}, chunk);
  learn(portion.text_size, chunk.input.data() - from);
  if (progress == Progress::text_full) return;
  if (chunk.is_last && !members_.is_between()) fail_truncated(chunk);
  is_at_block_ = progress == Progress::at_block;
  chunk.is_done = true;
  pass_turn();
}

void GzipStream::move_window(std::string_view text, const Chunk& chunk) {
  if (chunk.ended_members() > 0) window_.clear();
  window_.append(text.substr(chunk.last_member()));
}

bool GzipStream::hand_over(Portion& portion) {
  Chunk& chunk = chunk_of(portion);
  if (std::exchange(portion.is_handed_over, true)) {
    if (chunk.is_done) return false;
    decode_in_turn(portion, chunk);
    chunk.sum_up({portion.text.get(), portion.text_size});
  }
  check(chunk);
  return true;
}

/// Compares the text that the reader is given with the trailers of its members.
void GzipStream::check(const Chunk& chunk) {
  std::size_t begin = 0;
  for (const Segment& segment : chunk.segments) {
    crc_ = join_gzip_crcs(crc_, segment.crc, segment.end - begin);
    size_ += segment.end - begin;
    begin = segment.end;
    if (!segment.ends_member) continue;
    if (crc_ != segment.trailer.crc || static_cast<std::uint32_t>(size_) != segment.trailer.size)
      fail_corrupt(chunk, checked_members_);
    ++checked_members_;
    crc_ = 0;
    size_ = 0;
  }
}

/// Remembers how much text has come of how much data.
void GzipStream::learn(std::size_t text, std::ptrdiff_t raw) {
  if (text > 0 && raw > 0) text_per_raw_ = static_cast<double>(text) / static_cast<double>(raw);
}

/// Waits for the chunk's turn; false if nobody reads any more.
bool GzipStream::await_turn(const Chunk& chunk) {
  std::unique_lock<std::mutex> lock(mutex_);
  turn_passed_.wait(lock, [&] { return is_stopped_ || turn_ == chunk.number; });
  return !is_stopped_;
}

void GzipStream::pass_turn() {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    ++turn_;
  }
  turn_passed_.notify_all();
}

void GzipStream::stop() noexcept {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    is_stopped_ = true;
  }
  turn_passed_.notify_all();
}

std::unique_ptr<GzipStream::Guess> GzipStream::take_guess() {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (!spare_guesses_.empty()) {
      std::unique_ptr<Guess> guess = std::move(spare_guesses_.back());
      spare_guesses_.pop_back();
      return guess;
    }
  }
  return std::make_unique<Guess>(make_, shape_.text_bytes);
}

void GzipStream::give_back(std::unique_ptr<Guess> guess) {
  const std::lock_guard<std::mutex> guard(mutex_);
  spare_guesses_.push_back(std::move(guess));
}

/// Says what is wrong with the data in the chunk whose turn it is.
void GzipStream::fail(const Chunk& chunk) {
  if (!members_.is_between()) fail_corrupt(chunk, ended_members_);
  fail_at(
      {file_->shown()},
      fmt::format("what follows gzip member {} is neither another member nor the end of the file, but {}; "
                  "the file is damaged, or something was appended to it",
                  ended_members_, quoted({chunk.input.data(), chunk.input.size()}, 8)));
}

void GzipStream::fail_truncated(const Chunk& chunk) {
  fail_at({file_->shown()}, fmt::format("the gzip data is truncated: the file ends inside member {} after "
                                        "{} bytes; copy or download the file again",
                                        ended_members_ + 1, chunk.file_end));
}

/// `ended` members are before the one that is damaged.
void GzipStream::fail_corrupt(const Chunk& chunk, std::uint64_t ended) {
  fail_at({file_->shown()},
          fmt::format("the gzip data is corrupt in member {}, within the first {} bytes of the "
                      "file; copy or download the file again",
                      ended + 1, chunk.file_end));
}

}  // namespace warpmer::io
