#pragma once
/// Options that say how inputs are to be read.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "io/text/quality_watch.h"

namespace warpmer::io {

/// The program that made a BAM file of another: an @PG line of its header.
struct ProgramLine {
  std::string name;
  std::string version;
  std::string command_line;
};

/// Says how a user wants sequences to be read; the same for all jobs.
struct ReadingOptions {
  bool lenient = false;  ///< a character that is no nucleotide code breaks k-mers, too; for who makes k-mers
  /// A FASTQ record in which the text ends is left out, with a warning, and no InputError.
  bool drops_cut_record = false;
  std::optional<int> min_base_quality;      ///< bases of lower Phred quality (offset 33) become 'N'
  std::shared_ptr<QualityWatch> qualities;  ///< is shown some reads of each file; may be null
  std::string reference;                    ///< FASTA for CRAM; empty: as htslib finds it
};

struct InputOptions {
  ReadingOptions reading;
  std::uint32_t overlap_bases = 0;                 ///< k - 1: what consecutive pieces of one sequence share
  unsigned threads = 1;                            ///< threads that may be spent on decompression
  std::size_t batch_bytes = std::size_t{4} << 20;  ///< text per batch, about
  bool in_order = false;    ///< one file after another, batches numbered; else several files at once
  bool one_caller = false;  ///< `next` is called by one thread at a time, and batches depend on texts alone
  /// Read only about so many bytes of all inputs, the same share of each, as io/fastx/sampled_text.h says; 0:
  /// all.
  std::uint64_t sample_bytes = 0;
  bool whole_records = false;  ///< FASTA sequences, too, are one piece each; a batch grows for a long one
  /// Text of a record for which a batch grows. More is InputTooLarge; beyond 1 GiB, whatever this says, it
  /// is no sequencing read, but damage, and an InputError.
  std::size_t longest_record_bytes = SIZE_MAX;
  /// Alignments come with their record and their file's header, to which this program's @PG line is added.
  std::optional<ProgramLine> keep_alignments = {};
};

}  // namespace warpmer::io
