#include "io/plain_text.h"

#include <algorithm>

#include "io/input_error.h"
#include "io/record_guess.h"
#include "io/text_reader.h"

namespace warpmer::io {
namespace {

/// Fewer batches than this are no large file.
constexpr std::uint64_t kLeastPlainBatches = 2;

/// Room before the text for a line end. Reading is fastest to where a line of the cache begins.
constexpr std::size_t kFrontBytes = 64;

/// No more than what a batch usually has: as much again would leave the caches before a device has copied it.
std::size_t text_bytes(const InputOptions& options) { return TextReader::batch_capacity(options); }

}  // namespace

/// FASTQ: the character before, which tells whether a line begins there, and some records. FASTA: headers as
/// long as they ever are, and an overlap in lines of one character.
RawTextReader::Sight RawTextReader::sight_of(RawFormat format, const InputOptions& options) {
  if (format == RawFormat::fastq) return {1, text_bytes(options) / 16 - 1};
  const std::size_t header = text_bytes(options) / 128;
  return {header, std::max<std::size_t>(header, 4 * (std::size_t{options.overlap_bases} + 1))};
}

/// A batch's text is a line end, what is looked at before a chunk, the chunk, what is looked at behind it,
/// and a line end.
std::size_t RawTextReader::largest_chunk(RawFormat format, const InputOptions& options) {
  const Sight sight = sight_of(format, options);
  const std::size_t text = text_bytes(options), around = kFrontBytes + sight.before + sight.behind + 1;
  return std::max(text / 2, text - std::min(around, text));
}

bool RawTextReader::is_large(std::uint64_t disk_bytes, RawFormat format, const InputOptions& options) {
  return disk_bytes >= kLeastPlainBatches * largest_chunk(format, options);
}

RawTextReader::RawTextReader(const std::string& path, RawFormat format, const InputShare& share,
                             const InputOptions& options, const TextMemory& memory,
                             const std::atomic<bool>& cancelled, std::uint64_t known_bytes)
    : format_(format),
      overlap_bases_(options.overlap_bases),
      sight_(sight_of(format, options)),
      file_(path, path, largest_chunk(format, options), cancelled, known_bytes),
      memory_(memory),
      cancelled_(cancelled),
      first_chunk_(file_.chunks() * share.part / share.parts),
      end_chunk_(file_.chunks() * (share.part + 1) / share.parts),
      next_chunk_(first_chunk_) {
  if (file_.chunks() == 0) throw RawTextRefused();
}

std::uint64_t RawTextReader::sight_begin(std::uint64_t offset) const {
  return offset - std::min<std::uint64_t>(offset, sight_.before);
}
std::uint64_t RawTextReader::sight_end(std::uint64_t offset) const {
  return offset + std::min<std::uint64_t>(file_.size() - offset, sight_.behind);
}

ChunkBorder RawTextReader::border_at(std::uint64_t offset, const View& view) const {
  const std::uint64_t begin = sight_begin(offset), end = sight_end(offset);
  const auto place_of = [&](std::uint64_t at) { return view.text + (at - view.offset); };
  // Before the file there is a line end.
  return {begin == 0 ? place_of(0) - 1 : place_of(begin), place_of(offset), place_of(end),
          end == file_.size()};
}

/// Null if that cannot be seen.
const char* RawTextReader::chunk_begin(std::uint64_t offset, const View& view) const {
  const ChunkBorder border = border_at(offset, view);
  if (offset == file_.size()) return border.at;
  if (format_ == RawFormat::fasta) return fasta_chunk_begin(border);
  return offset == 0 ? border.at : guess_first_record(border.at - 1, border.end);
}

bool RawTextReader::fill(Batch& batch, ReaderShare& share) {
  const std::uint64_t chunk = next_chunk_++;
  if (chunk >= end_chunk_) return false;
  const std::uint64_t here = file_.begin(chunk), next = file_.begin(chunk + 1);
  const std::uint64_t begin = sight_begin(here), end = sight_end(next);
  batch.clear();
  if (&batch.text.memory() != &memory_) batch.text = TextBuffer(memory_);
  batch.text.reserve(kFrontBytes + (end - begin) + 1);
  char* const text = batch.text.data() + kFrontBytes;
  text[-1] = '\n';
  try {
    file_.read(begin, end - begin, text);
  } catch (const BecameShorter&) {
    throw;
  } catch (const InputError&) {
    throw RawTextRefused();
  }
  const View view{text, begin};
  const char* const first = chunk_begin(here, view);
  const char* const last = chunk_begin(next, view);
  if (first == nullptr || last == nullptr || last < first) throw RawTextRefused();
  batch.raw_format = format_;
  batch.raw_begin = static_cast<std::size_t>(first - batch.text.data());
  batch.raw_overlap = 0;
  batch.text.set_size(static_cast<std::size_t>(last - batch.text.data()));
  if (format_ == RawFormat::fasta) add_overlap(batch, border_at(next, view), last);
  share.batch = chunk - first_chunk_;
  share.disk_bytes += static_cast<std::uint64_t>(last - std::max(first, view.text));
  const std::string_view all = batch.raw_text();
  const bool ends_file = all.data() + all.size() == text + (file_.size() - begin);
  if (ends_file && !all.empty() && all.back() != '\n') batch.text.append("\n");
  return true;
}

/// The text so far is a chunk, and `next` where the one behind it begins.
void RawTextReader::add_overlap(Batch& batch, const ChunkBorder& border, const char* next) const {
  if (!is_sequence_at(border, batch.raw_text().data())) throw RawTextRefused();
  const auto overlap = fasta_overlap(border, next, overlap_bases_);
  if (!overlap) throw RawTextRefused();
  batch.raw_overlap = overlap->characters;
  batch.text.set_size(static_cast<std::size_t>(overlap->end - batch.text.data()));
}

}  // namespace warpmer::io
