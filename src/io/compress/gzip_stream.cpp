#include "io/compress/gzip_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "file/input_error.h"
#include "io/compress/compressed_errors.h"
#include "io/compress/deflate_blocks.h"

namespace warpmer::io {
namespace {

/// The owner of the stream calls `stop` instead.
const std::atomic<bool> kNeverCancelled = false;

constexpr std::size_t kTakesBack = DeflateInflater::kTakesBack;
constexpr std::size_t kFirstTextPerRaw = 8;                    ///< before any is known; some more than usual
constexpr std::size_t kFewestRawBytes = std::size_t{8} << 10;  ///< fewest bytes of a chunk
constexpr std::size_t kInflaterBytes = std::size_t{128}
                                       << 10;  ///< bytes that ISA-L's state takes, and some more

/// Members that end in a text block's text, at most: endless empty ones must not make the list of them longer
/// than the text.
constexpr std::size_t kMostMembers = 1024;

/// A part of a text block's text, all of it in one member.
struct MemberText {
  std::size_t end = 0;
  std::uint32_t crc = 0;
  bool ends_member = false;
  GzipTrailer trailer;
};

}  // namespace

/// A stretch of the file as it was read.
struct GzipStream::FilePiece {
  FilePiece(const char* bytes_before, std::size_t capacity) : bytes(new char[kTakesBack + capacity]) {
    std::memcpy(bytes.get(), bytes_before, kTakesBack);
  }

  std::unique_ptr<char[]> bytes;  ///< kTakesBack of the piece before, then this one's
  std::size_t size = 0;           ///< without the former
  std::uint64_t file_end = 0;     ///< place in the file at which it ends
  std::atomic<bool> is_asked_for_block = false;

  [[nodiscard]] char* begin() const { return bytes.get() + kTakesBack; }
  [[nodiscard]] const char* end() const { return begin() + size; }
  [[nodiscard]] unsigned char at(std::size_t place) const {
    return static_cast<unsigned char>(begin()[place]);
  }
  /// Returns the first bit at which a block seems to start. The thread that asks first looks for it, and
  /// others wait.
  std::optional<std::uint64_t> first_block() {
    is_asked_for_block = true;
    std::call_once(is_searched_, [this] { block_ = find_block({begin(), size}, 0, 8 * size); });
    return block_;
  }

 private:
  std::once_flag is_searched_;
  std::optional<std::uint64_t> block_;
};

/// The buffers that a thread needs to decompress a chunk before its turn.
struct GzipStream::Decoder {
  Decoder(InflaterMaker make, std::size_t text_bytes)
      : first(make), second(make), second_text(new char[text_bytes]) {}

  GzipMembers first;  ///< its text goes to the text block
  GzipMembers second;
  std::unique_ptr<char[]> second_text;
  DeflateWindow window;  ///< the real one
};

/// The data that one text block is made of: a piece, from its first block if a guess starts there, and then
/// the next piece up to its first block, if that has been asked for. Otherwise all of the piece, or what the
/// chunk before has left of it.
struct GzipStream::GzipChunk : SpeculativeBlock {
  std::shared_ptr<FilePiece> piece;
  std::shared_ptr<FilePiece> next;
  bool is_last = false;  ///< nothing is in the next piece

  bool is_begun = false;
  bool is_done = false;
  std::span<const char> input;              ///< bytes to be decompressed before anything else
  std::optional<std::uint64_t> next_block;  ///< place in the next piece at which it ends
  std::size_t taken_of_next = 0;            ///< bytes
  std::uint64_t text_bytes = 0;             ///< bytes of the whole chunk so far
  std::vector<MemberText> segments;         ///< segments of the text in the text block
  std::uint64_t members_before = 0;         ///< number of members that ended before this text

  // These belong to a chunk that was decompressed before its turn.
  std::unique_ptr<Decoder> decoder;
  std::span<char> guessed;    ///< text
  std::size_t in_window = 0;  ///< so much of it does not reach into the window of the next chunk
  bool is_known = true;       ///< nothing in it refers to what is before the beginning of the stream

  /// Begins with the piece, without the bytes that the chunk before has taken.
  void begin(std::size_t taken) {
    input = {piece->begin() + taken, piece->size - taken};
    next_block.reset();
    taken_of_next = 0;
    text_bytes = 0;
    segments.clear();
  }
  /// Begins where a block starts, at a bit of the piece, after this window.
  void begin_at(std::uint64_t bit, GzipMembers& members, std::string_view window) {
    const unsigned skipped = bit % 8;
    const std::size_t place = bit / 8;
    begin(place + (skipped > 0 ? 1 : 0));
    members.enter(window, skipped > 0 ? piece->at(place) >> skipped : 0, skipped > 0 ? 8 - skipped : 0);
  }
  /// Goes on in the next piece, so far as that belongs to this chunk; false if it does not.
  bool go_on() {
    if (!next_block && next->is_asked_for_block) next_block = next->first_block();
    if (!next_block || taken_of_next >= *next_block / 8) return false;
    taken_of_next = *next_block / 8;
    input = {next->begin(), taken_of_next};
    return true;
  }
  [[nodiscard]] std::size_t ended_members() const {
    return static_cast<std::size_t>(std::count_if(
        segments.begin(), segments.end(), [](const MemberText& segment) { return segment.ends_member; }));
  }
  /// Returns the place in the text where its last member begins, if that is there.
  [[nodiscard]] std::size_t last_member() const {
    for (std::size_t i = segments.size(); i-- > 0;) {
      if (segments[i].ends_member) return segments[i].end;
    }
    return 0;
  }
  /// Returns the bytes of the guessed text that may be copies of the window: none are, behind the end of a
  /// member.
  [[nodiscard]] std::size_t unknown_bytes() const {
    return segments.empty() ? guessed.size() : segments.front().end;
  }
  [[nodiscard]] std::uint64_t file_end() const { return piece->file_end + taken_of_next; }
  void sum_up(std::string_view text);
};

/// Makes the segments cover all of the text, and computes their checksums.
void GzipStream::GzipChunk::sum_up(std::string_view text) {
  segments.push_back({.end = text.size(), .trailer = {}});
  std::size_t begin = 0;
  for (MemberText& segment : segments) {
    segment.crc = gzip_crc(0, text.substr(begin, segment.end - begin));
    begin = segment.end;
  }
}

unsigned GzipStream::useful_threads(unsigned threads) {
  // A guess costs 2.5 times the CPU time of inflating in turn. Reads, gzip, with guesses and without: 0.84
  // and 0.73 s with 4 threads, 0.62 and 0.63 with 6, 0.52 and 0.68 with 8.
  constexpr unsigned kFewest = 6;
  return threads < kFewest ? 1 : std::min(threads, kMostThreads);
}

GzipStream::BufferSizes GzipStream::shape(unsigned threads) {
  if (threads == 1)
    return {.text_bytes = kTextBytes, .raw_bytes = 256U << 10, .share = 0.75, .looks_for_blocks = false};
  return {.text_bytes = 1U << 20, .raw_bytes = 512U << 10, .share = 0.5, .looks_for_blocks = true};
}

std::uint64_t GzipStream::memory_bytes(unsigned threads) {
  const BufferSizes shape = GzipStream::shape(threads);
  const std::uint64_t segments = 2 * (kMostMembers + 1) * sizeof(MemberText);  // as a vector grows
  const std::uint64_t blocks =
      ReadAhead::ring_size(threads) * (shape.text_bytes + shape.raw_bytes + segments) + shape.raw_bytes;
  const std::uint64_t guesses =
      shape.looks_for_blocks ? threads * (shape.text_bytes + 4 * kInflaterBytes) : 0;
  return blocks + guesses + 2 * kInflaterBytes;
}

GzipStream::GzipStream(std::unique_ptr<file::ByteFile> file, unsigned threads, InflaterMaker make,
                       std::uint64_t members)
    : file_(std::move(file)),
      make_(make),
      shape_(shape(threads)),
      text_per_raw_(kFirstTextPerRaw),
      loaded_bytes_(file_->disk_bytes()),
      turns_([this](GzipChunk& chunk) { return accept(chunk); }, kNeverCancelled),
      members_(make, members == 0),
      ended_members_(members),
      checked_members_(members) {}

GzipStream::~GzipStream() = default;

GzipStream::GzipChunk& GzipStream::chunk_of(TextBlock& out) {
  if (!out.scratch) out.scratch = std::make_shared<GzipChunk>();
  return *static_cast<GzipChunk*>(out.scratch.get());
}

/// Returns the next piece of the file; empty at its end. What cannot be read is an error of the piece after
/// that.
std::shared_ptr<GzipStream::FilePiece> GzipStream::read_piece(const FilePiece* before) {
  const double share = shape_.share * static_cast<double>(shape_.text_bytes) / text_per_raw_.load();
  const auto wanted = static_cast<std::size_t>(
      std::clamp<double>(share, kFewestRawBytes, static_cast<double>(shape_.raw_bytes)));
  constexpr char kNothing[kTakesBack] = {};
  const char* const bytes_before = before == nullptr ? kNothing : before->end() - kTakesBack;
  auto piece = std::make_shared<FilePiece>(bytes_before, wanted);
  try {
    while (piece->size < wanted) {
      const std::size_t count = file_->read(piece->begin() + piece->size, wanted - piece->size);
      if (count == 0) break;
      piece->size += count;
    }
  } catch (...) {
    read_error_ = std::current_exception();
  }
  loaded_bytes_ += piece->size;
  piece->file_end = loaded_bytes_;
  return piece;
}

bool GzipStream::load(TextBlock& out) {
  if (next_number_ == 0) ahead_ = read_piece(nullptr);
  if (is_at_end_) return false;
  if (ahead_->size == 0 && read_error_) std::rethrow_exception(read_error_);
  GzipChunk& chunk = chunk_of(out);
  chunk.number = next_number_++;
  chunk.piece = std::move(ahead_);
  ahead_ = read_error_ ? std::make_shared<FilePiece>(chunk.piece->end() - kTakesBack, 0)
                       : read_piece(chunk.piece.get());
  chunk.next = ahead_;
  chunk.is_last = is_at_end_ = ahead_->size == 0 && !read_error_;
  chunk.is_begun = chunk.is_done = false;
  out.disk_bytes = chunk.piece->size;
  return true;
}

void GzipStream::work(TextBlock& out) {
  GzipChunk& chunk = chunk_of(out);
  chunk.is_accepted = false;
  chunk.decoder = out.is_urgent && may_speculate(chunk) ? decode_speculatively(out, chunk) : nullptr;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!turns_.await(lock, chunk)) return;
  }
  try {
    if (chunk.is_accepted) {
      complete_accepted(chunk);
    } else {
      decode_in_turn(out, chunk);
    }
    chunk.sum_up({out.text.get(), out.text_size});
    out.has_more = !chunk.is_done;
  } catch (...) {
    stop();
    throw;
  }
  if (chunk.decoder) give_back(std::move(chunk.decoder));
}

/// True when a chunk should be decompressed before its turn.
bool GzipStream::may_speculate(const GzipChunk& chunk) {
  if (!shape_.looks_for_blocks) return false;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (turns_.turn() == chunk.number) return false;
  }
  return chunk.piece->first_block() && (chunk.is_last || chunk.next->first_block());
}

/// Decompresses from the chunk's input until the text is full, of characters or members, or to the chunk's
/// end.
GzipStream::DecodeState GzipStream::decode(GzipMembers& members, GzipChunk& chunk, std::span<char>& text) {
  const char* const begin = text.data();
  while (true) {
    const GzipMembers::Status status = members.decode(chunk.input, text);
    if (status == GzipMembers::Status::corrupt || status == GzipMembers::Status::junk)
      return DecodeState::failed;
    if (status == GzipMembers::Status::end_of_member) {
      chunk.segments.push_back({.end = static_cast<std::size_t>(text.data() - begin),
                                .ends_member = true,
                                .trailer = members.trailer()});
      if (chunk.segments.size() == kMostMembers) return DecodeState::text_full;
      continue;
    }
    if (text.size() < GzipMembers::kEndText) return DecodeState::text_full;
    if (!chunk.input.empty() || chunk.go_on()) continue;
    const auto end = chunk.next_block;
    if (end && members.ends_block(chunk.next->at(*end / 8), *end % 8, text)) return DecodeState::at_block;
    return DecodeState::inside;
  }
}

/// Decompresses a whole chunk with both guesses of its window; null if that fails, for whatever reason.
std::unique_ptr<GzipStream::Decoder> GzipStream::decode_speculatively(TextBlock& out, GzipChunk& chunk) {
  std::unique_ptr<Decoder> decoder = take_decoder();
  const auto decode_whole = [&](GzipMembers& members, std::string_view window, char* into) {
    chunk.begin_at(*chunk.piece->first_block(), members, window);
    std::span<char> text(into, shape_.text_bytes);
    const DecodeState progress = decode(members, chunk, text);
    out.text_size = shape_.text_bytes - text.size();
    return progress == DecodeState::at_block ||
           (chunk.is_last && progress == DecodeState::inside && members.is_between());
  };
  if (decode_whole(decoder->second, DeflateWindow::second_guess(), decoder->second_text.get()) &&
      decode_whole(decoder->first, DeflateWindow::first_guess(), out.text.get())) {
    chunk.guessed = {out.text.get(), out.text_size};
    return decoder;
  }
  give_back(std::move(decoder));
  return nullptr;
}

/// Makes the window of the next chunk, which waits for it, if this chunk's guess starts where a block does
/// indeed.
bool GzipStream::accept(GzipChunk& chunk) {
  if (!chunk.decoder || !is_at_block_) return false;
  const char* const second = chunk.decoder->second_text.get();
  const std::span<char> text = chunk.guessed;
  chunk.members_before = ended_members_;
  chunk.decoder->window = window_;
  const std::size_t unknown = chunk.unknown_bytes();
  const bool ends_member = !chunk.segments.empty();
  chunk.in_window = ends_member ? unknown : unknown - std::min(unknown, DeflateWindow::kSize);
  chunk.is_known =
      window_.resolve(text.data() + chunk.in_window, second + chunk.in_window, unknown - chunk.in_window);
  move_window({text.data(), text.size()}, chunk);
  ended_members_ += chunk.ended_members();
  chunk.text_bytes = text.size();
  ++speculative_chunks_;
  leave(chunk, !chunk.is_last);
  return true;
}

/// Looks up the rest of its text.
void GzipStream::complete_accepted(GzipChunk& chunk) {
  chunk.is_known &=
      chunk.decoder->window.resolve(chunk.guessed.data(), chunk.decoder->second_text.get(), chunk.in_window);
  if (!chunk.is_known) fail_corrupt(chunk, chunk.members_before);
}

/// Decompresses the chunk, or what of it the text block has room for. The turn remains the chunk's until all
/// of it is decompressed.
void GzipStream::decode_in_turn(TextBlock& out, GzipChunk& chunk) {
  if (!chunk.is_begun) {
    chunk.is_begun = true;
    if (is_at_block_) {
      chunk.begin_at(*chunk.piece->first_block(), members_, window_.text());
    } else {
      chunk.begin(taken_);
    }
  }
  chunk.segments.clear();
  chunk.members_before = ended_members_;
  std::span<char> text(out.text.get(), shape_.text_bytes);
  const DecodeState progress = decode(members_, chunk, text);
  out.text_size = shape_.text_bytes - text.size();
  ended_members_ += chunk.ended_members();
  if (progress == DecodeState::failed) fail(chunk);
  move_window({out.text.get(), out.text_size}, chunk);
  chunk.text_bytes += out.text_size;
  if (progress == DecodeState::text_full) return;
  if (chunk.is_last && !members_.is_between()) fail_truncated(chunk);
  leave(chunk, progress == DecodeState::at_block);
  end_turn();
}

void GzipStream::move_window(std::string_view text, const GzipChunk& chunk) {
  if (chunk.ended_members() > 0) window_.clear();
  window_.append(text.substr(chunk.last_member()));
}

bool GzipStream::hand_over(TextBlock& out) {
  GzipChunk& chunk = chunk_of(out);
  if (std::exchange(out.is_handed_over, true)) {
    decode_in_turn(out, chunk);
    chunk.sum_up({out.text.get(), out.text_size});
  }
  check(chunk);
  return !chunk.is_done;
}

/// Compares the text that the reader is given with the trailers of its members.
void GzipStream::check(const GzipChunk& chunk) {
  std::size_t begin = 0;
  for (const MemberText& segment : chunk.segments) {
    crc_ = join_gzip_crcs(crc_, segment.crc, segment.end - begin);
    size_ += segment.end - begin;
    begin = segment.end;
    if (!segment.ends_member) continue;
    if (crc_ != segment.trailer.crc || static_cast<std::uint32_t>(size_) != segment.trailer.size)
      fail_corrupt(chunk, checked_members_);
    check_bgzf_end(segment.trailer);
    ++checked_members_;
    crc_ = 0;
    size_ = 0;
  }
  if (chunk.is_last && chunk.is_done && lacks_bgzf_end_) fail_bgzf_end();
}

/// Takes note of a member, which may be a BGZF block: an empty one ends these.
void GzipStream::check_bgzf_end(const GzipTrailer& member) {
  if (member.kind == MemberKind::plain && lacks_bgzf_end_) fail_bgzf_end();
  // Blocks are small: one whose header was not read is hardly ever the first or the last one with text.
  if (member.kind != MemberKind::unknown || member.size == 0)
    lacks_bgzf_end_ = member.kind == MemberKind::bgzf && member.size > 0;
}

/// To be called when the chunk is at its end: at the first block of the next piece, or not.
void GzipStream::leave(GzipChunk& chunk, bool is_at_block) noexcept {
  chunk.is_done = true;
  if (chunk.text_bytes > 0 && chunk.piece->size > 0)
    text_per_raw_ = static_cast<double>(chunk.text_bytes) / static_cast<double>(chunk.piece->size);
  is_at_block_ = is_at_block;
  taken_ = chunk.taken_of_next;
}

void GzipStream::end_turn() {
  const std::lock_guard<std::mutex> guard(mutex_);
  turns_.end();
}

/// Accepted chunks are completed: they come before the one that failed.
void GzipStream::stop() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  turns_.stop();
}

std::unique_ptr<GzipStream::Decoder> GzipStream::take_decoder() {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (!spare_decoders_.empty()) {
      std::unique_ptr<Decoder> decoder = std::move(spare_decoders_.back());
      spare_decoders_.pop_back();
      return decoder;
    }
  }
  return std::make_unique<Decoder>(make_, shape_.text_bytes);
}

void GzipStream::give_back(std::unique_ptr<Decoder> decoder) {
  const std::lock_guard<std::mutex> guard(mutex_);
  spare_decoders_.push_back(std::move(decoder));
}

/// Says what is wrong with the data in the chunk whose turn it is.
void GzipStream::fail(const GzipChunk& chunk) {
  if (!members_.is_between()) fail_corrupt(chunk, ended_members_);
  file::fail_at(
      {file_->shown()},
      fmt::format("what follows gzip member {} is neither another member nor the end of the file, but {}; "
                  "the file is damaged, or something was appended to it",
                  ended_members_, file::quoted({chunk.input.data(), chunk.input.size()}, 8)));
}

void GzipStream::fail_truncated(const GzipChunk& chunk) {
  file::fail_at({file_->shown()},
                fmt::format("the gzip data is truncated: the file ends inside member {} after "
                            "{} bytes; copy or download the file again",
                            ended_members_ + 1, chunk.file_end()));
}

/// The last member that was checked is a BGZF block with text, and no other block follows.
void GzipStream::fail_bgzf_end() {
  fail_without_bgzf_end(*file_, fmt::format("after gzip member {}", checked_members_));
}

/// `ended` members are before the one that is damaged.
void GzipStream::fail_corrupt(const GzipChunk& chunk, std::uint64_t ended) {
  file::fail_at({file_->shown()},
                fmt::format("the gzip data is corrupt in member {}, within the first {} bytes of the "
                            "file; copy or download the file again",
                            ended + 1, chunk.file_end()));
}

}  // namespace warpmer::io
