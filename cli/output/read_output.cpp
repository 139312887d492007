#include "cli/output/read_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "file/input_error.h"
#include "io/compress/bgzf_writer.h"
#include "io/hts/bam_record.h"
#include "io/hts/base_tags.h"
#include "io/text/quality.h"

namespace warpmer::cli {
namespace {

/// Up to the end of the bases.
void append_sequence(const io::Batch& batch, const io::Piece& piece, const KeptBases& kept, std::string& to) {
  if (kept.is_whole) {
    to.append(batch.header(piece));
  } else {
    io::append_header(batch.header(piece), {piece.length, kept.first, kept.bases.size()}, to);
  }
  to.append(1, '\n').append(kept.bases).append(1, '\n');
}

void append_fastq(const io::Batch& batch, const io::Piece& piece, const KeptBases& kept, std::string& to) {
  append_sequence(batch, piece, kept, to.append(1, '@'));
  to.append("+\n");
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
      file::fail_at({batch.file, piece.record, batch.name(piece)},
                    "the tags of this record are damaged; get the file again from where it was made");
    }
  } else if (batch.is_fastq(piece)) {
    append_fastq(batch, piece, kept, to);
  } else {
    append_sequence(batch, piece, kept, to.append(1, '>'));
  }
}

namespace {

[[noreturn]] void refuse_level() {
  throw UsageError(
      "--compress-level needs an output that is compressed: --bgzf, a name that ends in .gz, or BAM");
}

}  // namespace

void check_read_output(const std::string& path, const ReadOutputOptions& options) {
  using formats::Content;
  const Content named = formats::content_of_path(path).content;
  const bool is_plain = options.names_only || named == Content::fastq || named == Content::fasta;
  if (options.compression_level && is_plain && !options.bgzf && !formats::is_compressed_name(path))
    refuse_level();
  if (options.names_only) {
    formats::check_ending(path, {Content::text, Content::tsv});
  } else {
    formats::check_ending(path, {Content::fastq, Content::fasta, Content::bam},
                          "let samtools make SAM or CRAM of BAM");
  }
}

ReadOutput::ReadOutput(const std::string& path, const ReadOutputOptions& options)
    : path_(path), named_(formats::content_of_path(path).content), options_(options), output_(path) {
  options_.bgzf |= formats::is_compressed_name(path);
  if (options_.bgzf && path_ == "-" && isatty(STDOUT_FILENO) != 0)
    throw UsageError("compressed reads are binary and standard output is a terminal; use -o FILE, or a pipe");
}

std::string ReadOutput::pack(std::string&& reads, bool are_alignments) const {
  if (!is_compressed(are_alignments)) {
    if (options_.compression_level) refuse_level();
    return std::move(reads);
  }
  std::string packed;
  io::append_bgzf(reads, options_.compression_level.value_or(io::kDefaultCompressionLevel), packed);
  return packed;
}

void ReadOutput::begin(const ReadBlock& block) {
  is_begun_ = true;
  first_file_ = block.file;
  bam_header_ = block.bam_header;
  if (options_.names_only || !bam_header_) return;
  if (path_ == "-" && isatty(STDOUT_FILENO) != 0)
    throw UsageError("BAM is binary and standard output is a terminal; use -o FILE, or a pipe");
  output_.write(pack(std::string(*bam_header_), true));
}

void ReadOutput::check_content(const ReadBlock& block) const {
  using formats::Content;
  if (options_.names_only || block.content == Content::unknown) return;
  const bool is_alike = named_ == Content::unknown || named_ == block.content ||
                        (named_ == Content::text && block.content != Content::bam);
  if (is_alike) return;
  const bool is_bam = block.content == Content::bam;
  throw UsageError(fmt::format("{} {}: '{}' says otherwise; choose another name", block.file,
                               is_bam ? "has alignments, and what is written of them is BAM"
                                      : fmt::format("is {}, and so is what is written of it",
                                                    block.content == Content::fasta ? "FASTA" : "FASTQ"),
                               path_));
}

void ReadOutput::write(const ReadBlock& block, const Progress& so_far) {
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
  check_content(block);
  output_.write(block.bytes, so_far);
}

void ReadOutput::complete() {
  if (is_compressed(bam_header_ != nullptr)) output_.write(io::kBgzfEnd);
  output_.complete();
}

}  // namespace warpmer::cli
