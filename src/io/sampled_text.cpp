#include "io/sampled_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "io/fasta_chunk.h"
#include "io/input_error.h"
#include "io/record_guess.h"

namespace warpmer::io {
namespace {

/// Enough that finding a place costs little beside reading what is there; smaller if a file would have less
/// than so many.
constexpr std::uint64_t kLargestBlock = std::uint64_t{1} << 20;
constexpr std::uint64_t kSmallestBlock = std::uint64_t{32} << 10;
constexpr double kBlocks = 16;
/// Looked at behind a block for its end, and before it for the line it begins in.
constexpr std::uint64_t kSightBehind = std::uint64_t{1} << 20;
constexpr std::uint64_t kSightBefore = std::uint64_t{32} << 10;

std::uint64_t block_bytes(std::uint64_t file_bytes, double share) {
  return std::clamp(static_cast<std::uint64_t>(static_cast<double>(file_bytes) * share / kBlocks),
                    kSmallestBlock, kLargestBlock);
}

/// Text in memory.
class TextSource final : public ByteSource {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)) {}
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

SampleReader::SampleReader(const std::string& path, std::string shown, RawFormat format,
                           const InputOptions& options, double share, const std::atomic<bool>& cancelled)
    : shown_(std::move(shown)),
      format_(format),
      options_(options),
      file_(path, shown_, block_bytes(ChunkedFile(path, shown_, kLargestBlock, cancelled).size(), share),
            cancelled),
      blocks_(std::min(file_.chunks(),
                       std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(std::ceil(
                                                      static_cast<double>(file_.chunks()) * share)))))) {}

std::uint64_t SampleReader::chunk_of(std::uint64_t block) const { return block * file_.chunks() / blocks_; }

bool SampleReader::finds_records() const {
  return blocks_ > 0 && read_block(0) && read_block(chunk_of(blocks_ / 2)) && read_block(file_.chunks() / 2);
}

std::optional<SampleReader::Block> SampleReader::read_block(std::uint64_t chunk) const {
  const std::uint64_t here = file_.begin(chunk), next = file_.begin(chunk + 1);
  const std::uint64_t begin = here - std::min(here, kSightBefore);
  const std::uint64_t end = std::min(next + kSightBehind, file_.size());
  // Before the file there is a line end.
  std::string text(end - begin + 1, '\n');
  try {
    file_.read(begin, end - begin, text.data() + 1);
  } catch (const BecameShorter&) {
    throw;
  } catch (const InputError&) {
    return std::nullopt;
  }
  const char* const front = text.data() + 1;
  const auto start_at = [&](std::uint64_t offset) -> const char* {
    const char* const at = front + (offset - begin);
    const char* const behind = text.data() + text.size();
    if (offset == file_.size()) return at;
    if (format_ == RawFormat::fastq) return offset == 0 ? at : guess_first_record(at - 1, behind);
    return fasta_chunk_begin({begin == 0 ? text.data() : front, at, behind, end == file_.size()});
  };
  const char* const first = start_at(here);
  const char* const last = start_at(next);
  if (first == nullptr || last == nullptr || last <= first) return std::nullopt;
  return Block{{first, last}, begin + static_cast<std::uint64_t>(std::max(first - front, std::ptrdiff_t{0}))};
}

/// False when there is no further block.
bool SampleReader::open_next() {
  while (next_block_ < blocks_) {
    auto block = read_block(chunk_of(next_block_++));
    if (!block) continue;
    disk_bytes_ += block->text.size();
    offset_ = block->offset;
    // In the middle of a FASTA sequence there is no header.
    if (format_ == RawFormat::fasta && offset_ > 0) {
      block->text.insert(0, block->text.front() == '\n' ? ">sample" : ">sample\n");
    }
    reader_ = std::make_unique<TextReader>(std::make_unique<TextSource>(std::move(block->text)),
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
