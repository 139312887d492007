#include "io/fastx/sampled_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace warpmer::io {
namespace {

/// Enough that finding a place costs little beside reading what is there; smaller if a file would have less
/// than so many.
constexpr std::uint64_t kLargestSample = std::uint64_t{1} << 20;
constexpr std::uint64_t kSmallestSample = std::uint64_t{32} << 10;
constexpr double kFewestSamples = 16;
/// Looked at behind a chunk for its end, and before it for the line it begins in.
constexpr std::uint64_t kSightBehind = std::uint64_t{1} << 20;
constexpr std::uint64_t kSightBefore = std::uint64_t{32} << 10;

std::uint64_t chunk_bytes(std::uint64_t file_bytes, double share) {
  return std::clamp(static_cast<std::uint64_t>(static_cast<double>(file_bytes) * share / kFewestSamples),
                    kSmallestSample, kLargestSample);
}

/// Text in memory.
class MemorySource final : public file::ByteSource {
 public:
  explicit MemorySource(std::string text) : text_(std::move(text)) {}
  std::size_t read(char* into, std::size_t size) override {
    const std::size_t count = std::min(size, text_.size() - at_);
    std::memcpy(into, text_.data() + at_, count);
    at_ += count;
    return count;
  }
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override { return at_; }

 private:
  const std::string text_;
  std::size_t at_ = 0;
};

}  // namespace

SampleReader::SampleReader(const InputFile& file, RawFormat format, const InputOptions& options, double share,
                           const std::atomic<bool>& cancelled)
    : shown_(file.shown),
      options_(options),
      chunks_(file, format, chunk_bytes(file.disk_bytes, share), {kSightBefore, kSightBehind}, cancelled),
      samples_(std::min(chunks_.chunks(),
                        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(std::ceil(
                                                       static_cast<double>(chunks_.chunks()) * share)))))) {}

std::uint64_t SampleReader::chunk_of(std::uint64_t sample) const {
  return sample * chunks_.chunks() / samples_;
}

bool SampleReader::finds_records() const {
  return samples_ > 0 && read(0) && read(chunk_of(samples_ / 2)) && read(chunks_.chunks() / 2);
}

std::optional<SampleReader::Sample> SampleReader::read(std::uint64_t chunk) const {
  std::string text(chunks_.room(chunk), '\0');
  const std::optional<RawChunk> found = chunks_.read(chunk, text.data());
  if (!found || found->begin == found->end) return std::nullopt;
  return Sample{{found->begin, found->end}, found->offset};
}

/// False when there is no further sample.
bool SampleReader::open_next() {
  while (next_sample_ < samples_) {
    auto sample = read(chunk_of(next_sample_++));
    if (!sample) continue;
    disk_bytes_ += sample->text.size();
    offset_ = sample->offset;
    // In the middle of a FASTA sequence there is no header.
    if (chunks_.format() == RawFormat::fasta && offset_ > 0) {
      sample->text.insert(0, sample->text.front() == '\n' ? ">sample" : ">sample\n");
    }
    reader_ = std::make_unique<TextReader>(std::make_unique<MemorySource>(std::move(sample->text)),
                                           shown_ + place(), options_);
    return true;
  }
  return false;
}

bool SampleReader::fill(Batch& batch) {
  while (reader_ || open_next()) {
    if (reader_->fill(batch)) return true;
    records_ += reader_->records();
    reader_.reset();
  }
  return false;
}

std::uint64_t SampleReader::records() const noexcept { return records_ + (reader_ ? reader_->records() : 0); }

std::string SampleReader::place() const {
  return offset_ == 0 ? "" : fmt::format(" (from byte {} on)", offset_);
}

}  // namespace warpmer::io
