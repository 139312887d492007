#include "io/fastx/plain_text.h"

#include <algorithm>
#include <optional>

#include "file/input_error.h"
#include "io/fastx/record_guess.h"
#include "io/fastx/text_reader.h"

namespace warpmer::io {
namespace {

/// Fewer batches than this are no large file.
constexpr std::uint64_t kLeastRawBatches = 2;

/// Room before the text for a line end. Reading is fastest to where a line of the cache begins.
constexpr std::size_t kFrontBytes = 64;

/// No more than what a batch usually has: as much again would leave the caches before a device has copied it.
std::size_t text_bytes(const InputOptions& options) { return TextReader::batch_capacity(options); }

/// FASTQ: the character before, which tells whether a line begins there, and some records. FASTA: headers as
/// long as they ever are, and an overlap in lines of one character.
ChunkSight sight_of(RawFormat format, const InputOptions& options) {
  if (format == RawFormat::fastq) return {1, text_bytes(options) / 16 - 1};
  const std::size_t header = text_bytes(options) / 128;
  return {header, std::max<std::size_t>(header, 4 * (std::size_t{options.overlap_bases} + 1))};
}

/// A batch's text is a line end, what is looked at before a chunk, the chunk, what is looked at behind it,
/// and a line end.
std::size_t largest_chunk(RawFormat format, const InputOptions& options) {
  const ChunkSight sight = sight_of(format, options);
  const std::size_t text = text_bytes(options), around = kFrontBytes + sight.before + sight.behind + 1;
  return std::max(text / 2, text - std::min(around, text));
}

}  // namespace

std::uint64_t RawChunks::sight_begin(std::uint64_t offset) const {
  return offset - std::min<std::uint64_t>(offset, sight_.before);
}
std::uint64_t RawChunks::sight_end(std::uint64_t offset) const {
  return offset + std::min<std::uint64_t>(file_.size() - offset, sight_.behind);
}

ChunkBorder RawChunks::border_at(std::uint64_t offset, const View& view) const {
  const std::uint64_t begin = sight_begin(offset), end = sight_end(offset);
  const auto place_of = [&](std::uint64_t at) { return view.text + (at - view.offset); };
  // Before the file there is a line end.
  return {begin == 0 ? place_of(0) - 1 : place_of(begin), place_of(offset), place_of(end),
          end == file_.size()};
}

/// Returns where a chunk begins; null if that cannot be seen.
const char* RawChunks::chunk_begin(std::uint64_t offset, const View& view) const {
  const ChunkBorder border = border_at(offset, view);
  if (offset == file_.size()) return border.at;
  if (format_ == RawFormat::fasta) return fasta_chunk_begin(border);
  return offset == 0 ? border.at : guess_first_record(border.at - 1, border.end);
}

/// Returns the bytes with a line end before the text.
std::size_t RawChunks::room(std::uint64_t chunk) const {
  return 1 + static_cast<std::size_t>(sight_end(file_.begin(chunk + 1)) - sight_begin(file_.begin(chunk)));
}

std::optional<RawChunk> RawChunks::read(std::uint64_t chunk, char* into) const {
  const std::uint64_t here = file_.begin(chunk), next = file_.begin(chunk + 1);
  *into = '\n';
  const View view{into + 1, sight_begin(here)};
  try {
    file_.read(view.offset, room(chunk) - 1, into + 1);
  } catch (const file::BecameShorter&) {
    throw;
  } catch (const InputError&) {
    return std::nullopt;
  }
  RawChunk found;
  found.begin = chunk_begin(here, view);
  found.end = chunk_begin(next, view);
  if (found.begin == nullptr || found.end == nullptr || found.end < found.begin) return std::nullopt;
  found.end_border = border_at(next, view);
  found.offset = view.offset + static_cast<std::uint64_t>(std::max(found.begin, view.text) - view.text);
  return found;
}

bool RawTextReader::is_large(std::uint64_t disk_bytes, RawFormat format, const InputOptions& options) {
  return disk_bytes >= kLeastRawBatches * largest_chunk(format, options);
}

RawTextReader::RawTextReader(const InputFile& file, RawFormat format, const InputShare& share,
                             const InputOptions& options, const TextMemory& memory,
                             const std::atomic<bool>& cancelled)
    : overlap_bases_(options.overlap_bases),
      chunks_(file, format, largest_chunk(format, options), sight_of(format, options), cancelled),
      memory_(memory),
      first_chunk_(chunks_.chunks() * share.part / share.parts),
      end_chunk_(chunks_.chunks() * (share.part + 1) / share.parts),
      next_chunk_(first_chunk_) {
  if (chunks_.chunks() == 0) throw RawTextRefused();
}

bool RawTextReader::fill(Batch& batch, ReaderShare& share) {
  const std::uint64_t number = next_chunk_++;
  if (number >= end_chunk_) return false;
  batch.clear();
  if (&batch.text.memory() != &memory_) batch.text = PaddedText(memory_);
  batch.text.reserve(kFrontBytes + chunks_.room(number));
  char* const text = batch.text.data() + kFrontBytes;
  const std::optional<RawChunk> chunk = chunks_.read(number, text - 1);
  if (!chunk) throw RawTextRefused();
  batch.raw_format = chunks_.format();
  batch.raw_begin = static_cast<std::size_t>(chunk->begin - batch.text.data());
  batch.raw_overlap = 0;
  batch.text.set_size(static_cast<std::size_t>(chunk->end - batch.text.data()));
  if (chunks_.format() == RawFormat::fasta) add_overlap(batch, *chunk);
  share.batch = number - first_chunk_;
  share.disk_bytes += static_cast<std::uint64_t>(chunk->end - std::max<const char*>(chunk->begin, text));
  const std::string_view all = batch.raw_text();
  const ChunkBorder& border = chunk->end_border;
  const bool ends_file = border.is_file_end && all.data() + all.size() == border.end;
  if (ends_file && !all.empty() && all.back() != '\n') batch.text.append("\n");
  return true;
}

/// The text so far is the chunk.
void RawTextReader::add_overlap(Batch& batch, const RawChunk& chunk) const {
  if (!is_sequence_at(chunk.end_border, chunk.begin)) throw RawTextRefused();
  const auto overlap = fasta_overlap(chunk.end_border, chunk.end, overlap_bases_);
  if (!overlap) throw RawTextRefused();
  batch.raw_overlap = overlap->characters;
  batch.text.set_size(static_cast<std::size_t>(overlap->end - batch.text.data()));
}

}  // namespace warpmer::io
