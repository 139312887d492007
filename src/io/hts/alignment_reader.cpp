#include "io/hts/alignment_reader.h"

#include <algorithm>
#include <span>
#include <utility>

#include "file/input_error.h"
#include "io/compress/bgzf_blocks.h"
#include "io/compress/content.h"
#include "io/compress/gzip_members.h"
#include "io/fastx/text_reader.h"
#include "io/hts/bam_encoding.h"
#include "io/hts/bam_source.h"
#include "io/hts/cram_source.h"
#include "io/hts/sam_source.h"
#include "io/hts/silence_htslib.h"

namespace warpmer::io {
namespace {

/// BAM codes to bases, and to the bases of the other strand.
constexpr std::string_view kBases = "=ACMGRSVTWYHKDBN";
constexpr std::string_view kComplements = "=TGKCYSBAWRDMHVN";

constexpr int kNoQuality = 0xff;

/// Writes the read's bases, as sequenced, to `to`.
void copy_bases(const bam1_t& record, char* to) {
  const std::uint8_t* const codes = bam_get_seq(&record);
  const int length = record.core.l_qseq;
  if (bam_is_rev(&record)) {
    for (int i = 0; i < length; ++i) to[length - 1 - i] = kComplements[bam_seqi(codes, i)];
  } else {
    for (int i = 0; i < length; ++i) to[i] = kBases[bam_seqi(codes, i)];
  }
}

/// Returns the qualities of a read, if it has any.
std::span<const std::uint8_t> scores_of(const bam1_t& record) {
  const std::uint8_t* const scores = bam_get_qual(&record);
  const auto length = static_cast<std::size_t>(record.core.l_qseq);
  return {scores, length == 0 || scores[0] == kNoQuality ? 0 : length};
}

/// Overwrites bases of lower quality, of a read written by `copy_bases`, by 'N'.
void mask_low_bases(const bam1_t& record, char* bases, int lowest_phred) {
  const std::span<const std::uint8_t> quality = scores_of(record);
  for (std::size_t i = 0; i < quality.size(); ++i) {
    char& base = bases[bam_is_rev(&record) ? quality.size() - 1 - i : i];
    if (quality[i] < lowest_phred && base != '=') base = 'N';
  }
}

}  // namespace

AlignmentReader::AlignmentReader(std::unique_ptr<AlignmentSource> source, const InputOptions& options,
                                 const std::atomic<bool>& cancelled)
    : program_(options.keep_alignments),
      batch_bytes_(TextReader::batch_capacity(options)),
      lowest_phred_(options.reading.min_base_quality.value_or(0)),
      qualities_(options.reading.qualities),
      cancelled_(cancelled),
      source_(std::move(source)),
      record_(bam_init1()) {}

bool AlignmentReader::fill(Batch& batch) {
  batch.clear();
  // Memory that grew for one long record is not kept: InputSet::memory_bytes counts a quarter more than a
  // batch.
  if (batch.text.capacity() > batch_bytes_ + batch_bytes_ / 4) batch.text.give_back();
  if (program_ && !bam_header_)
    bam_header_ = std::make_shared<const std::string>(source_->bam_header(*program_));
  if (!is_pending_) give_back_long_record();
  batch.text.reserve(batch_bytes_);
  batch.bam_header = bam_header_;
  QualityRange range;
  while (is_pending_ || next_primary()) {
    const bam1_t& record = *record_;
    const auto size = static_cast<std::size_t>(record.core.l_qname) +
                      static_cast<std::size_t>(record.core.l_qseq) +
                      (bam_header_ ? static_cast<std::size_t>(record.l_data) : 0);
    is_pending_ = !batch.pieces.empty() && (batch.text.size() + size > batch_bytes_ ||
                                            batch.pieces.size() >= batch_pieces(batch_bytes_));
    if (is_pending_) break;
    if (qualities_ && batch.pieces.size() < kWatchedReads) range.add_scores(scores_of(record));
    add(batch);
  }
  if (qualities_) qualities_->note(source_->shown(), range);
  // A file without records has a header to be handed over.
  const bool is_header_only = bam_header_ && records_ == 0 && !std::exchange(is_header_given_, true);
  return !batch.pieces.empty() || is_header_only;
}

void AlignmentReader::give_back_long_record() {
  if (record_->m_data > batch_bytes_) record_.reset(bam_init1());
}

/// Reads on to the next primary record; false at the end of the file.
bool AlignmentReader::next_primary() {
  constexpr auto kNotPrimary = BAM_FSECONDARY | BAM_FSUPPLEMENTARY;
  while (!is_at_end_) {
    if (cancelled_.load(std::memory_order_relaxed)) throw file::Cancelled{};
    is_at_end_ = !source_->next(*record_);
    if (!is_at_end_ && (record_->core.flag & kNotPrimary) == 0) return true;
  }
  return false;
}

void AlignmentReader::add(Batch& batch) {
  const bam1_t& record = *record_;
  Piece piece;
  piece.record = source_->records();
  piece.name_offset = static_cast<std::uint32_t>(batch.text.size());
  // As in text, a name ends at a blank or a control character; SAM allows none.
  const std::string_view whole_name = bam_get_qname(&record);
  const auto name_end =
      std::ranges::find_if(whole_name, [](char c) { return static_cast<unsigned char>(c) <= ' '; });
  const std::string_view name(whole_name.begin(), name_end);
  piece.name_length = static_cast<std::uint32_t>(name.size());
  batch.text.append(name);
  piece.offset = static_cast<std::uint32_t>(batch.text.size());
  piece.length = static_cast<std::uint32_t>(record.core.l_qseq);
  const std::size_t end = batch.text.size() + piece.length;
  batch.text.reserve(end);
  char* const bases = batch.text.data() + piece.offset;
  copy_bases(record, bases);
  if (lowest_phred_ > 0) mask_low_bases(record, bases, lowest_phred_);
  batch.text.set_size(end);
  if (bam_header_) {
    piece.companion_offset = static_cast<std::uint32_t>(end);
    append_bam_record(record, batch.text);
  }
  batch.pieces.push_back(piece);
  ++records_;
}

namespace {

/// True when a file starts with a BGZF block whose text begins like BAM.
bool is_bam(file::ByteFile& file) {
  const std::optional<std::size_t> block_size = first_bgzf_block(file);
  if (!block_size) return false;
  constexpr std::string_view kBam = "BAM\x01";
  return gzip_start(file.peek(*block_size), kBam.size()) == kBam;
}

bool is_cram(file::ByteFile& file) { return file.peek(kBgzfHeaderBytes).starts_with("CRAM"); }

bool starts_as_sam(file::ByteFile& file) { return is_sam(file.peek(kBgzfHeaderBytes)); }

std::unique_ptr<RecordReader> read(std::unique_ptr<AlignmentSource> source, const RecordInput& input) {
  return std::make_unique<AlignmentReader>(std::move(source), input.options, input.cancelled);
}

std::unique_ptr<RecordReader> open_bam(RecordInput&& input) {
  silence_htslib();
  return read(
      std::make_unique<BamSource>(std::move(input.file), input.options, input.threads, input.cancelled),
      input);
}

std::unique_ptr<RecordReader> open_cram(RecordInput&& input) {
  silence_htslib();
  const auto foreseen = input.foreseen ? std::optional(*input.foreseen) : std::nullopt;
  return read(std::make_unique<CramSource>(std::move(input.file), input.options, input.threads, foreseen,
                                           input.cancelled),
              input);
}

std::unique_ptr<RecordReader> open_sam(RecordInput&& input) {
  silence_htslib();
  return read(std::make_unique<SamSource>(std::move(input.file), input.options), input);
}

}  // namespace

constexpr RecordFormat kBamFormat = {"BAM", is_bam, open_bam};
constexpr RecordFormat kCramFormat = {"CRAM", is_cram, open_cram};
constexpr RecordFormat kSamFormat = {"SAM", starts_as_sam, open_sam, /*is_in_help=*/false};

}  // namespace warpmer::io
