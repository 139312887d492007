#pragma once
/// BAM (SAMv1, section 4): BGZF with binary records inside.

#include <memory>

#include "file/byte_source.h"
#include "io/hts/alignment_source.h"

namespace warpmer::io {

/// Reads the decompressed bytes itself: htslib makes room for a whole header, however many contigs an
/// assembly has, and for whatever size a record says it has. Here the header is passed over, unless it is
/// wanted.
class BamSource final : public AlignmentSource {
 public:
  /// Its threads begin to decompress, and a caller that throws while they wait for a pipe must set
  /// `cancelled`.
  BamSource(std::unique_ptr<file::ByteFile> file, const InputOptions& options, unsigned threads,
            const std::atomic<bool>& cancelled);

  [[nodiscard]] std::string bam_header(const ProgramLine& program) override;
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override { return source_->disk_bytes(); }

 private:
  bool read(bam1_t& record) override;
  void check(const bam1_t& record) const;
  void read_header(std::string* text, std::string* references);
  std::uint32_t read_number();
  void take(std::uint64_t bytes, std::string* into);
  std::size_t read_up_to(char* into, std::size_t size);
  void read_all(char* into, std::size_t size);

  std::unique_ptr<file::ByteSource> source_;
  bool is_at_records_ = false;  ///< behind the header
  std::uint32_t references_ = 0;
};

}  // namespace warpmer::io
