#include "io/hts/cram_source.h"

#include <fmt/format.h>
#include <htslib/cram.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/memory_text.h"
#include "file/input_error.h"
#include "file/shell_word.h"
#include "io/fastx/text_reader.h"
#include "io/hts/bam_encoding.h"
#include "io/hts/reference_index.h"
#include "io/hts/url_source.h"
#include "io/text/input_list.h"
#include "io/text/input_too_large.h"

namespace warpmer::io {
namespace {

using namespace std::string_view_literals;

/// The containers that end a file.
constexpr auto kCram3End =
    "\x0f\x00\x00\x00\xff\xff\xff\xff\x0f\xe0\x45\x4f\x46\x00\x00\x00\x00\x01\x00\x05"
    "\xbd\xd9\x4f\x00\x01\x00\x06\x06\x01\x00\x01\x00\x01\x00\xee\x63\x01\x4b"sv;
constexpr auto kCram2End =
    "\x0b\x00\x00\x00\xff\xff\xff\xff\x0f\xe0\x45\x4f\x46\x00\x00\x00\x00\x01\x00\x00"
    "\x01\x00\x06\x06\x01\x00\x01\x00\x01\x00"sv;

/// Says what takes memory.
std::string describe(const CramNeeds& needs) {
  const auto millions = [](std::uint64_t number) { return static_cast<double>(number) / 1e6; };
  std::string what = fmt::format("slices of {:.1f} million bases", millions(needs.size.slice_bases));
  if (needs.size.header_bytes >= 1'000'000)
    what += fmt::format(", a header of {:.1f} MB", millions(needs.size.header_bytes));
  if (needs.reference_bases >= 1'000'000)
    what += fmt::format(", a reference with sequences of {:.1f} million", millions(needs.reference_bases));
  return what;
}

/// Returns what the plan has set aside, and as much more as a long record of each thread may have; for the
/// only input, as much more as all long records. Without a limit on these there is none.
std::uint64_t allowed_bytes(const std::optional<CramNeeds>& foreseen, const InputOptions& options,
                            unsigned threads) {
  constexpr unsigned kRecords = 4;  // at least; what is allowed for one is a part of what is for all
  if (options.longest_record_bytes == SIZE_MAX) return UINT64_MAX;
  const std::uint64_t record = std::max(options.longest_record_bytes, TextReader::batch_capacity(options));
  const bool is_only_input = threads == options.threads;
  return (foreseen ? foreseen->bytes(threads) : 0) +
         record * (is_only_input ? std::max(threads, kRecords) : threads);
}

/// Returns as many of so many threads as there is room for, 1 at least.
unsigned allowed_threads(unsigned threads, const CramSize& size, std::uint64_t allowed_bytes) {
  while (threads > 1 && CramNeeds{size, 0}.bytes(threads) > allowed_bytes) --threads;
  return threads;
}

}  // namespace

struct CramSource::Handles {
  htsFile* file = nullptr;
  sam_hdr_t* header = nullptr;

  Handles() = default;
  ~Handles() {
    sam_hdr_destroy(header);
    if (file != nullptr) hts_close(file);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
};

CramSource::CramSource(std::unique_ptr<file::ByteFile> file, const InputOptions& options, unsigned threads,
                       const std::optional<CramNeeds>& foreseen, const std::atomic<bool>& cancelled)
    : AlignmentSource(*file, "CRAM", options),
      cancelled_(cancelled),
      allowed_bytes_(allowed_bytes(foreseen, options, threads)),
      threads_(foreseen ? threads : allowed_threads(threads, look_at_cram(*file), allowed_bytes_)),
      watch_(shown()),
      feed_(std::move(file), [this](std::string_view bytes) { inspect(bytes); }),
      handles_(std::make_unique<Handles>()) {
  open(options);
}

CramSource::~CramSource() { close(); }

/// Threads of htslib's may wait for the feed, and the feed for them: it is told to stop, then they close
/// the pipe, and then it has ended.
void CramSource::close() {
  feed_.stop();
  handles_.reset();
}

void CramSource::open(const InputOptions& options) {
  const int descriptor = feed_.take_reading_end();
  hFILE* const stream = hdopen(descriptor, "r");
  if (stream == nullptr) {
    ::close(descriptor);
    fail_reading("htslib cannot read it");
  }
  handles_->file = hts_hopen(stream, shown().c_str(), "r");
  if (handles_->file == nullptr) {
    [[maybe_unused]] const int closed = hclose(stream);
    fail_reading("htslib does not recognise it; the file is damaged, or of a newer version");
  }
  if (!options.keep_alignments) {
    hts_set_opt(handles_->file, CRAM_OPT_REQUIRED_FIELDS, SAM_QNAME | SAM_FLAG | SAM_SEQ | SAM_QUAL);
  }
  if (!options.reading.reference.empty()) use_reference(options.reading.reference);
  handles_->header = sam_hdr_read(handles_->file);
  if (handles_->header == nullptr)
    fail_reading("its header cannot be read; the file is damaged or truncated");
  {
    const std::lock_guard<std::mutex> guard(needs_mutex_);
    needs_.reference_bases = options.reading.reference.empty() ? longest_sequence(*handles_->header)
                                                               : longest_sequence(options.reading.reference);
    check_needs();
  }
  // Not before the header is read: that looks for the end of the file, and waits forever for a reading thread
  // that has met an error already. One thread of htslib's beside ours gains little; more do.
  if (threads_ > 1) hts_set_threads(handles_->file, static_cast<int>(threads_));
}

void CramSource::inspect(std::string_view bytes) {
  const std::lock_guard<std::mutex> guard(needs_mutex_);
  watch_.see(bytes);
  needs_.size = watch_.size();
  check_needs();
}

void CramSource::check_needs() const {
  CramNeeds needs = needs_;
  if (!needs.size.needs_reference) needs.reference_bases = 0;
  const std::uint64_t bytes = needs.bytes(threads_);
  if (bytes <= allowed_bytes_) return;
  throw InputTooLarge(fmt::format(
      "{}: CRAM: decoding it takes about {} ({}), and -m allows {}; raise -m, or leave the file out", shown(),
      mebibytes_needed(bytes), describe(needs), mebibytes(allowed_bytes_)));
}

void CramSource::use_reference(const std::string& reference) {
  // Of a URL that cannot be opened, htslib prints a line.
  if (list_inputs({reference}).front().is_url) {
    for (const std::string& url : {reference, reference + ".fai"}) open_url(url);
  }
  index_reference(reference);
  reference_ = reference;
  if (hts_set_fai_filename(handles_->file, reference.c_str()) == 0) return;
  fail_reading(
      fmt::format("the reference {} cannot be used; it must be readable FASTA with an index beside it "
                  "(`samtools faidx {}`)",
                  reference, file::shell_path(reference)));
}

std::string CramSource::bam_header(const ProgramLine& program) {
  std::optional<std::string> bytes = encode_bam_header(*handles_->header, program);
  if (!bytes) fail_reading(kDamagedHeader);
  return *std::move(bytes);
}

bool CramSource::read(bam1_t& record) {
  const int result = sam_read1(handles_->file, handles_->header, &record);
  if (result == -1) {
    check_end();
    return false;
  }
  if (result < -1) {
    constexpr std::string_view kWhat =
        "the next record cannot be decoded: the file is damaged or truncated, or";
    if (reference_.empty()) {
      fail_reading(fmt::format(
          "{} its reference is not found or not the one it was made with; name it with --reference FILE.fa",
          kWhat));
    }
    fail_reading(
        fmt::format("{} {} is not the reference it was made with, or {}.fai, beside it, is not its index "
                    "(remove it, and it is made anew)",
                    kWhat, reference_, reference_));
  }
  check_size(static_cast<std::uint64_t>(record.l_data));
  return true;
}

/// Takes what htslib has left in the pipe, so that the feed comes to the end of the file.
void CramSource::read_to_end() {
  hFILE* const stream = cram_fd_get_fp(handles_->file->fp.cram);
  std::array<char, 4096> rest;
  while (hread(stream, rest.data(), rest.size()) > 0) continue;
}

/// Throws unless the file ends as its format demands, and all its records were read: with threads, htslib
/// takes a damaged container for the end.
void CramSource::check_end() {
  read_to_end();
  feed_.finish();
  const std::string_view tail = feed_.tail();
  if (!tail.ends_with(kCram3End) && !tail.ends_with(kCram2End))
    fail("truncated: the marker of the end of the data is missing; copy or download the file again");
  if (watch_.is_within_container())
    fail("damaged: a container goes on behind the end of the file; copy or download it again");
  if (records() != watch_.records()) {
    fail(fmt::format("damaged: its containers have {} records, and {} can be read; copy or download it again",
                     watch_.records(), records()));
  }
}

/// Throws the error for what htslib says; or, if the file could not be read on, that is what is wrong.
void CramSource::fail_reading(std::string_view what) {
  close();
  try {
    feed_.finish();
  } catch (const file::Cancelled&) {
    if (cancelled_.load()) throw;
  }
  fail(what);
}

}  // namespace warpmer::io
