#pragma once
/// A batch: sequences as text, as they come out of any input, ready to be cut into super-k-mers.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace warpmer::io {

/// Gives text buffers their memory: a device copies faster from memory it knows. Thread-safe.
class TextMemory {
 public:
  virtual ~TextMemory() = default;
  /// Returns the memory: null when there is none, or a ResourceError that says more.
  [[nodiscard]] virtual char* allocate(std::size_t bytes) const = 0;
  virtual void release(char* memory) const noexcept = 0;
};
/// Returns the usual place.
const TextMemory& heap_for_text();

/// Growable text buffer that never zero-fills and always keeps `kPadding` readable bytes after its
/// end, so that vector code may load past the last base.
class PaddedText {
 public:
  static constexpr std::size_t kPadding = 128;

  PaddedText() : PaddedText(heap_for_text()) {}
  /// `memory` outlives the buffer.
  explicit PaddedText(const TextMemory& memory) : data_(nullptr, Release{&memory}) {}

  [[nodiscard]] const TextMemory& memory() const noexcept { return *data_.get_deleter().memory; }

  [[nodiscard]] char* data() noexcept { return data_.get(); }
  [[nodiscard]] const char* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  /// Sets the number of bytes in use; at most `capacity()`.
  void set_size(std::size_t size) noexcept { size_ = size; }
  /// Makes room for `capacity` bytes (+ padding), keeping the first `size()` bytes.
  void reserve(std::size_t capacity);
  void append(std::string_view bytes);
  /// Frees the memory, and what is in it.
  void give_back() noexcept {
    data_.reset();
    size_ = capacity_ = 0;
  }

 private:
  struct Release {
    const TextMemory* memory;
    void operator()(char* data) const noexcept { memory->release(data); }
  };

  std::unique_ptr<char[], Release> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// A stretch of consecutive bases of one record, contiguous in `Batch::text`: usually the whole
/// sequence. A sequence too long for one batch is handed over as several pieces, each repeating the
/// last `overlap_bases` bases of the one before, so that no k-mer is lost and none is seen twice. Only
/// FASTA sequences come in pieces, and only those that do not fit a batch. A record without bases is a
/// piece of length 0, and a last piece may hold nothing but the overlap.
struct Piece {
  std::uint64_t record = 0;       ///< ordinal of the record in its file, from 1
  std::uint64_t first_base = 0;   ///< position in the record of the piece's first base, from 0
  std::uint32_t offset = 0;       ///< offset of the first base, in `Batch::text`
  std::uint32_t length = 0;       ///< bases
  std::uint32_t name_offset = 0;  ///< offset of the record's name (without '>' or '@', up to the first blank)
  std::uint32_t name_length = 0;
  /// Offset, in `Batch::text`, of what goes with the bases: in FASTQ the quality, in alignments that are kept
  /// (InputOptions::keep_alignments) the record as it is in BAM. 0: nothing.
  std::uint32_t companion_offset = 0;
  bool last = true;  ///< no further piece of this record follows

  /// Returns the number of bases that were not in the piece before, if pieces overlap by k - 1.
  [[nodiscard]] std::uint32_t new_bases(std::uint32_t k) const {
    return first_base == 0 ? length : length - std::min(length, k - 1);
  }
};

/// Returns the most pieces in a batch of `text_bytes`: records of next to nothing must not make the list of
/// pieces longer than the text.
constexpr std::size_t batch_pieces(std::size_t text_bytes) { return text_bytes / 64 + 1; }

/// Text as it is in the file, for devices that find sequences themselves.
enum class RawFormat : std::uint8_t {
  none,   ///< not that, but pieces
  fastq,  ///< records of four lines
  fasta,  ///< headers and sequence lines, but no FASTQ in between
};

/// Thrown where raw text turns out to be irregular. Means that all has to be read again from the beginning,
/// record by record; caught by the job.
struct RawTextRefused {};

/// Thrown where a part of a file (io/fastx/text_part.h) turns out not to be whole records. Means that the
/// file has to be read again from its beginning; caught by the job.
struct NotDivisible {};

/// Some pieces of one file. Reused from call to call, so that buffers are allocated once.
struct Batch {
  PaddedText text;
  std::vector<Piece> pieces;
  /// Unless none: no pieces, but text as it is in the file, from `raw_begin` on. FASTQ is to be whole
  /// records of four lines, FASTA is cut as io/fastx/fasta_chunk.h says. The backend makes sure of that (as
  /// RecordParser::parse_simple_fastq and io/fastx/fasta_text.h do) or throws RawTextRefused. If no batch of
  /// a file is refused, together they are what the file holds.
  RawFormat raw_format = RawFormat::none;
  std::size_t raw_begin = 0;
  std::uint32_t raw_overlap = 0;  ///< characters of sequence at the text's end that the next one has, too
  /// The bytes that precede the records in a BAM file, for alignments that are kept. One object for all
  /// batches of a file.
  std::shared_ptr<const std::string> bam_header;
  std::string file;               ///< name that the user gave the file ("-" is shown as "standard input")
  std::uint64_t ordinal = 0;      ///< 0, 1, 2, ... in input order, when read in order
  std::uint64_t input_bytes = 0;  ///< bytes of the file (compressed, on disk) this batch accounts for
  bool is_for_all = false;        ///< true for a file that one process reads for all (InputShare::for_all)
  bool is_of_part = false;  ///< true for a part of a file, from whose beginning its records are numbered

  void clear() {
    text.set_size(0);
    pieces.clear();
    raw_format = RawFormat::none;
    bam_header.reset();
    input_bytes = 0;
  }
  [[nodiscard]] std::string_view bases(const Piece& piece) const {
    return {text.data() + piece.offset, piece.length};
  }
  [[nodiscard]] bool is_raw_text() const { return raw_format != RawFormat::none; }
  [[nodiscard]] std::string_view raw_text() const {
    return {text.data() + raw_begin, text.size() - raw_begin};
  }
  [[nodiscard]] std::string_view name(const Piece& piece) const {
    return {text.data() + piece.name_offset, piece.name_length};
  }
  /// Returns the name with what follows it in the header line, without the line's end.
  [[nodiscard]] std::string_view header(const Piece& piece) const;
  /// Returns a character for each base in FASTQ; else it is empty.
  [[nodiscard]] std::string_view quality(const Piece& piece) const;
  [[nodiscard]] bool is_fastq(const Piece& piece) const { return piece.companion_offset != 0 && !bam_header; }
};

/// Appends the pieces [first, last) of `from`, which are whole records of the same file and kind as those in
/// `to`, with all that belongs to them; of `input_bytes`, a share.
void append_records(const Batch& from, std::size_t first, std::size_t last, Batch& to);

/// Throws the InputError for a character that is no nucleotide code: names the file, the record
/// (ordinal and name), the position in it (from 1) and the character.
/// `offset` is the character's offset within `piece`.
[[noreturn]] void throw_bad_base(const Batch& batch, const Piece& piece, std::size_t offset);
/// Throws it for the first such character of a batch, if there is one.
void check_bases(const Batch& batch);

}  // namespace warpmer::io
