#include "io/text/quality_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/warning.h"
#include "file/shell_word.h"
#include "io/text/line_reader.h"

namespace warpmer::io {
namespace {

QualityRange first_qualities(std::string_view text) {
  QualityRange range;
  for (std::size_t read = 0; read < kWatchedReads && !text.empty(); ++read) {
    for (int line = 0; line < 3; ++line) take_line(text);
    range.add(take_line(text));
  }
  return range;
}

/// Returns the command that makes Phred+33 of a file of such qualities.
std::string conversion(const QualityRange& range, const std::string& file) {
  const std::string in = file::shell_input(file);
  if (range.is_like_solexa()) {
    return range.of_alignments
               ? fmt::format("samtools fastq {} | seqret fastq-solexa::stdin fastq-sanger::OUT", in)
               : fmt::format("seqret fastq-solexa::{} fastq-sanger::OUT", in);
  }
  return range.of_alignments ? fmt::format("samtools fastq {} | seqtk seq -VQ64 - > OUT", in)
                             : fmt::format("seqtk seq -VQ64 {} > OUT", in);
}

}  // namespace

void QualityRange::add(std::string_view quality) {
  for (const char c : quality) {
    const auto character = static_cast<unsigned char>(c);
    lowest = std::min(lowest, character);
    highest = std::max(highest, character);
    above_j += character > 'J' ? 1 : 0;
  }
  characters += quality.size();
}

void QualityRange::add_scores(std::span<const std::uint8_t> scores) {
  of_alignments = true;
  for (const std::uint8_t score : scores) {
    const char character = static_cast<char>('!' + std::min<int>(score, '~' - '!'));
    add(std::string_view(&character, 1));
  }
}

void QualityRange::add(const QualityRange& other) {
  lowest = std::min(lowest, other.lowest);
  highest = std::max(highest, other.highest);
  characters += other.characters;
  above_j += other.above_j;
  of_alignments |= other.of_alignments;
}

bool QualityRange::is_like_phred64() const {
  return characters > 0 && lowest >= ';' && highest <= 'j' && 4 * above_j >= characters;
}

QualityRange some_qualities(const Batch& batch) {
  if (batch.raw_format == RawFormat::fastq) return first_qualities(batch.raw_text());
  QualityRange range;
  const std::size_t step = std::max<std::size_t>(1, batch.pieces.size() / kWatchedReads);
  for (std::size_t i = 0; i < batch.pieces.size(); i += step) range.add(batch.quality(batch.pieces[i]));
  return range;
}

void QualityWatch::note(const std::string& file, const Batch& batch) { note(file, some_qualities(batch)); }

void QualityWatch::note(const std::string& file, const QualityRange& range) {
  if (range.characters == 0) return;
  const std::lock_guard guard(mutex_);
  files_[file].add(range);
}

std::map<std::string, QualityRange> QualityWatch::files() const {
  const std::lock_guard guard(mutex_);
  return files_;
}

std::vector<std::string> QualityWatch::like_phred64() const {
  std::vector<std::string> files;
  const std::lock_guard guard(mutex_);
  for (const auto& [file, range] : files_) {
    if (range.is_like_phred64()) files.push_back(file);
  }
  return files;
}

void warn_of_phred64(const std::shared_ptr<QualityWatch>& watch) {
  if (watch && watch->files().empty())
    warn("no input has qualities, so --min-base-quality changes nothing; leave it out");
  const std::vector<std::string> files = watch ? watch->like_phred64() : std::vector<std::string>();
  if (files.empty()) return;
  const QualityRange range = watch->files().at(files.front());
  const std::string more = files.size() == 1 ? "" : fmt::format(" and {} more", files.size() - 1);
  warn(fmt::format(
      "{}{}: qualities look like {}; --min-base-quality took them for Phred+33 and found hardly any base "
      "low; convert them first (`{}`)",
      files.front(), more,
      range.is_like_solexa() ? "Solexa's, as Illumina before 1.3 wrote them: none is below ';'"
                             : "Phred+64, as Illumina 1.3 to 1.7 wrote them: none is below '@'",
      conversion(range, files.front())));
}

}  // namespace warpmer::io
