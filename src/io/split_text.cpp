#include "io/split_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "io/byte_file.h"
#include "io/record_parser.h"

namespace warpmer::io {
namespace {

/// Fewer batches than this are no large file.
constexpr std::uint64_t kLeastBatches = 8;
/// Lines looked at for the beginning of a record.
constexpr int kMostLines = 16;
/// So much is read at a time, and then the job may have been cancelled.
constexpr std::size_t kReadStep = std::size_t{1} << 20;

/// A batch's text is a chunk and what its last record reaches beyond it.
std::size_t slack_of(const InputOptions& options) { return TextReader::batch_capacity(options) / 16; }
std::size_t largest_chunk(const InputOptions& options) {
  return TextReader::batch_capacity(options) - slack_of(options);
}

/// A line of a text: [begin, end), and the line end behind it.
struct Line {
  const char* begin;
  const char* end;
  [[nodiscard]] std::ptrdiff_t size() const { return end - begin; }
};

std::optional<Line> line_at(const char* at, const char* end) {
  if (at >= end) return std::nullopt;
  const auto* line_end = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
  if (line_end == nullptr) return std::nullopt;
  return Line{at, line_end};
}

/// Whether a record of four lines seems to begin at `at`. In such a file nothing else looks like one: of
/// two lines, the second after the first, '@' and '+' begin a header and its '+' line, for if they were
/// qualities, or a '+' line, the other would be a sequence or a header.
bool begins_record(const char* at, const char* end) {
  if (at >= end || *at != '@') return false;
  const auto header = line_at(at, end);
  const auto bases = header ? line_at(header->end + 1, end) : std::nullopt;
  const auto plus = bases ? line_at(bases->end + 1, end) : std::nullopt;
  const auto quality = plus ? line_at(plus->end + 1, end) : std::nullopt;
  if (!quality || *plus->begin != '+' || quality->size() != bases->size()) return false;
  return quality->end + 1 == end || quality->end[1] == '@';
}

/// The first record that begins behind the first line end; null if there is none soon.
const char* first_record(const char* text, const char* end) {
  const char* at = text;
  for (int i = 0; i < kMostLines; ++i) {
    const auto line = line_at(at, end);
    if (!line) return nullptr;
    at = line->end + 1;
    if (begins_record(at, end)) return at;
  }
  return nullptr;
}

}  // namespace

bool SplitText::is_large(std::uint64_t disk_bytes, const InputOptions& options) {
  return disk_bytes >= kLeastBatches * largest_chunk(options);
}

SplitText::SplitText(std::string path, std::string shown, const InputOptions& options,
                     const std::atomic<bool>& cancelled)
    : path_(std::move(path)),
      shown_(std::move(shown)),
      options_(options),
      cancelled_(cancelled),
      descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)),
      slack_bytes_(slack_of(options)) {
  struct stat status {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) {
    in_order_ = true;  // which says what is wrong
    return;
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
  const std::uint64_t most = largest_chunk(options);
  // All of one size: a last chunk of some lines might have no record to begin with.
  const std::uint64_t least = std::max<std::uint64_t>(1, (size_ + most - 1) / most);
  chunk_bytes_ = std::max<std::uint64_t>(1, (size_ + least - 1) / least);
  chunks_ = (size_ + chunk_bytes_ - 1) / chunk_bytes_;
  in_order_ = chunks_ == 0;
}

SplitText::~SplitText() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool SplitText::fill(Batch& batch, std::uint64_t& records, std::uint64_t& disk_bytes) {
  std::unique_lock lock(mutex_);
  if (!in_order_ && next_chunk_ < chunks_) {
    const std::uint64_t chunk = next_chunk_++;
    lock.unlock();
    std::optional<Extent> extent;
    try {
      extent = parse_chunk(chunk, batch);
    } catch (const std::exception&) {
      // The reader that reads in order comes to the same place, and knows where it is.
    }
    lock.lock();
    changed_.wait(lock, [&] { return in_order_ || joined_ == chunk; });
    if (!in_order_ && extent && extent->begin == joined_bytes_) {
      for (Piece& piece : batch.pieces) piece.record += joined_records_;
      joined_records_ += batch.pieces.size();
      joined_bytes_ = extent->end;
      ++joined_;
      changed_.notify_all();
      records += batch.pieces.size();
      disk_bytes += extent->end - extent->begin;
      return true;
    }
    in_order_ = true;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return in_order_ || joined_ == chunks_; });
  return in_order_ && fill_in_order(batch, records, disk_bytes);
}

/// Reads a chunk into the batch and parses the records that begin in it. Nothing when it is out of the
/// ordinary.
std::optional<SplitText::Extent> SplitText::parse_chunk(std::uint64_t chunk, Batch& batch) const {
  // With the character before, which tells whether the chunk begins with a line.
  const std::uint64_t offset = chunk * chunk_bytes_ - (chunk == 0 ? 0 : 1);
  const std::uint64_t chunk_end = std::min((chunk + 1) * chunk_bytes_, size_);
  const bool is_last = chunk + 1 == chunks_;
  const auto size = static_cast<std::size_t>(std::min(chunk_end + slack_bytes_, size_) - offset);
  const auto here = static_cast<std::size_t>(chunk_end - offset);
  batch.pieces.clear();
  batch.text.set_size(0);
  batch.text.reserve(size);
  char* const text = batch.text.data();
  if (!read_at(offset, size, text)) return std::nullopt;

  const char* const first = chunk == 0 ? text : first_record(text, text + size);
  if (first == nullptr || first >= text + here) return std::nullopt;
  RecordParser parser(shown_, options_, batch_pieces(TextReader::batch_capacity(options_)));
  Window window{text, size, static_cast<std::size_t>(first - text), offset + size == size_};
  const std::size_t begin = window.pos;
  parser.parse(window, batch.pieces);
  if (parser.sequence() || window.pos < here) return std::nullopt;
  std::size_t end = window.pos;
  // A FASTQ record begins one character before its name.
  while (!is_last && !batch.pieces.empty() && batch.pieces.back().name_offset > here) {
    end = batch.pieces.back().name_offset - 1;
    batch.pieces.pop_back();
  }
  if (batch.pieces.empty() || (is_last && end != size)) return std::nullopt;
  batch.text.set_size(end);
  return Extent{offset + begin, offset + end};
}

bool SplitText::read_at(std::uint64_t offset, std::size_t size, char* into) const {
  for (std::size_t done = 0; done < size;) {
    if (cancelled_.load(std::memory_order_relaxed)) return false;
    const ssize_t count = ::pread(descriptor_, into + done, std::min(kReadStep, size - done),
                                  static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

/// Under the lock: reads on from the beginning, leaving out what chunks have given.
bool SplitText::fill_in_order(Batch& batch, std::uint64_t& records, std::uint64_t& disk_bytes) {
  // After an error, which whoever met it reports, there is nothing for the others.
  if (std::exchange(is_over_, true)) return false;
  if (!reader_) {
    reader_ =
        std::make_unique<TextReader>(std::make_unique<ByteFile>(path_, shown_, cancelled_), shown_, options_);
    noted_records_ = joined_records_;
    noted_bytes_ = joined_bytes_;
  }
  while (reader_->fill(batch)) {
    std::erase_if(batch.pieces, [&](const Piece& piece) { return piece.record <= joined_records_; });
    records += std::max(reader_->records(), noted_records_) - noted_records_;
    disk_bytes += std::max(reader_->disk_bytes(), noted_bytes_) - noted_bytes_;
    noted_records_ = std::max(reader_->records(), noted_records_);
    noted_bytes_ = std::max(reader_->disk_bytes(), noted_bytes_);
    if (batch.pieces.empty()) continue;
    is_over_ = false;
    return true;
  }
  return false;
}

}  // namespace warpmer::io
