#include "io/split_text.h"

#include <algorithm>
#include <utility>

#include "io/blanks.h"
#include "io/byte_file.h"
#include "io/record_guess.h"
#include "io/record_parser.h"

namespace warpmer::io {
namespace {

/// Fewer batches than this are no large file.
constexpr std::uint64_t kLeastSplitBatches = 8;

/// A batch's text is a chunk and what its last record reaches beyond it.
std::size_t slack_of(const InputOptions& options) { return TextReader::batch_capacity(options) / 16; }
std::size_t largest_chunk(const InputOptions& options) {
  return TextReader::batch_capacity(options) - slack_of(options);
}

}  // namespace

bool SplitText::is_large(std::uint64_t disk_bytes, const InputOptions& options) {
  return disk_bytes >= kLeastSplitBatches * largest_chunk(options);
}

SplitText::SplitText(const std::string& path, std::string shown, const InputOptions& options,
                     const std::atomic<bool>& cancelled, std::uint64_t known_bytes)
    : path_(path),
      shown_(std::move(shown)),
      options_(options),
      cancelled_(cancelled),
      file_(path, largest_chunk(options), cancelled, known_bytes),
      known_bytes_(std::max(known_bytes, file_.size())),
      slack_bytes_(slack_of(options)),
      in_order_(file_.chunks() == 0)  // which says what is wrong
{}

bool SplitText::fill(Batch& batch, ReaderShare& share) {
  std::unique_lock lock(mutex_);
  if (!in_order_ && next_chunk_ < file_.chunks()) {
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
      share.records += batch.pieces.size();
      share.disk_bytes += extent->end - extent->begin;
      share.batch = batches_++;
      return true;
    }
    in_order_ = true;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return in_order_ || joined_ == file_.chunks(); });
  return in_order_ && fill_in_order(batch, share);
}

/// Reads a chunk into the batch and parses the records that begin in it. Nothing when it is out of the
/// ordinary.
std::optional<SplitText::Extent> SplitText::parse_chunk(std::uint64_t chunk, Batch& batch) const {
  // With the character before, which tells whether the chunk begins with a line.
  const std::uint64_t offset = file_.begin(chunk) - (chunk == 0 ? 0 : 1);
  const std::uint64_t chunk_end = file_.begin(chunk + 1);
  const bool is_last = chunk + 1 == file_.chunks();
  const auto size = static_cast<std::size_t>(std::min(chunk_end + slack_bytes_, file_.size()) - offset);
  const auto here = static_cast<std::size_t>(chunk_end - offset);
  batch.clear();
  batch.text.reserve(size);
  char* const text = batch.text.data();
  if (!file_.read(offset, size, text)) return std::nullopt;

  const char* const first = chunk == 0 ? text : guess_first_record(text, text + size);
  if (first == nullptr || first >= text + here) return std::nullopt;
  RecordParser parser(shown_, options_, batch_pieces(TextReader::batch_capacity(options_)));
  Window window{text, size, static_cast<std::size_t>(first - text), offset + size == file_.size()};
  const std::size_t begin = window.pos;
  parser.parse(window, batch.pieces);
  if (parser.sequence() || window.pos < here) return std::nullopt;
  std::size_t end = window.pos;
  // Between a record's begin and its name there may be blanks.
  const auto begin_of = [&](const Piece& piece) {
    std::size_t name = piece.name_offset;
    while (is_blank(text[name - 1])) --name;
    return name - 1;
  };
  while (!is_last && !batch.pieces.empty() && begin_of(batch.pieces.back()) >= here) {
    end = begin_of(batch.pieces.back());
    batch.pieces.pop_back();
  }
  if (batch.pieces.empty() || (is_last && end != size)) return std::nullopt;
  batch.text.set_size(end);
  return Extent{offset + begin, offset + end};
}

/// Under the lock: reads on from the beginning, leaving out what chunks have given.
bool SplitText::fill_in_order(Batch& batch, ReaderShare& share) {
  // After an error, which whoever met it reports, there is nothing for the others.
  if (std::exchange(is_over_, true)) return false;
  if (!reader_) {
    reader_ = std::make_unique<TextReader>(
        std::make_unique<ByteFile>(path_, shown_, cancelled_, known_bytes_), shown_, options_);
    noted_records_ = joined_records_;
    noted_bytes_ = joined_bytes_;
  }
  while (reader_->fill(batch)) {
    std::erase_if(batch.pieces, [&](const Piece& piece) { return piece.record <= joined_records_; });
    share.records += std::max(reader_->records(), noted_records_) - noted_records_;
    share.disk_bytes += std::max(reader_->disk_bytes(), noted_bytes_) - noted_bytes_;
    noted_records_ = std::max(reader_->records(), noted_records_);
    noted_bytes_ = std::max(reader_->disk_bytes(), noted_bytes_);
    if (batch.pieces.empty()) continue;
    is_over_ = false;
    share.batch = batches_++;
    return true;
  }
  return false;
}

}  // namespace warpmer::io
