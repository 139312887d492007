#pragma once
/// BAM, CRAM and SAM through htslib: the reads as they came off the sequencer.

#include <memory>
#include <string>

#include "io/alignment_feed.h"
#include "io/byte_file.h"
#include "io/content.h"
#include "io/input.h"
#include "io/record_reader.h"

namespace warpmer::io {

/// Hands over primary records only, so that each read comes once, and turns those that were aligned to
/// the reverse strand back. A file that lacks the marker of its end is an error.
class AlignmentReader final : public RecordReader {
 public:
  AlignmentReader(std::unique_ptr<ByteFile> file, Content content, const InputOptions& options,
                  unsigned threads, const std::atomic<bool>& cancelled);
  ~AlignmentReader() override;

  bool fill(Batch& batch) override;
  [[nodiscard]] std::uint64_t records() const noexcept override { return records_; }
  /// Of CRAM and SAM, what htslib has read ahead, too.
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override;

 private:
  struct Handles;  ///< of htslib

  void open(unsigned threads, const InputOptions& options);
  bool next_primary();
  void check_next_size();
  void check_size(std::uint64_t bytes);
  void add(Batch& batch);
  void check_end();
  void close();
  [[noreturn]] void fail(std::string_view what);

  std::string shown_;
  Content content_;
  std::size_t batch_bytes_;
  std::size_t longest_record_;
  int lowest_phred_;
  const std::atomic<bool>& cancelled_;
  AlignmentFeed feed_;
  std::unique_ptr<Handles> handles_;
  std::shared_ptr<const std::string> bam_header_;  ///< where records are kept
  std::uint64_t alignments_ = 0;  ///< of any kind: ordinals count these, so that they can be found again
  std::uint64_t records_ = 0;     ///< primary ones
  bool is_pending_ = false;       ///< a record was read that is not in a batch yet
  bool is_at_end_ = false;
  bool is_header_given_ = false;  ///< in a batch without records
};

}  // namespace warpmer::io
