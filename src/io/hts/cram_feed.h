#pragma once
/// Gets a file to htslib as a pipe.

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "file/byte_file.h"

namespace warpmer::io {

/// Copies a file into a pipe, in a thread of its own. htslib can neither take over bytes that were
/// looked at already, nor be cancelled while it waits, nor say at the end of a stream whether the marker
/// was there; with the feed in front of it all inputs, files and pipes, are treated alike.
class CramFeed {
 public:
  /// `inspect` is called, in that thread, with all bytes before htslib has them; what it throws ends the
  /// copying.
  CramFeed(std::unique_ptr<file::ByteFile> file, std::function<void(std::string_view)> inspect);
  /// The pipe's reading end must have been closed, if `take_reading_end` handed it out.
  ~CramFeed();

  /// Returns the descriptor to read from; the caller closes it.
  int take_reading_end();
  /// Waits until all was copied; rethrows what stopped it, if something did.
  void finish();
  /// Ends the copying soon, but for a write that waits for the reader: closing the reading end frees it.
  void stop() noexcept { file_->stop(); }
  /// Returns the last bytes of the file; call after `finish`.
  [[nodiscard]] const std::string& tail() const noexcept { return tail_; }
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept { return file_->disk_bytes(); }

  static constexpr std::size_t kTailBytes = 64;

 private:
  void run();
  void remember_tail(std::string_view bytes);

  std::unique_ptr<file::ByteFile> file_;
  const std::function<void(std::string_view)> inspect_;
  int reading_end_ = -1;
  int writing_end_ = -1;
  std::string tail_;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace warpmer::io
