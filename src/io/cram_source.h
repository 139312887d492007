#pragma once
/// CRAM through htslib.

#include <memory>

#include "io/alignment_source.h"
#include "io/cram_feed.h"

namespace warpmer::io {

class CramSource final : public AlignmentSource {
 public:
  CramSource(std::unique_ptr<ByteFile> file, const InputOptions& options, unsigned threads,
             const std::atomic<bool>& cancelled);
  ~CramSource() override;

  [[nodiscard]] std::string bam_header(const ProgramLine& program) override;
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override { return feed_.disk_bytes(); }

 private:
  struct Handles;  ///< of htslib

  bool read(bam1_t& record) override;
  void open(const InputOptions& options, unsigned threads);
  void use_reference(const std::string& reference);
  void check_end();
  void close();
  [[noreturn]] void fail_reading(std::string_view what);

  const std::atomic<bool>& cancelled_;
  CramFeed feed_;
  std::unique_ptr<Handles> handles_;
};

}  // namespace warpmer::io
