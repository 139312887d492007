#include "io/fastx/text_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/memory_text.h"
#include "file/input_error.h"
#include "io/text/input_too_large.h"

namespace warpmer::io {
namespace {

/// Read and parse this much at a time, so that the text is still in the cache when it is parsed.
constexpr std::size_t kTextReadStep = std::size_t{256} << 10;

}  // namespace

TextReader::TextReader(std::unique_ptr<file::ByteSource> source, const std::string& file,
                       const InputOptions& options)
    : source_(std::move(source)),
      file_(file),
      capacity_(batch_capacity(options)),
      overlap_bases_(options.overlap_bases),
      longest_record_(longest_record(options)),
      whole_records_(options.whole_records),
      parser_(file, options, batch_pieces(capacity_)) {}

std::size_t TextReader::batch_capacity(const InputOptions& options) {
  constexpr std::size_t kSmallest = 256;  // a header, and some bases more than the overlap
  // With its padding, a large buffer is as large as was asked for, so that it fits where such are kept.
  constexpr std::size_t kLarge = std::size_t{1} << 16;
  const std::size_t bytes = options.batch_bytes - (options.batch_bytes >= kLarge ? PaddedText::kPadding : 0);
  return std::clamp<std::size_t>(bytes, kSmallest + 2 * std::size_t{options.overlap_bases}, kLongestRecord);
}

std::size_t TextReader::longest_record(const InputOptions& options) {
  return std::clamp(options.longest_record_bytes, batch_capacity(options), kLongestRecord);
}

bool TextReader::fill(Batch& batch) {
  begin(batch);
  while (true) {
    look(batch);
    const bool is_full = batch.pieces.size() >= batch_pieces(capacity_);
    if (window_.is_at_end || is_full || !make_room(batch)) break;
    if (read_more(batch)) continue;
    if (!batch.pieces.empty()) break;
    interrupt(batch);
    return false;
  }
  batch.text.set_size(window_.pos);
  keep_rest();
  return !batch.pieces.empty();
}

/// Parses what there is. A record that did not end within it is looked at again when there is twice as much
/// of it, or no more room, however little each read gives: a line of a gigabyte must not be searched again
/// with each.
void TextReader::look(Batch& batch) {
  const bool is_complete = window_.is_at_end || window_.size == batch.text.capacity();
  if (!is_complete && window_.size - window_.pos < 2 * looked_at_) return;
  parser_.parse(window_, batch.pieces);
  looked_at_ = window_.size - window_.pos;
}

/// Keeps the text, with whatever record in it is not complete.
void TextReader::interrupt(Batch& batch) {
  std::swap(batch.text, interrupted_);
  is_interrupted_ = true;
  carried_ = {};  // it is in the text, and may have been long
}

/// Starts the batch with what the last one left.
void TextReader::begin(Batch& batch) {
  batch.clear();
  batch.pieces.reserve(batch_pieces(capacity_));  // takes no memory until it is used
  if (std::exchange(is_interrupted_, false)) {
    std::swap(batch.text, interrupted_);
    interrupted_.give_back();
    return;
  }
  looked_at_ = 0;  // a batch may have ended because it had enough pieces
  const std::size_t wanted = std::max(capacity_, carried_.size() + capacity_ / 4);
  // A buffer that grew for one long record is not kept: InputSet::memory_bytes counts a quarter more than a
  // batch.
  if (batch.text.capacity() > std::max(wanted, capacity_ + capacity_ / 4)) batch.text.give_back();
  batch.text.reserve(wanted);
  batch.text.append(carried_);
  window_.text = batch.text.data();
  window_.size = carried_.size();
}

/// Makes room in the batch for more text, or else sees to it that the batch has a piece. True when there is
/// room.
bool TextReader::make_room(Batch& batch) {
  // Whatever room there is, so that where a batch ends does not depend on how much each read gave.
  if (batch.text.capacity() > window_.size) return true;
  if (!batch.pieces.empty()) return false;
  if (const auto& sequence = parser_.sequence()) {
    if (!whole_records_ && sequence->end - sequence->begin > overlap_bases_) {
      parser_.hand_over_part(batch.pieces);
      return false;
    }
  } else if (window_.pos > 0) {  // blank lines before the record
    window_.size -= window_.pos;
    std::memmove(window_.text, window_.text + window_.pos, window_.size);
    window_.pos = 0;
    return true;
  }
  grow(batch);
  return true;
}

/// While text is copied both buffers are there: the last step is large, so that the text before it is at most
/// half of the longest.
void TextReader::grow(Batch& batch) {
  if (batch.text.capacity() >= longest_record_) refuse_record();
  batch.text.set_size(window_.size);
  const std::size_t twice = 2 * batch.text.capacity();
  batch.text.reserve(2 * twice > longest_record_ ? longest_record_ : twice);
  window_.text = batch.text.data();
}

void TextReader::refuse_record() const {
  if (longest_record_ == kLongestRecord && parser_.sequence()) {
    file::fail_at(
        {file_, parser_.records()},  // it has been counted with its header
        fmt::format("the sequence does not end within {} bytes, and none that is longer can be kept "
                    "whole, as it has to be here: divide it into shorter ones",
                    kLongestRecord));
  }
  if (longest_record_ == kLongestRecord) {
    file::fail_at(
        {file_, parser_.records() + 1},
        fmt::format("the record does not end within {} bytes, which is as much as can be kept whole; or the "
                    "file is no FASTA or FASTQ, or is damaged",
                    kLongestRecord));
  }
  // By its name: in a part of a file, its number is another.
  const std::string_view text(window_.text, window_.size);
  throw InputTooLarge(fmt::format(
      "{}: the record {} does not end within {}, which is as much as -m allows for one; raise "
      "-m, or leave the file out if it is damaged",
      file_, file::quoted(text.substr(0, text.find_first_of(" \t\r\n"))), mebibytes(longest_record_)));
}

/// False if there is no more for now.
bool TextReader::read_more(Batch& batch) {
  const std::size_t room = batch.text.capacity() - window_.size;
  const std::size_t count = source_->read(window_.text + window_.size, std::min(kTextReadStep, room));
  window_.size += count;
  if (count == 0 && source_->is_interrupted()) return false;
  window_.is_at_end = count == 0;
  return true;
}

/// Copies what the next batch goes on with: an unfinished FASTA sequence with its header, or the text of
/// an unfinished record.
void TextReader::keep_rest() {
  carried_.clear();
  if (auto& sequence = parser_.sequence()) {
    carried_.assign(window_.text + sequence->name_offset, sequence->header_length);
    carried_.append(window_.text + sequence->begin, sequence->end - sequence->begin);
    sequence->name_offset = 0;
    sequence->begin = sequence->header_length;
    sequence->end = carried_.size();
  }
  const std::size_t parsed = carried_.size();
  carried_.append(window_.text + window_.pos, window_.size - window_.pos);
  window_.pos = parsed;
  window_.size = carried_.size();
}

std::optional<std::uint64_t> TextReader::adopt(const SpeculativeParse& ahead, Batch& batch,
                                               std::vector<Piece>& joined) {
  joined.clear();
  if (is_interrupted_ || carried_.size() > ahead.begin) return std::nullopt;
  const std::size_t begin = ahead.begin - carried_.size();
  char* const text = batch.text.data();
  std::memset(text, 0, begin);  // not used
  std::memcpy(text + begin, carried_.data(), carried_.size());

  // With the first character of the record ahead, by which a sequence before it is known to be complete.
  Window window{text, ahead.first + 1, begin + window_.pos, false};
  RecordParser parser = parser_;
  if (auto& sequence = parser.sequence()) {
    sequence->name_offset += static_cast<std::uint32_t>(begin);
    sequence->begin += begin;
    sequence->end += begin;
  }
  try {
    parser.parse(window, joined);
  } catch (const InputError&) {
    return std::nullopt;  // reading comes to the same place
  }
  const std::size_t pieces = joined.size() + batch.pieces.size();
  if (window.pos != ahead.first || parser.sequence() || pieces > batch_pieces(capacity_)) return std::nullopt;

  const std::uint64_t records_before = parser.records();
  parser_ = std::move(parser);
  parser_.skip(ahead.records, ahead.lines);
  carried_.assign(ahead.unparsed);
  window_.pos = 0;
  window_.size = carried_.size();
  return records_before;
}

}  // namespace warpmer::io
