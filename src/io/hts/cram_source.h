#pragma once
/// CRAM through htslib.

#include <memory>
#include <mutex>
#include <optional>

#include "io/hts/alignment_source.h"
#include "io/hts/cram_feed.h"
#include "io/hts/cram_memory.h"
#include "io/hts/cram_watch.h"

namespace warpmer::io {

/// It knows what htslib is going to hold before htslib has the bytes: a slice, or a header, for which there
/// is no room is refused.
class CramSource final : public AlignmentSource {
 public:
  /// `foreseen`: what the memory plan counts with; nothing for a pipe.
  CramSource(std::unique_ptr<file::ByteFile> file, const InputOptions& options, unsigned threads,
             const std::optional<CramNeeds>& foreseen, const std::atomic<bool>& cancelled);
  ~CramSource() override;

  [[nodiscard]] std::string bam_header(const ProgramLine& program) override;
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override { return feed_.disk_bytes(); }

 private:
  struct Handles;  ///< handles of htslib

  bool read(bam1_t& record) override;
  void open(const InputOptions& options);
  void inspect(std::string_view bytes);
  void check_needs() const;
  void use_reference(const std::string& reference);
  void check_end();
  void read_to_end();
  void close();
  [[noreturn]] void fail_reading(std::string_view what);

  const std::atomic<bool>& cancelled_;
  const std::uint64_t allowed_bytes_;  ///< for what htslib holds
  const unsigned threads_;
  std::string reference_;  ///< FASTA that a user names; empty: as htslib finds it

  std::mutex needs_mutex_;  ///< guards what both threads, the feed's and the reader's, find out
  CramWatch watch_;
  CramNeeds needs_;

  CramFeed feed_;
  std::unique_ptr<Handles> handles_;
};

}  // namespace warpmer::io
