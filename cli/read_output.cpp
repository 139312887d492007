#include "cli/read_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.h"
#include "io/bam_record.h"
#include "io/input_error.h"
#include "io/quality.h"

namespace warpmer::cli {
namespace {

constexpr std::array<std::string_view, 3> kCompressedEndings = {".gz", ".bgz", ".bgzf"};
constexpr std::array<std::string_view, 6> kTextEndings = {".fq", ".fastq", ".fa", ".fasta", ".fna", ".txt"};
constexpr std::array<std::string_view, 3> kAlignmentEndings = {".bam", ".sam", ".cram"};

template <std::size_t N>
bool ends_with_any(std::string_view path, const std::array<std::string_view, N>& endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return path.ends_with(ending); });
}

/// Without what says that it is compressed.
std::string_view bare_name(std::string_view path) {
  for (const std::string_view ending : kCompressedEndings) {
    if (path.ends_with(ending)) return path.substr(0, path.size() - ending.size());
  }
  return path;
}

void append_fastq(const io::Batch& batch, const io::Piece& piece, const KeptBases& kept, std::string& to) {
  to.append(1, '@').append(batch.header(piece)).append(1, '\n').append(kept.bases).append("\n+\n");
  const std::string_view quality = batch.quality(piece).substr(kept.first);
  to.append(quality.substr(0, kept.bases.size()));
  to.append(kept.bases.size() - std::min(quality.size(), kept.bases.size()), io::kLowestQuality);
  to.append(1, '\n');
}

}  // namespace

void append_read(const io::Batch& batch, const io::Piece& piece, const KeptBases& kept, std::string& to) {
  if (batch.bam_header) {
    const std::string_view text(batch.text.data(), batch.text.size());
    const io::BamRecord record(text.substr(piece.companion_offset));
    if (kept.is_whole) {
      to.append(record.bytes());
    } else if (!record.append_with_bases(kept.bases, kept.first, to)) {
      io::fail_at({batch.file, piece.record, batch.name(piece)},
                  "the tags of this record are damaged; get the file again from where it was made");
    }
  } else if (batch.is_fastq(piece)) {
    append_fastq(batch, piece, kept, to);
  } else {
    to.append(1, '>').append(batch.header(piece)).append(1, '\n').append(kept.bases).append(1, '\n');
  }
}

ReadOutput::ReadOutput(const std::string& path, const ReadOutputOptions& options)
    : path_(path), options_(options), output_(path) {
  options_.bgzf |= ends_with_any(path, kCompressedEndings);
  if (options_.bgzf && path_ == "-" && isatty(STDOUT_FILENO) != 0) {
    throw UsageError("compressed reads are binary and standard output is a terminal; use -o FILE, or a pipe");
  }
}

std::string ReadOutput::pack(std::string&& reads, bool are_alignments) const {
  if (!is_compressed(are_alignments)) return std::move(reads);
  std::string packed;
  io::append_bgzf(reads, options_.compression_level, packed);
  return packed;
}

void ReadOutput::begin(const ReadBlock& block) {
  is_begun_ = true;
  first_file_ = block.file;
  bam_header_ = block.bam_header;
  if (options_.names_only) return;
  if (!bam_header_) {
    if (ends_with_any(path_, kAlignmentEndings)) {
      throw UsageError(fmt::format(
          "{} is FASTA or FASTQ, and so is what is written of it: '{}' says otherwise; choose another name",
          block.file, path_));
    }
    return;
  }
  if (ends_with_any(bare_name(path_), kTextEndings) || path_.ends_with(".sam") || path_.ends_with(".cram")) {
    throw UsageError(fmt::format(
        "{} has alignments, and what is written of them is BAM: '{}' says otherwise; choose another name",
        block.file, path_));
  }
  if (path_ == "-" && isatty(STDOUT_FILENO) != 0) {
    throw UsageError("BAM is binary and standard output is a terminal; use -o FILE, or a pipe");
  }
  output_.write(pack(std::string(*bam_header_), true));
}

void ReadOutput::write(const ReadBlock& block, const index::Share& so_far) {
  if (!is_begun_) {
    begin(block);
  } else if (bam_header_ != block.bam_header && !options_.names_only) {
    if (!bam_header_ || !block.bam_header) {
      throw InputError(
          fmt::format("{} and {}: one has alignments, the other FASTA or FASTQ, and one output cannot hold "
                      "both; filter them one by one",
                      first_file_, block.file));
    }
    if (*bam_header_ != *block.bam_header) {
      throw InputError(
          fmt::format("{} and {} have different headers, and one BAM file cannot hold both; filter them one "
                      "by one, or merge them first (`samtools merge`)",
                      first_file_, block.file));
    }
    bam_header_ = block.bam_header;
  }
  output_.write(block.bytes, so_far);
}

void ReadOutput::complete() {
  if (is_compressed(bam_header_ != nullptr)) output_.write(io::kBgzfEnd);
  output_.complete();
}

}  // namespace warpmer::cli
