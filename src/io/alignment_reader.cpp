#include "io/alignment_reader.h"

#include <fmt/core.h>
#include <htslib/bgzf.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>
#include <htslib/hts_log.h>
#include <htslib/sam.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/error.h"
#include "io/bam_encoding.h"
#include "io/bgzf_writer.h"
#include "io/input_error.h"
#include "io/little_endian.h"
#include "io/text_reader.h"

namespace warpmer::io {
namespace {

using namespace std::string_view_literals;

constexpr auto kCram3End =
    "\x0f\x00\x00\x00\xff\xff\xff\xff\x0f\xe0\x45\x4f\x46\x00\x00\x00\x00\x01\x00\x05"
    "\xbd\xd9\x4f\x00\x01\x00\x06\x06\x01\x00\x01\x00\x01\x00\xee\x63\x01\x4b"sv;
constexpr auto kCram2End =
    "\x0b\x00\x00\x00\xff\xff\xff\xff\x0f\xe0\x45\x4f\x46\x00\x00\x00\x00\x01\x00\x00"
    "\x01\x00\x06\x06\x01\x00\x01\x00\x01\x00"sv;

/// BAM codes to bases, and to the bases of the other strand.
constexpr std::string_view kBases = "=ACMGRSVTWYHKDBN";
constexpr std::string_view kComplements = "=TGKCYSBAWRDMHVN";

constexpr int kNoQuality = 0xff;

constexpr std::string_view kUndecodable =
    "the next record cannot be decoded: the file is damaged or truncated; copy or download it again";

std::string_view name_of(Content content) {
  return content == Content::bam ? "BAM" : content == Content::cram ? "CRAM" : "SAM";
}

void silence_htslib() {
  // The library prints to stderr; its return values say enough. Once, before any thread of it runs.
  static const bool is_silent = [] {
    hts_set_log_level(HTS_LOG_OFF);
    return true;
  }();
  static_cast<void>(is_silent);
}

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

/// Overwrites bases of lower quality, of a read written by `copy_bases`, by 'N'.
void mask_low_bases(const bam1_t& record, char* bases, int lowest_phred) {
  const std::uint8_t* const quality = bam_get_qual(&record);
  const int length = record.core.l_qseq;
  if (length == 0 || quality[0] == kNoQuality) return;
  for (int i = 0; i < length; ++i) {
    char& base = bases[bam_is_rev(&record) ? length - 1 - i : i];
    if (quality[i] < lowest_phred && base != '=') base = 'N';
  }
}

}  // namespace

struct AlignmentReader::Handles {
  htsFile* file = nullptr;
  sam_hdr_t* header = nullptr;
  bam1_t* record = bam_init1();

  Handles() = default;
  ~Handles() {
    bam_destroy1(record);
    sam_hdr_destroy(header);
    if (file != nullptr) hts_close(file);
  }
  /// Gives back a record that takes more than so many bytes.
  void give_back(std::size_t most) {
    if (record->m_data <= most) return;
    bam_destroy1(record);
    record = bam_init1();
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
};

AlignmentReader::AlignmentReader(std::unique_ptr<ByteFile> file, Content content, const InputOptions& options,
                                 unsigned threads, const std::atomic<bool>& cancelled)
    : shown_(file->shown()),
      content_(content),
      batch_bytes_(TextReader::batch_capacity(options)),
      longest_record_(TextReader::longest_record(options)),
      lowest_phred_(options.min_base_quality.value_or(0)),
      cancelled_(cancelled),
      feed_(std::move(file)),
      handles_(std::make_unique<Handles>()) {
  open(threads, options);
}

AlignmentReader::~AlignmentReader() { close(); }

/// Threads of htslib's may wait for the feed, and the feed for them: it is told to stop, then they close
/// the pipe, and then it has ended.
void AlignmentReader::close() {
  feed_.stop();
  handles_.reset();
}

void AlignmentReader::open(unsigned threads, const InputOptions& options) {
  silence_htslib();
  const int descriptor = feed_.take_reading_end();
  hFILE* const stream = hdopen(descriptor, "r");
  if (stream == nullptr) {
    ::close(descriptor);
    fail("htslib cannot read it");
  }
  handles_->file = hts_hopen(stream, shown_.c_str(), "r");
  if (handles_->file == nullptr) {
    [[maybe_unused]] const int closed = hclose(stream);
    fail("htslib does not recognise it; the file is damaged, or of a newer version");
  }
  if (content_ == Content::cram) {
    if (!options.keep_alignments) {
      hts_set_opt(handles_->file, CRAM_OPT_REQUIRED_FIELDS, SAM_QNAME | SAM_FLAG | SAM_SEQ | SAM_QUAL);
    }
    const std::string& reference = options.reference;
    if (!reference.empty() && hts_set_fai_filename(handles_->file, reference.c_str()) != 0) {
      fail(
          fmt::format("the reference {} cannot be used; it must be readable FASTA with an index beside it "
                      "(`samtools faidx {}`)",
                      reference, reference));
    }
  }
  handles_->header = sam_hdr_read(handles_->file);
  if (handles_->header == nullptr) fail("its header cannot be read; the file is damaged or truncated");
  if (options.keep_alignments) {
    std::optional<std::string> header = encode_bam_header(*handles_->header, *options.keep_alignments);
    if (!header) fail("lines of its header are damaged; get the file again from where it was made");
    bam_header_ = std::make_shared<const std::string>(*std::move(header));
  }
  // One thread of htslib's beside ours gains little; more do. Not before the header is read: that looks for
  // the end of the file, and waits forever for a reading thread that has met an error already.
  // For SAM, threads keep several times as much text as is parsed, which long records make long.
  constexpr std::size_t kLongRecord = std::size_t{16} << 20;
  if (content_ == Content::sam && longest_record_ < kLongRecord) return;
  if (threads > 1) hts_set_threads(handles_->file, static_cast<int>(threads));
}

std::uint64_t AlignmentReader::disk_bytes() const noexcept {
  if (content_ != Content::bam || is_at_end_) return feed_.disk_bytes();
  return static_cast<std::uint64_t>(handles_->file->fp.bgzf->block_address);
}

bool AlignmentReader::fill(Batch& batch) {
  batch.clear();
  // What grew for one long record is not kept: InputSet::memory_bytes counts a quarter more than a batch.
  if (batch.text.capacity() > batch_bytes_ + batch_bytes_ / 4) batch.text.give_back();
  if (!is_pending_) handles_->give_back(batch_bytes_);
  batch.text.reserve(batch_bytes_);
  batch.bam_header = bam_header_;
  while (is_pending_ || next_primary()) {
    const bam1_t& record = *handles_->record;
    const auto size = static_cast<std::size_t>(record.core.l_qname) +
                      static_cast<std::size_t>(record.core.l_qseq) +
                      (bam_header_ ? static_cast<std::size_t>(record.l_data) : 0);
    is_pending_ = !batch.pieces.empty() && (batch.text.size() + size > batch_bytes_ ||
                                            batch.pieces.size() >= batch_pieces(batch_bytes_));
    if (is_pending_) break;
    add(batch);
  }
  // Of a file without records, there is a header to be handed over.
  const bool is_header_only = bam_header_ && records_ == 0 && !std::exchange(is_header_given_, true);
  return !batch.pieces.empty() || is_header_only;
}

/// Reads on to the next primary record; false at the end of the file.
bool AlignmentReader::next_primary() {
  while (!is_at_end_) {
    if (cancelled_.load(std::memory_order_relaxed)) throw Cancelled{};
    if (content_ == Content::bam) check_next_size();
    const int result = sam_read1(handles_->file, handles_->header, handles_->record);
    if (result < -1) {
      fail(content_ == Content::cram
               ? "the next record cannot be decoded: the file is damaged or truncated, or its reference is "
                 "not the one it was made with or not found; name it with --reference FILE.fa"
               : kUndecodable);
    }
    if (result == -1) {
      check_end();
      is_at_end_ = true;
      break;
    }
    check_size(static_cast<std::uint64_t>(handles_->record->l_data));
    ++alignments_;
    if ((handles_->record->core.flag & (BAM_FSECONDARY | BAM_FSUPPLEMENTARY)) == 0) return true;
  }
  return false;
}

/// Before htslib makes room for a record of BAM. That is possible where the block that has the record's
/// beginning has all of its size, as is so for records of more than a block from all that write as htslib
/// does; others are looked at when they are read.
void AlignmentReader::check_next_size() {
  constexpr int kSizeBytes = 4;
  BGZF* const blocks = handles_->file->fp.bgzf;
  if (bgzf_peek(blocks) < -1) fail(kUndecodable);
  if (blocks->block_length - blocks->block_offset < kSizeBytes) return;
  const char* const size = static_cast<const char*>(blocks->uncompressed_block) + blocks->block_offset;
  check_size(little_endian({size, kSizeBytes}, 0, kSizeBytes));
}

/// Throws if a record of so many bytes is not to be kept whole.
void AlignmentReader::check_size(std::uint64_t bytes) {
  if (bytes > TextReader::kLongestRecord) {
    fail(fmt::format("the next record has {} bytes, and {} is as much as can be kept whole; or it is damaged",
                     bytes, TextReader::kLongestRecord));
  }
  if (bytes <= longest_record_) return;
  throw ResourceError(
      fmt::format("{}, record {}: it has {} MiB, and -m allows {} for one; raise -m, or leave the file out "
                  "if it is damaged",
                  shown_, alignments_ + 1, (bytes >> 20) + 1, longest_record_ >> 20));
}

/// Throws unless the file ends as its format demands.
void AlignmentReader::check_end() {
  feed_.finish();
  const std::string_view tail = feed_.tail();
  const bool is_complete =
      content_ == Content::sam || (content_ == Content::bam && tail.ends_with(kBgzfEnd)) ||
      (content_ == Content::cram && (tail.ends_with(kCram3End) || tail.ends_with(kCram2End)));
  if (!is_complete) {
    fail("truncated: the marker of the end of the data is missing; copy or download the file again");
  }
}

void AlignmentReader::add(Batch& batch) {
  const bam1_t& record = *handles_->record;
  Piece piece;
  piece.record = alignments_;
  piece.name_offset = static_cast<std::uint32_t>(batch.text.size());
  const std::string_view name = bam_get_qname(&record);
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

void AlignmentReader::fail(std::string_view what) {
  close();
  try {
    feed_.finish();  // if it could not read on, that is what is wrong
  } catch (const Cancelled&) {
    if (cancelled_.load()) throw;
  }
  fail_at({shown_, alignments_ + 1}, fmt::format("{}: {}", name_of(content_), what));
}

}  // namespace warpmer::io
