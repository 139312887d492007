/// All inputs of a job, read by any number of threads: each works on one file at a time, or on its part of a
/// large one.

#include "io/input_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "file/input_error.h"
#include "io/blocks/file_blocks.h"
#include "io/compress/content.h"
#include "io/compress/decompressed.h"
#include "io/fastx/plain_text.h"
#include "io/fastx/record_reader.h"
#include "io/fastx/sampled_text.h"
#include "io/fastx/text_part.h"
#include "io/fastx/text_reader.h"
#include "io/fastx/text_stream.h"
#include "io/hts/cram_memory.h"
#include "io/hts/url_source.h"
#include "io/record_formats.h"
#include "io/text/input_list.h"

namespace warpmer::io {
namespace {

/// More open files than this would gain nothing, and come near the limits of small systems.
constexpr std::size_t kMostOpen = 64;

/// A file being read; `reader` is null until its turn comes.
struct OpenInput {
  const InputFile* file = nullptr;
  const InputShare* share = nullptr;
  std::unique_ptr<RecordReader> reader;
  std::uint64_t first_ordinal = 0;  ///< ordinal of its first batch, if inputs are read in order
  std::uint64_t disk_bytes = 0;     ///< bytes that batches have accounted for
  std::uint64_t records = 0;
};

}  // namespace

struct InputSet::Impl {
  Impl(InputShares&& given_shares, std::uint32_t owner, const InputOptions& given);

  bool next(Batch& batch);
  static bool fill(OpenInput& input, Batch& batch);
  std::unique_ptr<OpenInput> acquire();
  void release(std::unique_ptr<OpenInput> input, Batch& batch);
  void retire(std::unique_ptr<OpenInput> input);
  void account(OpenInput& input, Batch& batch);
  std::unique_ptr<RecordReader> open(const InputFile& file, const InputShare& share) const;
  std::unique_ptr<RecordReader> open_sample(const InputFile& file, const InputShare& share);
  void choose_sample_share();
  std::unique_ptr<RecordReader> open_compressed(const InputFile& input, std::unique_ptr<file::ByteFile> file,
                                                InputContent content) const;
  bool gives_raw(const InputFile& input, RawFormat format) const;
  bool is_shared(const InputFile& input) const;
  std::unique_ptr<RecordReader> share_stream(std::unique_ptr<BlockSource> blocks,
                                             const InputFile& input) const;
  static RawFormat raw_format(const InputFile& input, file::ByteFile& file);
  std::uint64_t decompression_bytes_of(const InputFile& input) const;
  void share(const OpenInput& input);

  InputOptions options;
  std::vector<InputFile> inputs;
  std::vector<InputShare> shares;  ///< the parts of them that are read
  std::vector<std::string> names;
  std::uint64_t bytes_total = 0;
  double sample_share = 1;
  std::size_t most_open = 1;
  unsigned threads_per_file = 1;
  const TextMemory* text_memory = nullptr;  ///< for text that is handed over as it is in the file
  bool has_raw_fasta = true;                ///< if any, FASTA, too

  std::atomic<bool> cancelled = false;
  std::atomic<std::uint64_t> bytes_done = 0;
  std::atomic<std::uint64_t> records = 0;
  std::atomic<std::uint64_t> begun_inputs = 0;  ///< number of inputs of which a sample has the beginning

  std::mutex mutex;  ///< guards what follows
  std::condition_variable changed;
  std::deque<std::unique_ptr<OpenInput>> idle;  ///< open, and no thread is reading them
  std::size_t next_input = 0;
  std::size_t open_count = 0;
  std::uint64_t next_ordinal = 0;
};

InputSet::Impl::Impl(InputShares&& given_shares, std::uint32_t owner, const InputOptions& given)
    : options(given), inputs(std::move(given_shares.files)), shares(std::move(given_shares.shares)) {
  if (!options.reading.reference.empty()) list_inputs({options.reading.reference});
  std::erase_if(shares, [&](const InputShare& share) { return share.owner != owner; });
  for (const InputFile& input : inputs) names.push_back(input.path);
  bool is_total_known = true;
  for (const InputShare& share : shares) {
    bytes_total += inputs[share.file].disk_bytes / share.parts;
    is_total_known &= inputs[share.file].is_regular;
  }
  if (!is_total_known) bytes_total = 0;
  choose_sample_share();
  const std::size_t threads = std::max(options.threads, 1U);
  if (!options.in_order) most_open = std::clamp<std::size_t>(shares.size(), 1, std::min(threads, kMostOpen));
  threads_per_file = static_cast<unsigned>((threads + most_open - 1) / most_open);
}

/// Chooses the share of each input that makes a sample of the size that is wanted.
void InputSet::Impl::choose_sample_share() {
  if (options.sample_bytes == 0) return;
  for (const InputFile& input : inputs) {
    if (!input.is_regular) {
      throw UsageError(
          fmt::format("{} is no file that a sample could be taken of and that could be read again; read all "
                      "of it with --full",
                      input.shown));
    }
  }
  if (options.sample_bytes < bytes_total)
    sample_share = static_cast<double>(options.sample_bytes) / static_cast<double>(bytes_total);
}

std::unique_ptr<RecordReader> InputSet::Impl::open_sample(const InputFile& input, const InputShare& share) {
  if (sample_share >= 1) return open(input, share);
  RawFormat format = RawFormat::none;
  {
    file::ByteFile file(input.path, input.shown, cancelled, input.disk_bytes);
    if (can_be_opened_again(input) && detect_content(file) == InputContent::text)
      format = raw_format(input, file);
  }
  if (format != RawFormat::none) {
    auto reader = std::make_unique<SampleReader>(input, format, options, sample_share, cancelled);
    if (reader->finds_records()) return reader;
  }
  ++begun_inputs;
  const double bytes = sample_share * static_cast<double>(input.disk_bytes);
  return std::make_unique<BeginningReader>(open(input, share), static_cast<std::uint64_t>(bytes) + 1);
}

std::unique_ptr<RecordReader> InputSet::Impl::open(const InputFile& input, const InputShare& share) const {
  // Before anything is read: what "-" stands for is read from one place by all its readers.
  const std::optional<CramNeeds> foreseen = look_at_cram(input, options.reading.reference);
  auto file = input.is_url
                  ? std::make_unique<file::ByteFile>(open_url(input.path), input.shown, cancelled)
                  : std::make_unique<file::ByteFile>(input.path, input.shown, cancelled, input.disk_bytes);
  if (input.is_range()) file->restrict_to(input.begin, input.end);
  const InputContent content = detect_content(*file);
  const RawFormat format = content == InputContent::text ? raw_format(input, *file) : RawFormat::none;
  // Batches that one process reads for all go to others as pieces.
  if (gives_raw(input, format) && !share.for_all) {
    auto text = std::make_shared<RawTextReader>(input, format, share, options, *text_memory, cancelled);
    return std::make_unique<SharedReader<RawTextReader>>(std::move(text));
  }
  if (share.parts > 1) return open_file_part(input, share.part, share.parts, options, cancelled);
  switch (content) {
    case InputContent::records: {
      const RecordFormat* own = record_format_of(*file);
      return own->open(
          {input, std::move(file), options, threads_per_file, foreseen ? &*foreseen : nullptr, cancelled});
    }
    case InputContent::gzip:
    case InputContent::bgzf:
    case InputContent::zstd:
    case InputContent::bzip2:
    case InputContent::xz:
      return open_compressed(input, std::move(file), content);
    case InputContent::text:
      break;
  }
  if (format == RawFormat::fastq && is_shared(input)) {
    auto blocks = std::make_unique<FileBlocks>(
        input.path, input.shown, SharedStreamReader::largest_block(options), cancelled, input.disk_bytes);
    if (!blocks->is_empty()) return share_stream(std::move(blocks), input);
  }
  return std::make_unique<TextReader>(std::move(file), input.shown, options);
}

std::unique_ptr<RecordReader> InputSet::Impl::open_compressed(const InputFile& input,
                                                              std::unique_ptr<file::ByteFile> file,
                                                              InputContent content) const {
  if (threads_per_file == 1 || options.one_caller) {
    return std::make_unique<TextReader>(
        decompressed_ahead(std::move(file), content, threads_per_file, cancelled), input.shown, options);
  }
  auto text = decompressed_for_readers(std::move(file), content, threads_per_file, cancelled);
  if (text->block_capacity() > SharedStreamReader::largest_block(options))
    return std::make_unique<TextReader>(std::move(text), input.shown, options);
  return share_stream(std::move(text), input);
}

/// Makes a reader for several threads.
std::unique_ptr<RecordReader> InputSet::Impl::share_stream(std::unique_ptr<BlockSource> blocks,
                                                           const InputFile& input) const {
  return std::make_unique<SharedReader<SharedStreamReader>>(
      std::make_shared<SharedStreamReader>(std::move(blocks), input.shown, options, cancelled));
}

/// True when the text of a file of this format is handed over as it is.
bool InputSet::Impl::gives_raw(const InputFile& input, RawFormat format) const {
  return text_memory != nullptr &&
         (format == RawFormat::fastq || (format == RawFormat::fasta && has_raw_fasta)) &&
         RawTextReader::is_large(input.disk_bytes, format, options);
}

/// True when several threads should read a FASTQ file at once.
bool InputSet::Impl::is_shared(const InputFile& input) const {
  return !options.one_caller && threads_per_file > 1 &&
         SharedStreamReader::is_large(input.disk_bytes, options);
}

/// Returns the text that an input seems to be, if it can be read from any place, as often as one likes.
RawFormat InputSet::Impl::raw_format(const InputFile& input, file::ByteFile& file) {
  if (!can_be_opened_again(input)) return RawFormat::none;
  const std::string_view first = file.peek(1);
  return first == "@" ? RawFormat::fastq : first == ">" ? RawFormat::fasta : RawFormat::none;
}

/// Hands out readers of the same file to the threads that have none.
void InputSet::Impl::share(const OpenInput& input) {
  const std::lock_guard<std::mutex> guard(mutex);
  for (unsigned thread = 1; thread < threads_per_file; ++thread) {
    auto reader = input.reader->another();
    if (!reader) return;
    auto another = std::make_unique<OpenInput>();
    another->file = input.file;
    another->share = input.share;
    another->first_ordinal = input.first_ordinal;
    another->reader = std::move(reader);
    ++open_count;
    idle.push_back(std::move(another));
  }
  changed.notify_all();
}

/// Returns the most bytes that decompression of an input holds. One that is not to be looked at now may be
/// gzip.
std::uint64_t InputSet::Impl::decompression_bytes_of(const InputFile& input) const {
  if (!input.is_regular || !can_be_opened_again(input)) return gunzipping_bytes(threads_per_file);
  file::ByteFile file(input.path, input.shown, cancelled);
  return decompression_bytes(file, threads_per_file);
}

bool InputSet::Impl::next(Batch& batch) {
  while (std::unique_ptr<OpenInput> input = acquire()) {
    try {
      if (!input->reader) {
        input->reader = open_sample(*input->file, *input->share);
        share(*input);
      }
      if (fill(*input, batch)) {
        if (options.reading.qualities) options.reading.qualities->note(input->file->shown, batch);
        batch.file = input->file->shown + input->reader->place();
        batch.is_for_all = input->share->for_all;
        batch.is_of_part = input->share->parts > 1;
        release(std::move(input), batch);
        return true;
      }
      retire(std::move(input));
    } catch (const file::Cancelled&) {
      return false;
    } catch (...) {
      // One damaged input spoils the job: the other threads need not go on.
      cancelled = true;
      throw;
    }
  }
  return false;
}

/// An error in a part of a file is found again, with its place, when the file is read from its beginning.
/// That it became shorter would not be.
bool InputSet::Impl::fill(OpenInput& input, Batch& batch) {
  try {
    return input.reader->fill(batch);
  } catch (const file::BecameShorter&) {
    throw;
  } catch (const InputError&) {
    if (input.share->parts > 1) throw NotDivisible();
    throw;
  }
}

/// Returns an input that this thread may read until it gives it back: one that is open, else the next one,
/// else waits for one to become free. Null when all are read, or the job is cancelled.
std::unique_ptr<OpenInput> InputSet::Impl::acquire() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!cancelled) {
    if (!idle.empty()) {
      std::unique_ptr<OpenInput> input = std::move(idle.front());
      idle.pop_front();
      return input;
    }
    if (next_input < shares.size() && open_count < most_open) {
      auto input = std::make_unique<OpenInput>();
      input->share = &shares[next_input++];
      input->file = &inputs[input->share->file];
      input->first_ordinal = next_ordinal;
      ++open_count;
      return input;
    }
    if (open_count == 0) return nullptr;
    changed.wait_for(lock, file::kCancelCheck);
  }
  return nullptr;
}

void InputSet::Impl::release(std::unique_ptr<OpenInput> input, Batch& batch) {
  account(*input, batch);
  {
    const std::lock_guard<std::mutex> guard(mutex);
    const std::optional<std::uint64_t> number =
        options.in_order ? input->reader->batch_number() : std::nullopt;
    batch.ordinal = number ? input->first_ordinal + *number : next_ordinal;
    ++next_ordinal;
    idle.push_back(std::move(input));
  }
  changed.notify_one();
}

void InputSet::Impl::retire(std::unique_ptr<OpenInput> input) {
  Batch nothing;
  account(*input, nothing);
  input.reset();
  {
    const std::lock_guard<std::mutex> guard(mutex);
    --open_count;
  }
  changed.notify_all();
}

void InputSet::Impl::account(OpenInput& input, Batch& batch) {
  const std::uint64_t disk_bytes = input.reader->disk_bytes();
  const std::uint64_t record_count = input.reader->records();
  batch.input_bytes = disk_bytes - input.disk_bytes;
  bytes_done.fetch_add(batch.input_bytes, std::memory_order_relaxed);
  records.fetch_add(record_count - input.records, std::memory_order_relaxed);
  input.disk_bytes = disk_bytes;
  input.records = record_count;
}

InputSet::InputSet(const std::vector<std::string>& paths, const InputOptions& options)
    : InputSet(all_for_one(list_inputs(paths)), 0, options) {}

InputSet::InputSet(const InputShares& shares, std::uint32_t owner, const InputOptions& options)
    : impl_(std::make_unique<Impl>(InputShares(shares), owner, options)) {}

// Readers in the middle of a pipe give up only when told so.
InputSet::~InputSet() { cancel(); }

void InputSet::enable_raw_text(const TextMemory& memory) {
  const auto& inputs = impl_->inputs;
  const bool can_begin_again = std::all_of(inputs.begin(), inputs.end(),
                                           [](const InputFile& input) { return can_be_opened_again(input); });
  if (can_begin_again) impl_->text_memory = &memory;
}

std::size_t InputSet::enable_raw_fastq(const TextMemory& memory) {
  enable_raw_text(memory);
  impl_->has_raw_fasta = false;
  const auto is_raw = [&](const InputFile& input) {
    if (!impl_->gives_raw(input, RawFormat::fastq)) return false;
    file::ByteFile file(input.path, input.shown, impl_->cancelled);
    return detect_content(file) == InputContent::text && Impl::raw_format(input, file) == RawFormat::fastq;
  };
  return static_cast<std::size_t>(std::count_if(impl_->inputs.begin(), impl_->inputs.end(), is_raw));
}

bool InputSet::next(Batch& batch) { return impl_->next(batch); }

void InputSet::cancel() noexcept { impl_->cancelled = true; }

InputProgress InputSet::progress() const noexcept {
  return {impl_->bytes_done.load(std::memory_order_relaxed), impl_->bytes_total};
}

std::uint64_t InputSet::alike_bytes() const { return bytes_of_alike(impl_->inputs); }

const std::vector<std::string>& InputSet::files() const noexcept { return impl_->names; }

std::uint64_t InputSet::memory_bytes(unsigned batches) const {
  const std::uint64_t batch = TextReader::batch_capacity(impl_->options) + PaddedText::kPadding;
  const std::uint64_t pieces = batch_pieces(batch) * sizeof(Piece);
  // For each open file: what a batch left over, and the decompressed text that is ready.
  std::uint64_t decompression = 0;
  std::size_t crams = 0;
  std::uint64_t cram = 0;  // the most that one holds
  for (const InputFile& input : impl_->inputs) {
    if (const auto needs = look_at_cram(input, impl_->options.reading.reference)) {
      ++crams;
      cram = std::max(cram, needs->bytes(impl_->threads_per_file));
    } else {
      decompression = std::max(decompression, impl_->decompression_bytes_of(input));
    }
  }
  return batches * (batch + batch / 4 + pieces) + impl_->most_open * (batch + decompression) +
         std::min(crams, impl_->most_open) * cram;
}

std::uint64_t InputSet::begun_inputs() const noexcept { return impl_->begun_inputs; }

std::uint64_t InputSet::records() const noexcept { return impl_->records.load(std::memory_order_relaxed); }

}  // namespace warpmer::io
