#include "io/text_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "io/input_error.h"

namespace warpmer::io {
namespace {

/// Read and parse this much at a time, so that the text is still in the cache when it is parsed.
constexpr std::size_t kTextReadStep = std::size_t{256} << 10;
/// Room for fewer bytes than this is not worth another read.
constexpr std::size_t kLeastRead = std::size_t{16} << 10;
/// A record whose text is longer is no sequencing read, but damage that would eat all memory.
constexpr std::size_t kLongestRecord = std::size_t{1} << 30;

}  // namespace

TextReader::TextReader(std::unique_ptr<ByteSource> source, const std::string& file,
                       const InputOptions& options)
    : source_(std::move(source)),
      file_(file),
      capacity_(batch_capacity(options)),
      overlap_bases_(options.overlap_bases),
      whole_records_(options.whole_records),
      parser_(file, options, batch_pieces(capacity_)) {}

std::size_t TextReader::batch_capacity(const InputOptions& options) {
  constexpr std::size_t kSmallest = 256;  // a header, and some bases more than the overlap
  return std::clamp<std::size_t>(options.batch_bytes, kSmallest + 2 * std::size_t{options.overlap_bases},
                                 kLongestRecord);
}

bool TextReader::fill(Batch& batch) {
  begin(batch);
  while (true) {
    parser_.parse(window_, batch.pieces);
    const bool is_full = batch.pieces.size() >= batch_pieces(capacity_);
    if (window_.is_at_end || is_full || !make_room(batch)) break;
    read_more(batch);
  }
  batch.text.set_size(window_.pos);
  keep_rest();
  return !batch.pieces.empty();
}

/// Starts the batch with what the last one left.
void TextReader::begin(Batch& batch) {
  batch.clear();
  batch.pieces.reserve(batch_pieces(capacity_));  // takes no memory until it is used
  const std::size_t wanted = std::max(capacity_, carried_.size() + capacity_ / 4);
  // What grew for one long record is not kept: InputSet::memory_bytes counts a quarter more than a batch.
  if (batch.text.capacity() > std::max(wanted, capacity_ + capacity_ / 4)) batch.text.give_back();
  batch.text.reserve(wanted);
  batch.text.append(carried_);
  window_.text = batch.text.data();
  window_.size = carried_.size();
}

/// Whether the batch takes more text: sees to it that there is room, or else that it has a piece.
bool TextReader::make_room(Batch& batch) {
  const std::size_t room = batch.text.capacity() - window_.size;
  if (room >= std::min(kLeastRead, capacity_ / 8)) return true;
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

void TextReader::grow(Batch& batch) {
  if (batch.text.capacity() > kLongestRecord) {
    fail_at(
        {file_, parser_.records() + 1},
        fmt::format("the record does not end within {} bytes; the file is no FASTA or FASTQ, or is damaged",
                    kLongestRecord));
  }
  batch.text.set_size(window_.size);
  batch.text.reserve(2 * batch.text.capacity());
  window_.text = batch.text.data();
}

void TextReader::read_more(Batch& batch) {
  // A record that was too long for the last step gets a larger one, lest it be looked at over and over.
  const std::size_t step = std::max(kTextReadStep, window_.size - window_.pos);
  const std::size_t room = batch.text.capacity() - window_.size;
  const std::size_t count = source_->read(window_.text + window_.size, std::min(step, room));
  window_.size += count;
  window_.is_at_end = count == 0;
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

}  // namespace warpmer::io
