#include "io/fastx/text_part.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "file/byte_file.h"
#include "file/input_error.h"
#include "io/blocks/read_ahead.h"
#include "io/compress/bgzf_blocks.h"
#include "io/compress/content.h"
#include "io/fastx/record_guess.h"
#include "io/fastx/text_reader.h"

namespace warpmer::io {
namespace {

/// Parts are so long at least: much longer than what is looked at to find where one begins.
constexpr std::uint64_t kLeastBytes = std::uint64_t{512} << 10;
/// Text in which a FASTQ record must begin.
constexpr std::size_t kGuessBytes = std::size_t{256} << 10;
/// Length from which records may make a part much longer than others.
constexpr std::size_t kLongRecordBytes = std::size_t{64} << 10;
/// Blocks that follow each other where one is guessed.
constexpr int kBlocksInChain = 3;

/// A place where a record begins: `head.size()` characters of text behind what is at `offset` in the file,
/// which is the beginning of a block in BGZF.
struct Cut {
  std::uint64_t offset = 0;
  std::string head;
};

enum class PartFormat { none, fastq, fasta, bgzf_fastq };

/// Returns the text of the first BGZF blocks in [begin, end) of a file.
std::string bgzf_text(const InputFile& input, std::uint64_t begin, std::uint64_t end) {
  const std::atomic<bool> never = false;
  auto file = std::make_unique<file::ByteFile>(input.path, input.shown, never, input.disk_bytes);
  file->restrict_to(begin, end);
  BgzfBlocks blocks(std::move(file), BgzfBlocks::Scope::part);
  TextBlock first;
  first.text.reset(new char[blocks.text_capacity()]);
  if (!blocks.load(first)) return {};
  blocks.work(first);
  return {first.text.get(), first.text_size};
}

PartFormat kind_of(const InputFile& input) {
  if (!can_be_opened_again(input)) return PartFormat::none;
  const std::atomic<bool> never = false;
  file::ByteFile file(input.path, input.shown, never, input.disk_bytes);
  const InputContent content = detect_content(file);
  if (content == InputContent::text) {
    const std::string_view first = file.peek(1);
    return first == "@" ? PartFormat::fastq : first == ">" ? PartFormat::fasta : PartFormat::none;
  }
  if (content != InputContent::bgzf) return PartFormat::none;
  return bgzf_text(input, 0, input.disk_bytes).starts_with('@') ? PartFormat::bgzf_fastq : PartFormat::none;
}

std::string bytes_at(const InputFile& input, std::uint64_t begin, std::uint64_t end) {
  const std::atomic<bool> never = false;
  file::ByteFile file(input.path, input.shown, never, input.disk_bytes);
  file.restrict_to(begin, end);
  std::string bytes(end - begin, '\0');
  std::size_t size = 0;
  while (const std::size_t count = file.read(bytes.data() + size, bytes.size() - size)) size += count;
  bytes.resize(size);
  return bytes;
}

// --- Finding where a record begins: the first that does at `place` or behind it, and before `limit`.

std::optional<Cut> cut_fastq(const InputFile& input, std::uint64_t place, std::uint64_t limit) {
  // With the character before, which tells whether a line begins at the place.
  const std::string text = bytes_at(input, place - 1, std::min(place + kGuessBytes, input.disk_bytes));
  const char* const record = guess_first_record(text.data(), text.data() + text.size());
  if (record == nullptr) return std::nullopt;
  const std::uint64_t offset = place - 1 + static_cast<std::uint64_t>(record - text.data());
  if (offset >= limit) return std::nullopt;
  return Cut{offset, {}};
}

std::optional<Cut> cut_fasta(const InputFile& input, std::uint64_t place, std::uint64_t limit) {
  for (std::uint64_t at = place - 1; at + 1 < limit; at += kGuessBytes) {
    // Steps overlap by one character, for a line end and what follows it.
    const std::string text = bytes_at(input, at, std::min({at + kGuessBytes + 1, limit, input.disk_bytes}));
    const std::size_t found = text.find("\n>");
    if (found != std::string::npos) return Cut{at + found + 1, {}};
  }
  return std::nullopt;
}

/// True when blocks follow each other from `at` on, as far as can be seen.
bool is_block_chain(std::string_view raw, std::size_t at, bool is_file_end) {
  for (int i = 0; i < kBlocksInChain; ++i) {
    if (at == raw.size() && is_file_end && i > 0) return true;
    const auto size = at < raw.size() ? bgzf_block_size(raw.substr(at)) : std::nullopt;
    if (!size || *size < kBgzfHeaderBytes) return false;
    at += *size;
  }
  return true;
}

std::optional<std::uint64_t> find_block(const InputFile& input, std::uint64_t place) {
  const std::uint64_t end =
      std::min<std::uint64_t>(place + (kBlocksInChain + 2) * kBgzfBlockBytes, input.disk_bytes);
  const std::string raw = bytes_at(input, place, end);
  for (std::size_t at = 0; at < std::min(raw.size(), kBgzfBlockBytes); ++at) {
    at = raw.find(kBgzfMagic, at);
    if (at == std::string::npos) return std::nullopt;
    if (is_block_chain(raw, at, end == input.disk_bytes)) return place + at;
  }
  return std::nullopt;
}

std::optional<Cut> cut_bgzf(const InputFile& input, std::uint64_t place, std::uint64_t limit) {
  const auto block = find_block(input, place);
  if (!block) return std::nullopt;
  const std::string text = bgzf_text(input, *block, limit);
  const char* const record = guess_first_record(text.data(), text.data() + text.size());
  if (record == nullptr) return std::nullopt;
  return Cut{*block, std::string(text.data(), record)};
}

std::optional<Cut> find_cut(const InputFile& input, PartFormat kind, std::uint64_t place,
                            std::uint64_t limit) {
  try {
    switch (kind) {
      case PartFormat::fastq:
        return cut_fastq(input, place, limit);
      case PartFormat::fasta:
        return cut_fasta(input, place, limit);
      case PartFormat::bgzf_fastq:
        return cut_bgzf(input, place, limit);
      case PartFormat::none:
        break;
    }
  } catch (const file::BecameShorter&) {
    throw;
  } catch (const InputError&) {
    // Something is wrong here, which is reported when the file is read so far.
  }
  return std::nullopt;
}

/// Returns the place where a part begins: it may be where the next one does.
Cut begin_of(const InputFile& input, PartFormat kind, std::uint32_t part, std::uint32_t parts) {
  const auto place_of = [&](std::uint64_t i) { return input.disk_bytes / parts * i; };
  if (part == 0) return {};
  for (; part < parts; ++part) {
    const std::uint64_t limit = part + 1 == parts ? input.disk_bytes : place_of(part + 1);
    if (auto cut = find_cut(input, kind, place_of(part), limit)) return std::move(*cut);
  }
  return {input.disk_bytes, {}};
}

/// The text of BGZF between two cuts.
class PartSource final : public file::ByteSource {
 public:
  /// `blocks` is the text from the first cut's offset to the second's.
  PartSource(std::unique_ptr<file::ByteSource> blocks, std::size_t skip, std::string tail)
      : blocks_(std::move(blocks)), skip_(skip), tail_(std::move(tail)) {}

  std::size_t read(char* into, std::size_t size) override {
    while (!has_ended_) {
      const std::size_t count = blocks_->read(into, size);
      has_ended_ = count == 0;
      const std::size_t skipped = std::min(skip_, count);
      skip_ -= skipped;
      if (count > skipped) {
        std::memmove(into, into + skipped, count - skipped);
        return count - skipped;
      }
    }
    const std::size_t count = std::min(size, tail_.size() - tail_taken_);
    std::memcpy(into, tail_.data() + tail_taken_, count);
    tail_taken_ += count;
    return count;
  }
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override { return blocks_->disk_bytes(); }

 private:
  std::unique_ptr<file::ByteSource> blocks_;
  std::size_t skip_;
  bool has_ended_ = false;
  std::string tail_;
  std::size_t tail_taken_ = 0;
};

}  // namespace

std::uint32_t most_file_parts(const InputFile& file, std::uint32_t wanted) {
  if (!file.is_regular || file.disk_bytes < 2 * kLeastBytes || kind_of(file) == PartFormat::none) return 1;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(file.disk_bytes / kLeastBytes, wanted));
}

bool has_many_records(const InputFile& file) {
  const PartFormat kind = kind_of(file);
  if (kind == PartFormat::none) return false;
  const std::string text = kind == PartFormat::bgzf_fastq
                               ? bgzf_text(file, 0, file.disk_bytes)
                               : bytes_at(file, 0, std::min<std::uint64_t>(kLeastBytes, file.disk_bytes));
  const char* const end = text.data() + text.size();
  if (kind != PartFormat::fasta) return guess_first_record(text.data(), end) != nullptr;
  std::size_t records = 0;
  for (std::size_t at = 0; (at = text.find("\n>", at)) != std::string::npos; ++at) ++records;
  return records * kLongRecordBytes >= text.size();
}

std::unique_ptr<RecordReader> open_file_part(const InputFile& file, std::uint32_t part, std::uint32_t parts,
                                             const InputOptions& options,
                                             const std::atomic<bool>& cancelled) {
  const PartFormat kind = kind_of(file);
  if (kind == PartFormat::none) throw NotDivisible();
  const Cut first = begin_of(file, kind, part, parts);
  Cut last = begin_of(file, kind, part + 1, parts);
  auto bytes = std::make_unique<file::ByteFile>(file.path, file.shown, cancelled, file.disk_bytes);
  bytes->restrict_to(first.offset, last.offset);
  if (kind != PartFormat::bgzf_fastq || first.offset == last.offset)
    return std::make_unique<TextReader>(std::move(bytes), file.shown, options);
  const bool is_last = last.offset == file.disk_bytes;
  auto blocks = std::make_unique<BgzfBlocks>(std::move(bytes),
                                             is_last ? BgzfBlocks::Scope::whole : BgzfBlocks::Scope::part);
  auto text = std::make_unique<ReadAhead>(std::move(blocks), 1, cancelled);
  return std::make_unique<TextReader>(
      std::make_unique<PartSource>(std::move(text), first.head.size(), std::move(last.head)), file.shown,
      options);
}

}  // namespace warpmer::io
