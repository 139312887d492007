#include "io/plain_fastq.h"

#include <algorithm>

#include "io/input_error.h"
#include "io/record_guess.h"
#include "io/text_reader.h"

namespace warpmer::io {
namespace {

/// Fewer batches than this are no large file.
constexpr std::uint64_t kLeastBatches = 2;

/// With what a text buffer adds, no more than what a batch usually has: as much again would leave the caches
/// before a device has copied it.
std::size_t text_bytes(const InputOptions& options) {
  return TextReader::batch_capacity(options) - TextBuffer::kPadding;
}
/// A batch's text is a chunk, the character before, the beginning of the next chunk, and a line end.
std::size_t guess_bytes(const InputOptions& options) { return text_bytes(options) / 16; }
std::size_t largest_chunk(const InputOptions& options) {
  return text_bytes(options) - guess_bytes(options) - 2;
}

}  // namespace

bool PlainFastqText::is_large(std::uint64_t disk_bytes, const InputOptions& options) {
  return disk_bytes >= kLeastBatches * largest_chunk(options);
}

PlainFastqText::PlainFastqText(const std::string& path, const InputOptions& options, const TextMemory& memory,
                               const std::atomic<bool>& cancelled)
    : file_(path, largest_chunk(options), cancelled),
      guess_bytes_(guess_bytes(options)),
      memory_(memory),
      cancelled_(cancelled) {
  if (file_.chunks() == 0) throw NotPlainFastq();
}

bool PlainFastqText::fill(Batch& batch, std::uint64_t& disk_bytes) {
  const std::uint64_t chunk = next_chunk_++;
  if (chunk >= file_.chunks()) return false;
  const bool is_first = chunk == 0, is_last = chunk + 1 == file_.chunks();
  // With the character before a chunk, which tells whether the chunk begins with a line; and with what shows
  // where the next chunk begins.
  const auto look_from = [&](std::uint64_t offset) { return offset == 0 ? 0 : offset - 1; };
  const auto look_to = [&](std::uint64_t offset) {
    return std::min(look_from(offset) + guess_bytes_, file_.size());
  };
  const std::uint64_t begin = look_from(file_.begin(chunk)), next = file_.begin(chunk + 1);
  const std::uint64_t end = is_last ? file_.size() : look_to(next);
  batch.clear();
  if (&batch.text.memory() != &memory_) batch.text = TextBuffer(memory_);
  batch.text.reserve(end - begin + 1);
  char* const text = batch.text.data();
  if (!file_.read(begin, end - begin, text)) {
    if (cancelled_.load(std::memory_order_relaxed)) throw Cancelled();
    throw NotPlainFastq();
  }
  const auto first_record_of = [&](std::uint64_t offset) {
    return guess_first_record(text + (look_from(offset) - begin), text + (look_to(offset) - begin));
  };
  const char* const first = is_first ? text : first_record_of(file_.begin(chunk));
  const char* const last = is_last ? text + (end - begin) : first_record_of(next);
  if (first == nullptr || last == nullptr) throw NotPlainFastq();
  batch.is_fastq = true;
  batch.fastq_begin = static_cast<std::size_t>(first - text);
  batch.text.set_size(static_cast<std::size_t>(last - text));
  disk_bytes += batch.fastq().size();
  if (batch.fastq().back() != '\n') batch.text.append("\n");  // the end of the file
  return true;
}

}  // namespace warpmer::io
