#pragma once
/// BAM, CRAM and SAM: the reads as they came off the sequencer.

#include <memory>
#include <optional>
#include <string>

#include "io/fastx/record_format.h"
#include "io/fastx/record_reader.h"
#include "io/hts/alignment_source.h"

namespace warpmer::io {

extern const RecordFormat kBamFormat, kCramFormat, kSamFormat;

/// Hands over primary records only, so that each read comes once, and turns those that were aligned to
/// the reverse strand back.
class AlignmentReader final : public RecordReader {
 public:
  /// `cancelled` makes reading throw Cancelled.
  AlignmentReader(std::unique_ptr<AlignmentSource> source, const InputOptions& options,
                  const std::atomic<bool>& cancelled);

  bool fill(Batch& batch) override;
  [[nodiscard]] std::uint64_t records() const noexcept override { return records_; }
  /// For CRAM, this has what htslib has read ahead, too.
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override { return source_->disk_bytes(); }

 private:
  struct DestroyRecord {
    void operator()(bam1_t* record) const { bam_destroy1(record); }
  };

  void give_back_long_record();
  bool next_primary();
  void add(Batch& batch);

  const std::optional<ProgramLine> program_;  ///< present when alignments are kept
  std::size_t batch_bytes_;
  int lowest_phred_;
  std::shared_ptr<QualityWatch> qualities_;  ///< may be null
  const std::atomic<bool>& cancelled_;
  std::unique_ptr<AlignmentSource>
      source_;  ///< its records of any kind make ordinals, so that they are found
  std::unique_ptr<bam1_t, DestroyRecord> record_;
  std::shared_ptr<const std::string> bam_header_;  ///< once reading has begun, where alignments are kept
  std::uint64_t records_ = 0;                      ///< primary ones
  bool is_pending_ = false;                        ///< a record was read that is not in a batch yet
  bool is_at_end_ = false;
  bool is_header_given_ = false;  ///< in a batch without records
};

}  // namespace warpmer::io
