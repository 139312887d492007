#include "jobs/matrix_job.h"

#include <fmt/format.h>

#include "backend/indexes/index_set.h"
#include "backend/indexes/matrix_session.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "file/output/ordered_text.h"
#include "host/limits.h"
#include "io/compress/bgzf_writer.h"

namespace warpmer::jobs {
namespace {

/// Rows of an old matrix that a thread works on, and what has been decompressed ahead.
constexpr std::uint64_t kOldRowsOfThread = 6 * formats::MatrixFile::kRowBytes;

/// The level of compression. K-mers are mostly noise to it: 6, the usual one, takes three times as long for a
/// sixth less.
constexpr int kCompressionLevel = 4;

/// Checks that what the first line of an old matrix says holds for the inputs.
void check_alike(const formats::MatrixFile& old, const index::IndexFile& input) {
  const formats::MatrixFormat& format = old.format();
  const index::IndexParams& params = input.params();
  if (format.k != params.k)
    old.fail(1, fmt::format("k = {}, but {} has k = {}", format.k, input.path(), params.k));
  if (format.canonical != params.canonical) {
    const auto text = [](bool canonical) { return canonical ? "canonical k-mers" : "k-mers as read"; };
    old.fail(1,
             fmt::format("{}, but {} has {}", text(format.canonical), input.path(), text(params.canonical)));
  }
  if (format.hash_version != params.hash_version) {
    old.fail(1, fmt::format("hash functions of version {}, but {} has version {}", format.hash_version,
                            input.path(), params.hash_version));
  }
  if (format.min_samples > 1) {
    old.fail(1,
             fmt::format(
                 "it was made with --min-samples {}: k-mers that it left out may be in the new samples, and "
                 "their counts are not known any more; make a matrix of all samples without --append",
                 format.min_samples));
  }
}

formats::MatrixFormat format_of(const MatrixOptions& options, const index::IndexParams& params) {
  formats::MatrixFormat format;
  format.k = params.k;
  format.canonical = params.canonical;
  format.presence = options.old != nullptr ? options.old->format().presence : options.presence;
  format.min_samples = options.min_samples;
  format.hash_version = params.hash_version;
  return format;
}

void check(const MatrixOptions& options) {
  const std::size_t old = options.old != nullptr ? options.old->samples().size() : 0;
  const std::size_t samples = old + options.inputs.size();
  if (options.min_samples > samples) {
    throw UsageError(fmt::format("no k-mer can be in at least {} of {} sample{}; lower --min-samples",
                                 options.min_samples, samples, samples == 1 ? "" : "s"));
  }
}

/// Returns the whole that shares of the matrix are told of: bytes of the old one, which new rows are spread
/// over evenly, or k-mers of the inputs. 0: not known.
std::uint64_t parts_of_all(const MatrixOptions& options, const std::vector<index::IndexFile>& inputs) {
  if (options.old != nullptr) return options.old->file_bytes();
  std::uint64_t entries = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    entries += backend::entries_within(inputs[i], options.of_inputs[i]);
  return entries;
}

using WriteMatrix = std::function<void(std::string_view, const Progress&)>;

void compress(file::TextBuffer& buffer) {
  std::string packed;
  io::append_bgzf(buffer.text(), kCompressionLevel, packed);
  buffer.clear();
  buffer.append(packed);
}

void write_header(const formats::MatrixFormat& format, const std::vector<std::string>& samples,
                  bool is_compressed, const WriteMatrix& write) {
  file::TextBuffer header;
  header.append(formats::matrix_header(format, samples));
  if (is_compressed) compress(header);
  write(header.text(), {});
}

}  // namespace

void write_matrix(const MatrixOptions& options, backend::JobProgress& progress, const WriteMatrix& write) {
  check(options);
  const host::Resources resources = host::settled(options.resources);
  const unsigned threads = resources.threads;
  backend::MatrixPlan plan;
  plan.memory = {.cap = resources.memory_bytes,
                 .other_bytes = file::OrderedText::memory_bytes(threads) +
                                (options.old != nullptr ? threads * kOldRowsOfThread : 0),
                 .threads = threads,
                 .inputs = options.inputs.size()};
  const std::vector<index::IndexFile> inputs = backend::open_alike(options.inputs, plan.memory);
  const index::IndexParams& params = inputs.front().params();
  if (options.old != nullptr) check_alike(*options.old, inputs.front());
  const formats::MatrixFormat format = format_of(options, params);
  std::vector<std::string> samples =
      options.old != nullptr ? options.old->samples() : std::vector<std::string>();
  samples.insert(samples.end(), options.samples.begin(), options.samples.end());
  if (options.begin_table) options.begin_table(format.k, samples);

  plan.presence = format.presence;
  plan.min_samples = static_cast<std::uint32_t>(options.min_samples);
  plan.of_inputs = options.of_inputs;
  const auto session = backend::make_cpu_matrix(plan, inputs, options.old);

  file::OrderedText text(
      threads, parts_of_all(options, inputs), write,
      options.compress ? file::OrderedText::Encode(compress) : file::OrderedText::Encode());
  if (!options.begin_table) write_header(format, samples, options.compress, write);
  progress.shards_total = params.shards();
  progress.stage = backend::JobProgress::Stage::combining;
  run_team(
      threads,
      [&](unsigned thread) {
        session->write_rows(thread, text, [&](std::uint32_t shards) {
          std::uint32_t done = progress.shards_done;
          while (done < shards && !progress.shards_done.compare_exchange_weak(done, shards)) {
          }
        });
      },
      [&] {
        session->cancel();
        text.stop();
      });
  if (options.compress) write(io::kBgzfEnd, {});
  progress.stage = backend::JobProgress::Stage::done;
}

}  // namespace warpmer::jobs
