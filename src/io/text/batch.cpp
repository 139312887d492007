#include "io/text/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.h"
#include "file/input_error.h"
#include "kmer/alphabet.h"

namespace warpmer::io {

namespace {

class Heap final : public TextMemory {
 public:
  [[nodiscard]] char* allocate(std::size_t bytes) const override { return new (std::nothrow) char[bytes]; }
  void release(char* memory) const noexcept override { delete[] memory; }
};

}  // namespace

const TextMemory& heap_for_text() {
  static const Heap heap;
  return heap;
}

void PaddedText::reserve(std::size_t capacity) {
  if (capacity <= capacity_) return;
  decltype(data_) grown(memory().allocate(capacity + kPadding), data_.get_deleter());
  if (!grown) {
    throw ResourceError(
        fmt::format("no memory for a text buffer of {} bytes; give warpmer more memory, or lower -t if it is "
                    "above 1",
                    capacity));
  }
  if (size_ > 0) std::memcpy(grown.get(), data_.get(), size_);
  data_ = std::move(grown);
  capacity_ = capacity;
}

void PaddedText::append(std::string_view bytes) {
  if (bytes.empty()) return;
  if (size_ + bytes.size() > capacity_) reserve(std::max(size_ + bytes.size(), 2 * capacity_));
  std::memcpy(data_.get() + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
}

std::string_view Batch::header(const Piece& piece) const {
  // In text, the header line ends where the bases begin; the name of an alignment does, too.
  std::string_view header(text.data() + piece.name_offset, piece.offset - piece.name_offset);
  if (header.ends_with('\n')) header.remove_suffix(1);
  if (header.ends_with('\r')) header.remove_suffix(1);
  return header;
}

std::string_view Batch::quality(const Piece& piece) const {
  if (!is_fastq(piece)) return {};
  return {text.data() + piece.companion_offset, piece.length};
}

void append_records(const Batch& from, std::size_t first, std::size_t last, Batch& to) {
  if (first == last) return;
  to.file = from.file;
  to.bam_header = from.bam_header;
  const std::size_t begin = from.pieces[first].name_offset;
  const std::size_t end = last == from.pieces.size() ? from.text.size() : from.pieces[last].name_offset;
  const auto moved = static_cast<std::uint32_t>(to.text.size() - begin);  // modulo 2^32, as the sums below
  to.text.append({from.text.data() + begin, end - begin});
  const auto input_bytes_before = [&](std::size_t piece) {
    return static_cast<std::uint64_t>(static_cast<double>(from.input_bytes) * static_cast<double>(piece) /
                                      static_cast<double>(from.pieces.size()));
  };
  to.input_bytes += input_bytes_before(last) - input_bytes_before(first);
  for (std::size_t i = first; i < last; ++i) {
    Piece& piece = to.pieces.emplace_back(from.pieces[i]);
    piece.offset += moved;
    piece.name_offset += moved;
    if (piece.companion_offset != 0) piece.companion_offset += moved;
  }
}

void throw_bad_base(const Batch& batch, const Piece& piece, std::size_t offset) {
  const char bad = batch.text.data()[piece.offset + offset];
  // Only alignments have it.
  const char* const what =
      bad == '='
          ? "which stands for the reference's base and says not which one (`samtools calmd -e` writes such "
            "files); take the alignments that file was made of, which have all bases"
          : "which is no nucleotide code; leave the file out if it is no DNA or RNA, or pass --lenient to "
            "treat such characters as N";
  file::fail_at({batch.file, piece.record, batch.name(piece), 0},
                fmt::format("position {} of the sequence is {}, {}", piece.first_base + offset + 1,
                            file::quoted(bad), what));
}

void check_bases(const Batch& batch) {
  for (const Piece& piece : batch.pieces) {
    const std::string_view bases = batch.bases(piece);
    const auto bad =
        std::find_if(bases.begin(), bases.end(), [](char c) { return char_class(c) == CharClass::invalid; });
    if (bad != bases.end()) throw_bad_base(batch, piece, static_cast<std::size_t>(bad - bases.begin()));
  }
}

}  // namespace warpmer::io
